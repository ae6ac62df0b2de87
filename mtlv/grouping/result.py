"""The result of a grouping, and the check that every grouping must pass."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mtlv.errors import GroupingError


@dataclass(frozen=True)
class Grouping:
    """A partition of T items into k groups, numbered in the order of their first item.

    Attributes:
        labels: group of each item, T numbers in 0..k-1, each used at least once.
        medoids: index of each group's most central item (k numbers), if there are distances.
        inertia: sum over the items of the distance to their group's medoid, if there are distances.
        silhouette: mean silhouette in [-1, 1]; None for 1 or T groups, for which it is undefined.
        notes: sentences about unexpected behaviour of the method.
    """

    labels: tuple[int, ...]
    medoids: tuple[int, ...] | None = None
    inertia: float | None = None
    silhouette: float | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.labels != first_seen(self.labels):
            raise GroupingError(
                "groups do not partition the tasks", got=self.labels, allowed="0..k-1, by first item"
            )
        if self.medoids is not None and [self.labels[m] for m in self.medoids] != list(range(self.k)):
            raise GroupingError("a group's medoid must be one of its own tasks", got=self.medoids)

    @property
    def k(self) -> int:
        """Number of groups."""
        return max(self.labels, default=-1) + 1

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of items in each group."""
        return tuple(len(members) for members in self.groups())

    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Items of each group, in order."""
        return tuple(
            tuple(item for item, label in enumerate(self.labels) if label == group) for group in range(self.k)
        )


@dataclass(frozen=True)
class Elbow:
    """The curve from which k is chosen: one value for each k = 1..K.

    Attributes:
        k: 1..K.
        inertia: sum of the distances to the nearest medoid for each k, in units of the features.
        silhouette: mean silhouette for each k; None if undefined (1 or T groups).
        recommended: the k at the knee.
        reason: one sentence that gives the reason, with numbers.
        labels: for each k, the group of each item, as in `Grouping`.
        medoids: for each k, the most central item of each group.
        tried: the k at which the straight line ends; beyond it, the silhouette still rose. None: the last.
    """

    k: tuple[int, ...]
    inertia: tuple[float, ...]
    silhouette: tuple[float | None, ...]
    recommended: int
    reason: str
    labels: tuple[tuple[int, ...], ...] = ()
    medoids: tuple[tuple[int, ...], ...] = ()
    tried: int | None = None


def first_seen(labels: Iterable[object]) -> tuple[int, ...]:
    """Return labels numbered 0, 1, ... in the order of their first occurrence."""
    numbers: dict[object, int] = {}
    return tuple(numbers.setdefault(label, len(numbers)) for label in labels)


def order_medoids(labels: Sequence[int] | NDArray[np.integer], medoids: Iterable[int]) -> tuple[int, ...]:
    """Return `medoids` in the order of their groups' first items."""
    numbered = first_seen([int(label) for label in labels])
    return tuple(sorted((int(medoid) for medoid in medoids), key=lambda medoid: numbered[medoid]))
