"""A word and its pieces in two vocabularies."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Splitting:
    """A word of texts.

    Args:
        word: the word.
        count: how often it occurs.
        before, after: its pieces in the published vocabulary and in the own one, without marks such as `##`.
    """

    word: str
    count: int
    before: tuple[str, ...]
    after: tuple[str, ...]
