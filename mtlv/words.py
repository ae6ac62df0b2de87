"""Words that everyone tells alike."""

from __future__ import annotations


def many(count: int, noun: str) -> str:
    """`1 unit`, `2 units`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
