"""Local search for the best partition, from random starts."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mtlv.grouping.group_values import Groups, GroupValue
from mtlv.grouping.result import first_seen

FORBIDDEN = -1e12  # value of a group that is not allowed, so that differences are finite
WITHOUT = 50  # moves of a chain without a better partition
CLOSE = 1e-9  # relative difference of equal values


def local_search(value: GroupValue, k: int | None, *, starts: int, seed: int) -> tuple[tuple[int, ...], int]:
    """Improve random partitions by chains of moves; return the best, and how many starts reached its value.

    A chain makes the best move of a task to another group, even if it is worse, then the best of another
    task, and so on; the best partition on the way is kept, and the next chain begins there, until none is
    better. A swap is a chain of two (Kernighan and Lin 1970; Fiduccia and Mattheyses 1982).

    Args:
        value: values of groups.
        k: number of groups; None chooses it.
        starts: random partitions, of k groups, or of random numbers of groups.
        seed: the same seed gives the same result.
    """
    climbs = [
        _Climb(value, _start(value.items, k, seed, number), fixed=k is not None) for number in range(starts)
    ]
    values = [climb.up() for climb in climbs]
    best = int(np.argmax(values))
    reached = sum(result >= values[best] - CLOSE * abs(values[best]) for result in values)
    return first_seen(climbs[best].labels.tolist()), reached


def _start(items: int, k: int | None, seed: int, number: int) -> NDArray[np.intp]:
    rng = np.random.default_rng([seed, number])
    groups = int(rng.integers(1, items + 1)) if k is None else k
    return rng.permutation(np.concatenate([np.arange(groups), rng.integers(groups, size=items - groups)]))


@dataclass
class _Climb:
    """A partition that is improved.

    Args:
        value: values of groups.
        labels: group of each task [T].
        fixed: whether the number of groups stays; else any of T groups may be empty.
    """

    value: GroupValue
    labels: NDArray[np.intp]
    fixed: bool
    groups: Groups = field(init=False)
    worth: NDArray[np.float64] = field(init=False)  # [G]
    toggled: NDArray[np.float64] = field(init=False)  # [G, T]

    def __post_init__(self) -> None:
        count = int(self.labels.max()) + 1 if self.fixed else len(self.labels)
        self.groups = np.arange(count)[:, None] == self.labels
        self.worth, self.toggled = np.empty(count), np.empty(self.groups.shape)
        self._measure(np.arange(count))

    def up(self) -> float:
        """Improve the partition until no chain does, and return its value."""
        while self._chain():
            pass
        return float(self.worth.sum())

    def _chain(self) -> bool:
        """Make a chain of moves, and keep those up to the best partition; return whether it is better."""
        best, kept = float(self.worth.sum()), 0
        made: list[tuple[int, int]] = []  # tasks that were moved, and their groups before
        moved = np.zeros(len(self.labels), dtype=bool)
        while len(made) < len(moved) and len(made) - kept < WITHOUT:
            gains = self._gains(moved)
            group, task = divmod(int(gains.argmax()), len(moved))
            if gains[group, task] == -np.inf:
                break
            made.append((task, int(self.labels[task])))
            moved[task] = True
            self._move(task, group)
            if (total := float(self.worth.sum())) > best + CLOSE * abs(best):
                best, kept = total, len(made)
        for task, group in reversed(made[kept:]):
            self._move(task, group)
        return kept > 0

    def _gains(self, moved: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the gain of moving each task to each group [G, T]; -inf where it may not move."""
        tasks = np.arange(len(self.labels))
        joined = self.toggled - self.worth[:, None]
        gains = joined + joined[self.labels, tasks]
        gains[self.labels, tasks] = -np.inf
        if self.fixed:
            moved = moved | (self.groups.sum(axis=1) == 1)[self.labels]
        gains[:, moved] = -np.inf
        return gains

    def _move(self, task: int, group: int) -> None:
        changed = np.array([self.labels[task], group])
        self.groups[changed, task] = False, True
        self.labels[task] = group
        self._measure(changed)

    def _measure(self, rows: NDArray[np.intp]) -> None:
        self.worth[rows] = np.maximum(self.value.of(self.groups[rows]), FORBIDDEN)
        self.toggled[rows] = np.maximum(self.value.toggled(self.groups[rows]), FORBIDDEN)
