"""Windows: a long text in pieces of at most so many words, and what was predicted put together again.

Where a text is cut depends on its number of words alone. (MT-BERT's scripts cut at words whose true tag is
`O`, which tells the model where entities end and cannot be done without the answers.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mtlv.errors import DataError
from mtlv.plan.spans import Span


class Window(NamedTuple):
    """Positions of words in a text, `end` exclusive."""

    start: int
    end: int


def windows(words: int, *, size: int, overlap: int) -> tuple[Window, ...]:
    """Windows of a text, in its order; one if it has at most `size` words.

    All windows of a longer text have `size` words: each begins `size - overlap` words after the one before,
    and the last one ends with the text, so it may share more.

    Args:
        words: how many the text has.
        size: words of a window at most (MT-BERT: 30).
        overlap: words that neighbours share at least.

    Raises:
        DataError: `size` is less than 1, or `overlap` is not in 0 to `size` - 1.
    """
    if size < 1:
        raise DataError("the size of a window, in words", got=size, allowed="1 or more")
    if not 0 <= overlap < size:
        raise DataError("the overlap of windows, in words", got=overlap, allowed=f"0 to {size - 1}")
    if words <= size:
        return (Window(0, words),)
    starts = [*range(0, words - size, size - overlap), words - size]
    return tuple(Window(start, start + size) for start in starts)


def owners(parts: Sequence[Window]) -> NDArray[np.intp]:
    """For each word of a text [words], the window whose answer counts.

    It is the one in which the word stands farthest from the window's nearer edge, so with the most context
    on its poorer side; of two equals the earlier one.

    Args:
        parts: all windows of the text, as `windows` gives them.
    """
    places = np.arange(parts[-1].end)
    depth = [np.minimum(places - part.start, part.end - 1 - places) for part in parts]
    return np.argmax(depth, axis=0)  # below 0 outside of a window, and every word is inside of one


def cut(values: Sequence | NDArray, parts: Sequence[Window]) -> list[Sequence | NDArray]:
    """What belongs to each window, of values per word [words, ...]."""
    return [values[part.start : part.end] for part in parts]


def put_together(values: Sequence[NDArray], parts: Sequence[Window]) -> NDArray:
    """Values of a text's words [words, ...] from those of its windows: each word's owner answers.

    Args:
        values: for each window an array with a value per word, such as tag ids or scores of tags.
        parts: all windows of the text, as `windows` gives them.

    Raises:
        DataError: a window has not as many values as words.
    """
    for value, part in zip(values, parts, strict=True):
        if len(value) != part.end - part.start:
            raise DataError("values of a window", got=len(value), allowed=f"{part.end - part.start} words")
    owned = [owner == at for owner, at in zip(cut(owners(parts), parts), range(len(parts)), strict=True)]
    return np.concatenate([value[own] for value, own in zip(values, owned, strict=True)])


def spans_in(spans: Iterable[Span], part: Window) -> tuple[Span, ...]:
    """Spans as a window sees them: clipped to it, positions counted from its start.

    With an overlap of two words or more the tags of these, put together, are the tags of the whole text: a
    word at a cut, whose tag the clipping may change, is never its owner's. With less, an entity may fall
    into two.
    """
    clipped = (Span(max(s.start, part.start), min(s.end, part.end), s.type) for s in spans)
    return tuple(Span(s.start - part.start, s.end - part.start, s.type) for s in clipped if s.start < s.end)
