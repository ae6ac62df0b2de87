"""The best partition of tasks into groups, by the values of groups; exact wherever that can be computed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from mtlv.errors import GroupingError
from mtlv.grouping.group_values import GroupValue, Program
from mtlv.grouping.kmedoids import check_k
from mtlv.grouping.local_search import local_search
from mtlv.grouping.result import first_seen

MOST = 20  # tasks for dynamic programming: 3^19 / 2 sums take six seconds, and k times that with k groups
STARTS = 50
LEAF = 256  # sets that are joined by one gather
AT_ONCE = 1 << 14  # sets whose values are computed at once
PATIENCE = 60.0  # seconds of HiGHS


@dataclass(frozen=True)
class Partition:
    """The best partition that was found.

    Args:
        labels: group of each of T tasks, numbered in the order of their first task.
        value: sum of the values of its groups.
        how: the search that found it.
        proven: whether no partition is better (HiGHS: by more than its tolerance, 1e-6).
    """

    labels: tuple[int, ...]
    value: float
    how: str
    proven: bool

    @property
    def note(self) -> str:
        """The value, the search and whether it is proven, in a sentence."""
        end = "no partition is better" if self.proven else "a better one may exist"
        return f"these groups have the value {self.value:.4g}, by {self.how}; {end}"


def best_partition(
    value: GroupValue, *, k: int | None = None, starts: int = STARTS, seed: int = 0
) -> Partition:
    """Return the partition with the largest sum of values of its groups.

    Up to 20 tasks: dynamic programming over subsets. With more: a mixed-integer program solved by SciPy's
    HiGHS if the value has one (`GroupValue.program`), else local search from random starts.

    Args:
        value: values of groups.
        k: number of groups; None chooses it.
        starts: random starts of the local search.
        seed: their seed.

    Raises:
        GroupingError: k is outside 1..T, a value is not a number, or no partition is allowed.

    Example:
        >>> best_partition(PairMeans([[0, 1, -1], [1, 0, -1], [-1, -1, 0]])).labels
        (0, 0, 1)
    """
    if k is not None:
        check_k(k, value.items)
    partition = _by_subsets(value, k) if value.items <= MOST else _of_many(value, k, starts, seed)
    if not np.isfinite(partition.value):
        raise GroupingError(
            "the groups that are allowed do not make a partition of the tasks",
            got=f"k = {'auto' if k is None else k}",
            then="measure more groups, or set another `grouping.k`",
        )
    return partition


def _partition(value: GroupValue, labels: tuple[int, ...], how: str, *, proven: bool) -> Partition:
    groups = np.eye(value.items, dtype=bool)[list(labels)].T  # [T, T], a group per row
    return Partition(labels, float(value.of(groups).sum()), how, proven)


# ---- Dynamic programming ---------------------------------------------------------------------------------


def _by_subsets(value: GroupValue, k: int | None) -> Partition:
    """Return the best partition by f(S) = max of v(B) + f(S - B) over the B in S with the highest task of S.

    Sets are numbers whose bit t is 1 if task t is in them. Row l of `best` has the best partitions into l
    groups; without k, its only row has those into any number.
    """
    labels = _labels_by_subsets(_values(value).tobytes(), value.items, k)
    return _partition(value, labels, "dynamic programming over all groups", proven=True)


@lru_cache(maxsize=1)  # random groups with the sizes of the best partition search for it again
def _labels_by_subsets(values: bytes, items: int, k: int | None) -> tuple[int, ...]:
    """Return the labels of the best partition, by the values of all 2^T sets."""
    free, table = k is None, np.frombuffer(values)
    best = np.full((1 if k is None else k, 1 << (items - 1)), -np.inf)
    best[0, 0] = 0.0
    for top in range(items - 1):
        half = 1 << top
        rest = best[:, :half] if free else best[:-1, :half]
        best[0 if free else 1 :, half : 2 * half] = _join_blocks(table[half : 2 * half], rest)
    return _trace_best(table, best, items)


def _values(value: GroupValue) -> NDArray[np.float64]:
    """Return the values of all 2^T sets."""
    sets = np.arange(1 << value.items)
    parts = [sets[first : first + AT_ONCE] for first in range(0, len(sets), AT_ONCE)]
    bits = np.arange(value.items)
    table = np.concatenate([value.of((part[:, None] >> bits & 1).astype(bool)) for part in parts])
    if np.isnan(table).any() or (table == np.inf).any():
        raise GroupingError("values of groups must be numbers, or -inf for groups that are not allowed")
    return table


def _join_blocks(block: NDArray[np.float64], rest: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest block[Q] + rest[l, S - Q] over the subsets Q of S: [2^n], [L, 2^n] -> [L, 2^n]."""
    if len(block) <= LEAF:
        inner, outer, begins = _splits(len(block))
        return np.maximum.reduceat(block[inner] + rest[:, outer], begins, axis=1)
    half = len(block) // 2
    low = _join_blocks(block[:half], rest[:, :half])
    high = np.maximum(_join_blocks(block[half:], rest[:, :half]), _join_blocks(block[:half], rest[:, half:]))
    return np.concatenate([low, high], axis=1)


@cache
def _splits(count: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return all splits of the sets 0..count-1 into two, set after set, and where each set begins."""
    inner = [_subsets(items) for items in range(count)]
    outer = [items ^ subsets for items, subsets in enumerate(inner)]
    begins = np.cumsum([0, *(len(subsets) for subsets in inner[:-1])])
    return np.concatenate(inner), np.concatenate(outer), begins


def _subsets(items: int) -> NDArray[np.intp]:
    sets = np.arange(1 << items.bit_length())
    return sets[sets & ~items == 0]


def _trace_best(table: NDArray[np.float64], best: NDArray[np.float64], items: int) -> tuple[int, ...]:
    """Return the labels of a partition whose value is that of the dynamic programme."""
    left, row, labels = (1 << items) - 1, len(best) - 1, np.zeros(items, dtype=np.intp)
    while left:
        top = 1 << (left.bit_length() - 1)
        others = _subsets(left ^ top)
        block = top | int(others[(table[top | others] + best[row, (left ^ top) ^ others]).argmax()])
        labels[[task for task in range(items) if block >> task & 1]] = block
        left, row = left ^ block, max(row - 1, 0)
    return first_seen(labels.tolist())


# ---- With more tasks -------------------------------------------------------------------------------------


def _of_many(value: GroupValue, k: int | None, starts: int, seed: int) -> Partition:
    program = value.program(k)
    solved = None if program is None else _by_program(value, program)
    if solved is not None and solved.proven:
        return solved
    labels, reached = local_search(value, k, starts=starts, seed=seed)
    how = f"local search ({reached} of {starts} random starts found this value)"
    partition = _partition(value, labels, how, proven=False)
    return partition if solved is None else max(solved, partition, key=lambda result: result.value)


def _by_program(value: GroupValue, program: Program) -> Partition | None:
    """Return HiGHS's solution; None if it found none in time."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    solved = milp(
        -program.worth,
        integrality=np.ones(len(program.worth)),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(program.rows, program.low, program.high),
        options={"mip_rel_gap": 0.0, "time_limit": PATIENCE},
    )
    if solved.x is None:
        return None
    return _partition(value, program.labels(solved.x), "a mixed-integer program", proven=solved.status == 0)
