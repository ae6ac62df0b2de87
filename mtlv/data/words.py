"""Splitting of texts into words, and positions of words in a text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class Words:
    """W words of a text."""

    text: str  # text that contains the words
    places: tuple[tuple[int, int], ...]  # first character of each word and the one after its last

    def __iter__(self) -> Iterator[str]:
        return (self.text[start:end] for start, end in self.places)

    def __len__(self) -> int:
        return len(self.places)


def split_words(text: str, start: int = 0, end: int | None = None) -> Words:
    """Split a text: words are runs of letters, digits and underscores, and all other characters but spaces.

    So `IL-2,` is four words. Corpora with their own word boundaries keep them.
    """
    found = _WORD.finditer(text, start, len(text) if end is None else end)
    return Words(text, tuple(match.span() for match in found))


def placed_words(words: Sequence[str], text: str) -> Words | None:
    """Find words in order in `text`; None if one of them is missing."""
    places, at = [], 0
    for word in words:
        start = text.find(word, at)
        if start < 0:
            return None
        at = start + len(word)
        places.append((start, at))
    return Words(text, tuple(places))
