"""Spans: positions in a document."""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """Positions of words or characters, `end` exclusive.

    Args:
        start: position of the first one.
        end: position after the last one.
        type: type of the span; for a marked entity, its role.
    """

    start: int
    end: int
    type: str = ""
