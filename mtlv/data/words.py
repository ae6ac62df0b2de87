"""Words of a text that nobody has split, and where words stand in a text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class Words:
    """W words of a text.

    Args:
        text: in which they stand.
        places: first character of each word and the one behind its last.
    """

    text: str
    places: tuple[tuple[int, int], ...]

    def __iter__(self) -> Iterator[str]:
        return (self.text[start:end] for start, end in self.places)

    def __len__(self) -> int:
        return len(self.places)


def split_words(text: str, start: int = 0, end: int | None = None) -> Words:
    """Letters, digits and underscores in a row are a word, and so is each other sign that is no blank.

    So `IL-2,` is four words. Corpora that were split in another way keep their own words.
    """
    found = _WORD.finditer(text, start, len(text) if end is None else end)
    return Words(text, tuple(match.span() for match in found))


def placed_words(words: Sequence[str], text: str) -> Words | None:
    """Words at their places in `text`, one behind the other; None where one of them is not there."""
    places, at = [], 0
    for word in words:
        start = text.find(word, at)
        if start < 0:
            return None
        at = start + len(word)
        places.append((start, at))
    return Words(text, tuple(places))
