"""Spans: where something stands in a document."""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """Positions of words or of characters, `end` exclusive.

    Args:
        start: of the first one.
        end: behind the last one.
        type: what it is; for a marked entity its role.
    """

    start: int
    end: int
    type: str = ""
