"""Documents of words as rows of tokens: one each, or several if they are longer than a window."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from mtlv.plan.spans import Span
from mtlv.plan.windows import Window, put_together, spans_in, windows

T = TypeVar("T")


@dataclass(frozen=True)
class WindowLayout:
    """Windows of N documents, R in total: a row of tokens each, in the order of the documents.

    Args:
        windows: windows of each document; an uncut document has one with all its words.
    """

    windows: tuple[tuple[Window, ...], ...]

    @classmethod
    def of(cls, lengths: Iterable[int], *, size: int, overlap: int) -> Self:
        """Return the windows of documents with these numbers of words; see `mtlv.plan.windows.windows`.

        Raises:
            DataError: an invalid size or overlap.
        """
        return cls(tuple(windows(words, size=size, overlap=overlap) for words in lengths))

    @classmethod
    def none(cls, documents: int) -> Self:
        """Return the windows of uncut documents, with any number of words."""
        return cls(((Window(0, 0),),) * documents)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Number of rows of each document [N]."""
        return np.fromiter(map(len, self.windows), np.int64, len(self.windows))

    @cached_property
    def documents(self) -> NDArray[np.int64]:
        """Document of each row [R]."""
        return np.repeat(np.arange(len(self.windows)), self.counts)

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.array([0, *accumulate(self.counts.tolist())], np.int64)

    def rows(self, documents: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of documents, in order."""
        found = [np.arange(self._starts[n], self._starts[n + 1]) for n in documents]
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def words(self, texts: Sequence[Sequence[T]]) -> list[Sequence[T]]:
        """Return the words of each row [R], from those of each document [N]."""
        cut = zip(texts, self.windows, strict=True)
        return [words[part.start : part.end] for words, parts in cut for part in parts]

    def spans(self, values: Iterable[Iterable[Span]]) -> list[tuple[Span, ...]]:
        """Return the spans of each row [R] relative to its window, from those of each document [N]."""
        return [
            spans_in(spans, part) if len(parts) > 1 else tuple(spans)
            for spans, parts in zip(values, self.windows, strict=True)
            for part in parts
        ]

    def whole(self, values: Iterable[NDArray], documents: Iterable[int]) -> list[NDArray]:
        """Combine values per word of the rows of documents to values of the documents."""
        rows = iter(values)
        return [
            put_together([next(rows) for _ in parts], parts) if len(parts) > 1 else next(rows)
            for parts in (self.windows[n] for n in documents)
        ]
