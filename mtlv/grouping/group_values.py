"""The value of a group of tasks, from which the best partition is found: a number for each set of tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mtlv.errors import GroupingError
from mtlv.grouping.result import first_seen

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Groups = NDArray[np.bool_]
"""[n, T]: whether a task is in a group, for n groups."""


@dataclass(frozen=True)
class Program:
    """A partition as a mixed-integer program: the largest `worth @ x` of x in {0, 1}^V, `rows @ x` in bounds.

    Args:
        worth: [V].
        rows: [M, V].
        low, high: [M], bounds of each row.
        groups: of each variable [V, T]: the tasks that are a group if it is 1.
    """

    worth: NDArray[np.float64]
    rows: csr_array
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    groups: Groups

    def labels(self, solution: NDArray[np.float64]) -> tuple[int, ...]:
        """Return the group of each task."""
        return first_seen(self.groups[solution > 0.5].argmax(axis=0).tolist())


class GroupValue(ABC):
    """Values of groups of `items` tasks; the value of a partition is their sum. Subclasses define `of`.

    `note` says where the values are from.
    """

    items: int
    note: str = ""

    @abstractmethod
    def of(self, groups: Groups) -> NDArray[np.float64]:
        """Return the value of each group [n]: 0 without tasks, -inf for a group that is not allowed."""

    def toggled(self, groups: Groups) -> NDArray[np.float64]:
        """Return the value of each group after each task joined it, or left it if it was in it [n, T]."""
        changed = groups[:, None, :] ^ np.eye(self.items, dtype=bool)  # [n, T, T]
        return self.of(changed.reshape(-1, self.items)).reshape(groups.shape)

    def program(self, k: int | None) -> Program | None:
        """Return the partition into k groups (None: any number) as a program that can be solved, or None."""
        return None


class _Pairs(GroupValue):
    """A value computed from the gain that each task has from each other.

    Args:
        gains: [T, T], row: the task that receives, column: the task that gives. The diagonal is not read.
        alone: value of a task in a group of its own: 0 for gains over a model of its own, -inf to allow none.

    Raises:
        GroupingError: gains are not a square matrix of finite numbers.
    """

    def __init__(self, gains: ArrayLike, alone: float = 0.0) -> None:
        table = np.array(gains, dtype=np.float64)
        if table.ndim != 2 or len(set(table.shape)) != 1 or not table.size:
            raise GroupingError("gains must be a square matrix, a row per task", got=f"shape {table.shape}")
        np.fill_diagonal(table, 0.0)
        bad = np.argwhere(~np.isfinite(table)).tolist()
        if bad:
            raise GroupingError("gains of pairs must be finite numbers", got=f"not so at {bad[:5]}")
        self.items, self.alone, self.both = len(table), float(alone), table + table.T

    @abstractmethod
    def _shared(self, pairs: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the value of groups of two tasks or more, from the sums of their gains and their sizes."""

    def _value(self, pairs: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
        single = np.where(sizes == 1, self.alone, 0.0)
        return np.where(sizes > 1, self._shared(pairs, sizes), single)

    def of(self, groups: Groups) -> NDArray[np.float64]:
        member = groups.astype(np.float64)
        return self._value(((member @ self.both) * member).sum(axis=1) / 2, member.sum(axis=1))

    def toggled(self, groups: Groups) -> NDArray[np.float64]:
        member = groups.astype(np.float64)
        met = member @ self.both  # [n, T]: gains between a task and a group, both ways
        pairs, sign = (met * member).sum(axis=1) / 2, 1 - 2 * member
        return self._value(pairs[:, None] + sign * met, member.sum(axis=1)[:, None] + sign)


class PairMeans(_Pairs):
    """The sum over a group's tasks of what each gains: the mean of its gains from the others.

    The higher-order approximation of Standley et al., "Which tasks should be learned together in multi-task
    learning?" (ICML 2020), also used by TAG (Fifty et al., NeurIPS 2021).

    Example:
        >>> PairMeans([[0, 2, 4], [0, 0, 0], [0, 0, 0]]).of(np.ones((1, 3), bool))
        array([3.])
    """

    def _shared(self, pairs: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
        return pairs / np.maximum(sizes - 1, 1)


class PairSums(_Pairs):
    """A group's value is the sum of all gains between its tasks.

    Example:
        >>> PairSums([[0, 2, 4], [0, 0, 0], [0, 0, 0]]).of(np.ones((1, 3), bool))
        array([6.])
    """

    def _shared(self, pairs: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
        return pairs


class ListedValues(GroupValue):
    """Values of the groups that were measured; no other group is allowed.

    Args:
        values: group of task numbers -> its value.
        items: number of tasks.

    Raises:
        GroupingError: a value is not a finite number, or a task is in no group.

    Example:
        >>> ListedValues({(0, 1): 1.0, (2,): 0.0}, 3).of(np.array([[True, True, False], [True, False, True]]))
        array([  1., -inf])
    """

    def __init__(self, values: Mapping[Sequence[int], float], items: int) -> None:
        self.items, self.worth = items, np.array(list(values.values()), dtype=np.float64)
        self.groups = np.zeros((len(values), items), dtype=bool)
        for row, group in zip(self.groups, values, strict=True):
            row[list(group)] = True
        if not np.isfinite(self.worth).all():
            raise GroupingError("values of groups must be finite numbers", got=self.worth.tolist())
        lost = np.flatnonzero(~self.groups.any(axis=0)).tolist()
        if lost:
            raise GroupingError("tasks are in no group that has a value", got=lost)

    @cached_property
    def _known(self) -> dict[bytes, float]:
        empty = np.zeros(self.items, dtype=bool)
        return {empty.tobytes(): 0.0} | {
            group.tobytes(): value for group, value in zip(self.groups, self.worth.tolist(), strict=True)
        }

    def of(self, groups: Groups) -> NDArray[np.float64]:
        return np.array([self._known.get(group.tobytes(), -np.inf) for group in groups], dtype=np.float64)

    def program(self, k: int | None) -> Program:
        """Return the set partition: x[g] = 1 for the groups that are taken; each task is in one of them."""
        from scipy.sparse import csr_array

        rows = np.vstack([self.groups.T, np.ones(len(self.groups), dtype=bool)]).astype(np.float64)
        low, high = np.ones(len(rows)), np.ones(len(rows))
        low[-1], high[-1] = (1, self.items) if k is None else (k, k)
        return Program(self.worth, csr_array(rows), low, high, self.groups)
