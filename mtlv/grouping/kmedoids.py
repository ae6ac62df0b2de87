"""k-medoids on a distance matrix: FasterPAM, and the alternating search of the thesis.

Chooses k items (medoids) with a small inertia: the sum of the distances of all items to their nearest medoid.
Everything here is deterministic; ties go to the lowest index.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mtlv.errors import GroupingError
from mtlv.grouping.fasterpam import Indices, Matrix, build, swap_medoids
from mtlv.grouping.spec import GroupingSpec

DEFAULT = GroupingSpec()


@dataclass(frozen=True)
class Medoids:
    """k medoids of T items.

    Attributes:
        medoids: [k] indices, ascending.
        labels: [T] position of each item's medoid in `medoids`; a medoid is always in its own group.
        inertia: sum of the distances to the nearest medoid.
    """

    medoids: Indices
    labels: Indices
    inertia: float


def kmedoids(
    distances: Matrix, k: int, spec: GroupingSpec = DEFAULT, *, built: Indices | None = None
) -> Medoids:
    """Return the best result of several searches for k medoids.

    Args:
        distances: [T, T], symmetric, not negative, zeros on the diagonal.
        k: number of medoids, 1..T.
        spec: its `algorithm` is `fasterpam`, or `alternate` (used in the thesis, as scikit-learn-extra
            computes it); `init`, `restarts` and `seed`: see `starts`.
        built: see `starts`.

    Raises:
        GroupingError: k is out of range.
    """
    check_k(k, len(distances))
    search = SEARCHES[spec.algorithm]
    results = [search(distances, start) for start in starts(distances, k, spec, built=built)]
    return min(results, key=lambda result: result.inertia)  # the first one if equal


def check_k(k: int, items: int) -> None:
    """Raise an error if k is outside 1..T."""
    if not 1 <= k <= items:
        raise GroupingError(
            "`grouping.k` must be between 1 and the number of tasks", got=k, allowed=f"1 to {items}"
        )


def starts(
    distances: Matrix, k: int, spec: GroupingSpec, *, built: Indices | None = None
) -> Iterator[Indices]:
    """Return the medoids [k] at which searches start.

    The first start is `init`: `build` (PAM's greedy BUILD), `heuristic` (the k items of smallest total
    distance) or `random`. FasterPAM and `random` continue with random starts, `restarts` in total. The
    default is 20, because with 10, one in fifty of the test's problems did not reach the best result of PAM.
    `alternate` with a start that is not random runs once, as in scikit-learn-extra.

    Args:
        built: BUILD's medoids for this k or a larger one, if already known.
    """
    if spec.init == "build":
        yield (build(distances, k) if built is None else built)[:k]
    elif spec.init == "heuristic":
        yield np.argsort(distances.sum(axis=1), kind="stable")[:k]
    is_random = spec.init == "random"
    random_starts = spec.restarts - (not is_random)
    if (not is_random and spec.algorithm == "alternate") or k in (1, len(distances)):
        random_starts = int(is_random)  # one start, or only one solution
    for number in range(max(random_starts, int(is_random))):
        rng = np.random.default_rng([spec.seed, number])
        yield np.sort(rng.choice(len(distances), size=k, replace=False))


def fasterpam(distances: Matrix, start: Indices) -> Medoids:
    """Run FasterPAM's search from k medoids [k]."""
    if len(start) == 1:  # with k = 1, every swap changes all groups: take the best one
        return assign_to_medoids(distances, np.array([distances.sum(axis=1).argmin()]))
    return assign_to_medoids(distances, swap_medoids(distances, start))


def alternate(distances: Matrix, start: Indices, max_iter: int = 300) -> Medoids:
    """Assign items to their nearest medoid, then move each medoid to its group's centre; repeat until stable.

    This is the method `alternate` of scikit-learn-extra 0.3.0: a medoid is replaced only by an item with a
    strictly lower cost.
    """
    medoids = np.array(start, dtype=np.intp)
    for _ in range(max_iter):
        before = medoids.copy()
        labels = distances[medoids].argmin(axis=0)  # [T]
        for group in range(len(medoids)):
            members = np.flatnonzero(labels == group)
            if not members.size:  # all its items are equally near to an earlier medoid
                continue
            cost = distances[np.ix_(members, members)].sum(axis=1)
            if cost.min() < cost[np.argmax(members == medoids[group])]:
                medoids[group] = members[cost.argmin()]
        if np.array_equal(before, medoids):
            break
    return assign_to_medoids(distances, medoids)


def assign_to_medoids(distances: Matrix, medoids: Indices) -> Medoids:
    """Return the groups around k given medoids; ties go to the medoid with the lowest index."""
    medoids = np.sort(medoids)
    table = distances[medoids]  # [k, T]
    labels = table.argmin(axis=0)
    labels[medoids] = np.arange(len(medoids))  # with equal items, each medoid keeps its own group
    return Medoids(medoids, labels, float(table.min(axis=0).sum()))


SEARCHES = {"fasterpam": fasterpam, "alternate": alternate}
