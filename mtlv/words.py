"""Words for a person, which everyone tells alike."""

from __future__ import annotations

import sys

from mtlv.errors import shorten


def many(count: int, noun: str) -> str:
    """`1 unit`, `2 units`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def duration(seconds: float) -> str:
    """`45 s`, `12 min 05 s` or `3 h 20 min`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def safe(text: str) -> str:
    """`text` on one line, with everything a terminal would obey made visible."""
    return shorten(text, sys.maxsize)
