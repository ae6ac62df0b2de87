"""Sequences whose values are made when they are read, so that a large corpus is never held in memory."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, groupby
from typing import TypeVar, overload

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
Rows = NDArray[np.int64]


class Lazy(Sequence[T]):
    """A sequence of which only `read` and the length have to be known.

    Values are made anew each time. A slice is a tuple, so it should be a small one.
    """

    @abstractmethod
    def read(self, rows: Iterable[int]) -> Iterator[T]:
        """Yield the values of rows (from 0); quick for ascending ones."""

    def __iter__(self) -> Iterator[T]:
        return self.read(range(len(self)))

    @overload
    def __getitem__(self, which: int) -> T: ...

    @overload
    def __getitem__(self, which: slice) -> tuple[T, ...]: ...

    def __getitem__(self, which: int | slice) -> T | tuple[T, ...]:
        if isinstance(which, slice):
            return tuple(self.read(range(len(self))[which]))
        return next(self.read([range(len(self))[which]]))


class Made(Lazy[T]):
    """Values made from numbers [N]; `make` must be picklable."""

    def __init__(self, numbers: NDArray, make: Callable[[int], T]) -> None:
        self.numbers, self._make = numbers, make

    def __len__(self) -> int:
        return len(self.numbers)

    def read(self, rows: Iterable[int]) -> Iterator[T]:
        return (self._make(int(self.numbers[row])) for row in rows)


class Picked(Lazy[T]):
    """The values of a sequence in `rows`, in any order."""

    def __init__(self, values: Sequence[T], rows: Rows) -> None:
        self._values, self._rows = values, rows

    def __len__(self) -> int:
        return len(self._rows)

    def read(self, rows: Iterable[int]) -> Iterator[T]:
        return read(self._values, (int(self._rows[row]) for row in rows))


class Chained(Lazy[T]):
    """Several sequences, one after another; of texts, each part may have a prefix."""

    def __init__(self, parts: Sequence[Sequence[T]], prefixes: Sequence[str] = ()) -> None:
        self._parts, self._prefixes = parts, prefixes
        self._ends = list(accumulate(map(len, parts)))

    def __len__(self) -> int:
        return self._ends[-1]

    def read(self, rows: Iterable[int]) -> Iterator[T]:
        for number, rows_of_part in groupby(rows, lambda row: bisect_right(self._ends, row)):
            part = self._parts[number]
            first = self._ends[number] - len(part)
            for value in read(part, (row - first for row in rows_of_part)):
                yield f"{self._prefixes[number]}{value}" if self._prefixes else value  # type: ignore[misc]


def read(values: Sequence[T], rows: Iterable[int]) -> Iterator[T]:
    """Yield the values of rows of any sequence."""
    return values.read(rows) if isinstance(values, Lazy) else (values[row] for row in rows)


def pick(values: Sequence[T], rows: Rows) -> Sequence[T]:
    """Return some values: a tuple, or a lazy sequence of a lazy one."""
    return Picked(values, rows) if isinstance(values, Lazy) else tuple(values[row] for row in rows)


def chain_lazily(parts: Sequence[Sequence[T]], prefixes: Sequence[str] = ()) -> Sequence[T]:
    """Return several sequences as one: a tuple, or a lazy sequence if one of them is lazy."""
    sequence = Chained(parts, prefixes)
    return sequence if any(isinstance(part, Lazy) for part in parts) else tuple(sequence)
