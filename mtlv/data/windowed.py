"""Documents of words as rows of tokens: one each, or several where they are longer than a window."""

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
    """Windows of N documents, R in all: a row of tokens each, in the documents' order.

    Args:
        windows: of each document, one or more; of a document that is not cut one, with all of its words.
    """

    windows: tuple[tuple[Window, ...], ...]

    @classmethod
    def of(cls, lengths: Iterable[int], *, size: int, overlap: int) -> Self:
        """Cuts of documents of so many words; see `mtlv.plan.windows.windows`.

        Raises:
            DataError: of a size or an overlap that cannot be.
        """
        return cls(tuple(windows(words, size=size, overlap=overlap) for words in lengths))

    @classmethod
    def none(cls, documents: int) -> Self:
        """Documents that are whole, of however many words."""
        return cls(((Window(0, 0),),) * documents)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Rows of each document [N]."""
        return np.fromiter(map(len, self.windows), np.int64, len(self.windows))

    @cached_property
    def documents(self) -> NDArray[np.int64]:
        """The document of each row [R]."""
        return np.repeat(np.arange(len(self.windows)), self.counts)

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.array([0, *accumulate(self.counts.tolist())], np.int64)

    def rows(self, documents: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows of some documents, in their order."""
        found = [np.arange(self._starts[n], self._starts[n + 1]) for n in documents]
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def words(self, texts: Sequence[Sequence[T]]) -> list[Sequence[T]]:
        """The words of each row [R], of those of each document [N]."""
        cut = zip(texts, self.windows, strict=True)
        return [words[part.start : part.end] for words, parts in cut for part in parts]

    def spans(self, values: Iterable[Iterable[Span]]) -> list[tuple[Span, ...]]:
        """Spans of each row [R] as its window sees them, of those of each document [N]."""
        return [
            spans_in(spans, part) if len(parts) > 1 else tuple(spans)
            for spans, parts in zip(values, self.windows, strict=True)
            for part in parts
        ]

    def whole(self, values: Iterable[NDArray], documents: Iterable[int]) -> list[NDArray]:
        """Values per word of some documents, of those of their rows."""
        rows = iter(values)
        return [
            put_together([next(rows) for _ in parts], parts) if len(parts) > 1 else next(rows)
            for parts in (self.windows[n] for n in documents)
        ]
