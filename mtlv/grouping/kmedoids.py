"""k-medoids on a distance matrix: FasterPAM, and the alternating search of the thesis.

k items (medoids) are chosen so that the sum of the distances of all items to their nearest medoid, the
inertia, is small. Everything here is deterministic; ties go to the lowest index.

FasterPAM: E. Schubert and P. J. Rousseeuw, "Fast and eager k-medoids clustering: O(k) runtime improvement of
the PAM, CLARA, and CLARANS algorithms", Information Systems 101 (2021), https://doi.org/10.1016/j.is.2021.101804
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mtlv.errors import GroupingError

Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]

FIRST_BLOCK, LARGEST_BLOCK = 8, 512  # candidates examined in one NumPy call
LEAST_GAIN = 1e-12  # a swap must gain this share of the inertia, or rounding could swap for ever


@dataclass(frozen=True)
class Medoids:
    """k medoids of T items.

    Attributes:
        medoids: [k] indices, rising.
        labels: [T] position of each item's medoid in `medoids`; a medoid is always in its own group.
        inertia: sum of the distances to the nearest medoid.
        iterations: swaps (fasterpam) or rounds (alternate).
    """

    medoids: Indices
    labels: Indices
    inertia: float
    iterations: int


def kmedoids(
    distances: Matrix,
    k: int,
    *,
    algorithm: str = "fasterpam",
    init: str = "build",
    restarts: int = 20,
    seed: int = 0,
    built: Indices | None = None,
) -> Medoids:
    """The best of some searches for k medoids.

    Args:
        distances: [T, T], symmetric, not negative, zeros on the diagonal.
        k: number of medoids, 1..T.
        algorithm: `fasterpam`, or `alternate` (the thesis's, as scikit-learn-extra computes it).
        init, restarts, seed, built: see `starts`.

    Raises:
        GroupingError: k out of range, or an unknown algorithm or start.
    """
    check_k(k, len(distances))
    if algorithm not in SEARCHES:
        raise GroupingError("unknown `grouping.algorithm`", got=algorithm, allowed=", ".join(SEARCHES))
    search = SEARCHES[algorithm]
    tried = starts(distances, k, algorithm=algorithm, init=init, restarts=restarts, seed=seed, built=built)
    found = [search(distances, start) for start in tried]
    return min(found, key=lambda result: result.inertia)  # the earliest of equals


def check_k(k: int, items: int) -> None:
    """Refuse a k outside 1..T."""
    if not 1 <= k <= items:
        raise GroupingError(
            "`grouping.k` must be between 1 and the number of tasks", got=k, allowed=f"1 to {items}"
        )


def starts(
    distances: Matrix,
    k: int,
    *,
    algorithm: str,
    init: str,
    restarts: int,
    seed: int,
    built: Indices | None = None,
) -> Iterator[Indices]:
    """The medoids [k] from which searches begin.

    The first is `init`: `build` (PAM's greedy BUILD), `heuristic` (the k items of smallest total distance) or
    `random`. FasterPAM and random starts go on with random ones, `restarts` in all; 20 by default, because
    with 10 one in fifty of the test's problems stayed above the best of PAM. `alternate` from a start that is
    not random runs once, as scikit-learn-extra does.

    Args:
        built: BUILD's medoids for this k or a larger one, where they are known already.
    """
    if init not in ("build", "heuristic", "random"):
        raise GroupingError("unknown `grouping.init`", got=init, allowed="build, heuristic, random")
    if init == "build":
        yield (build(distances, k) if built is None else built)[:k]
    elif init == "heuristic":
        yield np.argsort(distances.sum(axis=1), kind="stable")[:k]
    random_starts = restarts - (init != "random")
    if (init != "random" and algorithm == "alternate") or k in (1, len(distances)):
        random_starts = int(init == "random")  # one start, or one only solution
    for number in range(max(random_starts, int(init == "random"))):
        yield np.sort(np.random.default_rng([seed, number]).choice(len(distances), size=k, replace=False))


def build(distances: Matrix, k: int) -> Indices:
    """PAM's BUILD: the most central item, then k - 1 times the item that lowers the inertia most.

    The first medoids for k are those for k - 1.
    """
    chosen = [int(distances.sum(axis=1).argmin())]
    nearest = distances[chosen[0]].copy()  # [T]
    while len(chosen) < k:
        gain = np.maximum(nearest - distances, 0.0).sum(axis=1)  # [T]
        gain[chosen] = -1.0
        chosen.append(int(gain.argmax()))
        np.minimum(nearest, distances[chosen[-1]], out=nearest)
    return np.array(chosen, dtype=np.intp)


@dataclass(frozen=True)
class _Nearest:
    """For each item: its nearest medoid [T], the distances d1 [T] to it and d2 [T] to the second nearest."""

    first: Indices
    d1: Matrix
    d2: Matrix

    @classmethod
    def of(cls, distances: Matrix, medoids: Indices) -> _Nearest:
        table = distances[medoids]  # [k, T]
        columns = np.arange(table.shape[1])
        first = table.argmin(axis=0)
        d1 = table[first, columns]
        table[first, columns] = np.inf
        return cls(first, d1, table.min(axis=0))


def fasterpam(distances: Matrix, start: Indices) -> Medoids:
    """Swap a medoid for another item as soon as that lowers the inertia, until no swap does.

    Candidates are taken in the order of their index, going round. They are examined in blocks that grow while
    no swap is found: the same swaps as one by one, in few NumPy calls.
    """
    items, medoids = len(distances), np.array(start, dtype=np.intp)
    if len(medoids) == 1:  # a candidate's swap changes everything at once: take the best
        return assigned(distances, np.array([distances.sum(axis=1).argmin()]), iterations=1)
    near = _Nearest.of(distances, medoids)
    position, quiet, width, swaps = 0, 0, FIRST_BLOCK, 0
    while quiet < items:
        block = np.arange(position, min(position + width, items))  # [B]
        change, replaced = _swap_changes(distances[block], near, len(medoids))
        change[np.isin(block, medoids)] = 0.0
        better = np.flatnonzero(change < -LEAST_GAIN * near.d1.sum())
        if better.size == 0:
            position, quiet = (position + len(block)) % items, quiet + len(block)
            width = min(2 * width, LARGEST_BLOCK)
            continue
        found = better[0]
        medoids[replaced[found]] = block[found]
        near = _Nearest.of(distances, medoids)
        position, quiet, width, swaps = (int(block[found]) + 1) % items, 0, FIRST_BLOCK, swaps + 1
    return assigned(distances, medoids, iterations=swaps)


def _swap_changes(rows: Matrix, near: _Nearest, k: int) -> tuple[Matrix, Indices]:
    """Change of inertia [B] of the best swap with each candidate, and the medoid [B] that it replaces.

    Swapping medoid i for candidate c changes the inertia by (Schubert and Rousseeuw 2021, section 4):
    the loss of removing i, sum over its items of d2 - d1; plus the gain of adding c, sum over all items of
    min(d(c) - d1, 0); plus, over the items of i, what both count twice: min(max(d(c), d1), d2) - d2.

    Args:
        rows: [B, T] distances from each candidate.
    """
    member = np.zeros((len(near.first), k))  # [T, k]
    member[np.arange(len(near.first)), near.first] = 1.0
    removal = (near.d2 - near.d1) @ member  # [k]
    addition = np.minimum(rows - near.d1, 0.0).sum(axis=1)  # [B]
    shared = np.minimum(np.maximum(rows, near.d1), near.d2) - near.d2  # [B, T]
    change = shared @ member + removal  # [B, k]
    best = change.argmin(axis=1)
    return change[np.arange(len(rows)), best] + addition, best


def alternate(distances: Matrix, start: Indices, max_iter: int = 300) -> Medoids:
    """Assign items to their nearest medoid, then move each medoid to its group's centre, until nothing moves.

    The method `alternate` of scikit-learn-extra 0.3.0: a medoid gives way only to a strictly cheaper item.
    """
    medoids = np.array(start, dtype=np.intp)
    rounds = 0
    for rounds in range(1, max_iter + 1):  # noqa: B007 - the count is used below
        before = medoids.copy()
        labels = distances[medoids].argmin(axis=0)  # [T]
        for group in range(len(medoids)):
            members = np.flatnonzero(labels == group)
            if not members.size:  # all its items are as near to an earlier medoid
                continue
            cost = distances[np.ix_(members, members)].sum(axis=1)
            if cost.min() < cost[np.argmax(members == medoids[group])]:
                medoids[group] = members[cost.argmin()]
        if np.array_equal(before, medoids):
            break
    return assigned(distances, medoids, iterations=rounds)


def assigned(distances: Matrix, medoids: Indices, *, iterations: int) -> Medoids:
    """The groups around k medoids, however they were found; ties go to the medoid of lowest index."""
    medoids = np.sort(medoids)
    table = distances[medoids]  # [k, T]
    labels = table.argmin(axis=0)
    labels[medoids] = np.arange(len(medoids))  # of equal items, each medoid keeps its own group
    return Medoids(medoids, labels, float(table.min(axis=0).sum()), iterations)


SEARCHES = {"fasterpam": fasterpam, "alternate": alternate}
