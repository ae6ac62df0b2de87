"""Windows: split a long text into pieces of limited length, and combine the predictions.

The splits depend only on the number of words. (MT-BERT's scripts split at words whose true tag is `O`. This
gives the model information about the ends of entities, and requires the true tags.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mtlv.plan.spans import Span


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
