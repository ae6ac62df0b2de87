"""Documents of words as rows of tokens: one each, or several if they are longer than a window."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from mtlv.data.texts.lazy import Made, chain_lazily
from mtlv.plan.spans import Span
from mtlv.plan.windows import Window, put_together, spans_in, windows

T = TypeVar("T")


def _unread(count: int) -> tuple[Window, ...]:
    return (Window(0, 0),) * count


@dataclass(frozen=True)
class WindowLayout:
    """Windows of N documents, R in total: a row of tokens each, in the order of the documents."""

    # windows of each document; an uncut document has one with all its words
    windows: Sequence[tuple[Window, ...]]
    counts: NDArray[np.int64] = field(compare=False, repr=False)  # number of rows of each document [N]

    @classmethod
    def of(cls, lengths: Iterable[int], *, size: int, overlap: int) -> Self:
        """Return the windows of documents with these numbers of words; see `mtlv.plan.windows.windows`."""
        by_document = tuple(windows(words, size=size, overlap=overlap) for words in lengths)
        return cls(by_document, np.fromiter(map(len, by_document), np.int64, len(by_document)))

    @classmethod
    def unread(cls, counts: NDArray[np.int64]) -> Self:
        """Return windows of documents whose words are not known, given the number of rows of each."""
        return cls(Made(counts, _unread), counts)

    @classmethod
    def join(cls, layouts: Sequence[WindowLayout]) -> Self:
        """Return the windows of the documents of several corpora."""
        counts = np.concatenate([layout.counts for layout in layouts])
        return cls(chain_lazily([layout.windows for layout in layouts]), counts)

    @cached_property
    def documents(self) -> NDArray[np.int64]:
        """Document of each row [R]."""
        return np.repeat(np.arange(len(self.windows)), self.counts)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """First row of each document [N]."""
        return np.cumsum(self.counts) - self.counts

    def rows(self, documents: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of documents, in order."""
        counts = self.counts[documents]
        before = np.cumsum(counts) - counts
        return np.repeat(self.starts[documents] - before, counts) + np.arange(counts.sum())

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

    def combine(self, values: Iterable[NDArray], documents: Iterable[int]) -> list[NDArray]:
        """Combine values per word of the rows of documents to values of the documents."""
        rows = iter(values)
        return [
            put_together([next(rows) for _ in parts], parts) if len(parts) > 1 else next(rows)
            for parts in (self.windows[n] for n in documents)
        ]
