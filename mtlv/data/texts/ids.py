"""Token ids of many documents as one array that is read a document at a time, from arrays on disk."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mtlv.data.windowed import WindowLayout


class JoinedIds:
    """Several arrays, one after another."""

    def __init__(self, parts: Sequence[Flat]) -> None:
        self._parts = parts
        self._starts = [0, *accumulate(map(len, parts))]

    def __len__(self) -> int:
        return self._starts[-1]

    def __getitem__(self, which: slice) -> NDArray:
        start, stop, _ = which.indices(len(self))
        pieces: list[NDArray] = []
        number = bisect_right(self._starts, start, hi=len(self._parts)) - 1
        while not pieces or start < stop:
            first, end = self._starts[number : number + 2]
            pieces.append(self._parts[number][start - first : min(stop, end) - first])
            start, number = end, number + 1
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


class CutIds:
    """Documents cut into rows, each with the document's first and last token, which are special ones.

    Args:
        ids: [sum of lengths of documents].
        offsets: [N + 1] positions of the documents in them.
        layout: number of rows of each document.
        rows: [R + 1] positions of the rows here.
        size: tokens of a document in a row, without the special ones; the last row may have fewer.
    """

    def __init__(
        self,
        ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
        *,
        layout: WindowLayout,
        rows: NDArray[np.int64],
        size: int,
    ) -> None:
        self._ids, self._offsets, self._layout, self._rows, self._size = ids, offsets, layout, rows, size

    def __len__(self) -> int:
        return int(self._rows[-1])

    def __getitem__(self, which: slice) -> NDArray[np.int32]:
        start, stop, _ = which.indices(len(self))
        first = int(np.searchsorted(self._rows, start, "right")) - 1
        last = max(int(np.searchsorted(self._rows, stop, "left")), first + 1)
        ids = np.concatenate([self._row(row) for row in range(first, last)])
        return ids[start - self._rows[first] : stop - self._rows[first]]

    def _row(self, row: int) -> NDArray[np.int32]:
        document = self._layout.documents[row]
        first, end = self._offsets[document], self._offsets[document + 1] - 1
        begin = first + 1 + (row - self._layout.starts[document]) * self._size
        return np.concatenate(
            [
                self._ids[first : first + 1],
                self._ids[begin : min(begin + self._size, end)],
                self._ids[end : end + 1],
            ]
        )


Flat: TypeAlias = NDArray | JoinedIds | CutIds
"""A flat array, or what has its length and its slices."""
