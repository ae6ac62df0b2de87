"""Documents of words as rows of tokens: one each, or several windows of limited length, whose predictions
are combined.

The windows depend only on the number of words. (MT-BERT's scripts split at words whose true tag is `O`. This
gives the model information about the ends of entities, and requires the true tags.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from mtlv.data.texts.lazy import Made, chain_lazily
from mtlv.plan.spans import Span

T = TypeVar("T")


class Window(NamedTuple):
    """Positions of words in a text, `end` exclusive."""

    start: int
    end: int


def windows(words: int, *, size: int, overlap: int) -> tuple[Window, ...]:
    """Return the windows of a text, in order; one if the text has at most `size` words.

    All windows of a longer text have `size` words. Each begins `size - overlap` words after the previous one.
    The last one ends with the text, so its overlap may be larger.

    Args:
        words: number of words in the text.
        size: maximum number of words in a window (MT-BERT: 30).
        overlap: minimum number of words that adjacent windows share, less than `size`.
    """
    if words <= size:
        return (Window(0, words),)
    starts = [*range(0, words - size, size - overlap), words - size]
    return tuple(Window(start, start + size) for start in starts)


def owners(parts: Sequence[Window]) -> NDArray[np.intp]:
    """Return, for each word of a text [words], the window whose prediction is used.

    It is the window in which the word is farthest from the nearer edge, so that it has the most context on
    its shorter side; the earlier one of two equals.

    Args:
        parts: all windows of the text, from `windows`.
    """
    places = np.arange(parts[-1].end)
    depth = [np.minimum(places - part.start, part.end - 1 - places) for part in parts]
    return np.argmax(depth, axis=0)  # negative outside of a window, and every word is inside one


def cut(values: Sequence | NDArray, parts: Sequence[Window]) -> list[Sequence | NDArray]:
    """Return the part of values per word [words, ...] that belongs to each window."""
    return [values[part.start : part.end] for part in parts]


def put_together(values: Sequence[NDArray], parts: Sequence[Window]) -> NDArray:
    """Combine values of the windows into values of a text's words [words, ...], from each word's owner.

    Args:
        values: for each window an array with a value per word, such as tag ids or scores of tags.
        parts: all windows of the text, from `windows`.
    """
    owned = [owner == at for owner, at in zip(cut(owners(parts), parts), range(len(parts)), strict=True)]
    return np.concatenate([value[is_owned] for value, is_owned in zip(values, owned, strict=True)])


def spans_in(spans: Iterable[Span], part: Window) -> tuple[Span, ...]:
    """Return spans relative to a window: clipped to it, with positions counted from its start.

    With an overlap of at least two words, the combined tags of the windows are the tags of the whole text:
    clipping may change the tag of a word at an edge, but that window is never the word's owner. With a
    smaller overlap, an entity may be split in two.
    """
    clipped = (Span(max(s.start, part.start), min(s.end, part.end), s.type) for s in spans)
    return tuple(Span(s.start - part.start, s.end - part.start, s.type) for s in clipped if s.start < s.end)


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
        """Return the windows of documents with these numbers of words; see `windows`."""
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
