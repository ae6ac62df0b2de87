"""Searches used by k-medoids: PAM's BUILD and FasterPAM's swaps, efficient in NumPy.

FasterPAM: E. Schubert and P. J. Rousseeuw, "Fast and eager k-medoids clustering: O(k) runtime improvement of
the PAM, CLARA, and CLARANS algorithms", Information Systems 101 (2021),
https://doi.org/10.1016/j.is.2021.101804
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]

FIRST_CELLS = 2**14  # distances examined at once: with fewer, the calls cost more than the computation
MOST_CELLS = 2**16  # with more, they no longer fit in the processor's cache
LEAST_ROWS = 8
ASKED_AGAIN = 16  # items whose gain BUILD computes at once
LEAST_GAIN = 1e-12  # a swap must gain this share of the inertia, otherwise rounding could cause endless swaps


def build(distances: Matrix, k: int) -> Indices:
    """Run PAM's BUILD: start with the most central item, then add the best item k - 1 times.

    The best item is the one that reduces the inertia most. The first medoids for k are those for k - 1; ties
    go to the lowest index. The gain of an item can only decrease while others are chosen, also in floating
    point. Therefore an earlier gain is an upper bound, and few gains are computed again.
    """
    chosen = [int(distances.sum(axis=1).argmin())]
    nearest = distances[chosen[0]].copy()  # [T]
    gain = np.full(len(distances), np.inf)  # [T], or an upper bound
    while len(chosen) < k:
        gain[chosen] = -1.0
        known = np.zeros(len(distances), dtype=bool)
        known[chosen] = True
        while not known[best := int(gain.argmax())]:
            ask = np.argsort(np.where(known, -np.inf, gain), kind="stable")[-ASKED_AGAIN:]
            ask = ask[~known[ask]]
            gain[ask] = np.maximum(nearest - distances[ask], 0.0).sum(axis=1)
            known[ask] = True
        chosen.append(best)
        np.minimum(nearest, distances[best], out=nearest)
    return np.array(chosen, dtype=np.intp)


def swap_medoids(distances: Matrix, start: Indices) -> Indices:
    """Swap a medoid for another item as soon as that reduces the inertia, until no swap does.

    Candidates are tried cyclically in the order of their index. They are examined in blocks that grow while
    no swap is found. This gives the same swaps as one candidate at a time, with few NumPy calls.

    Args:
        distances: [T, T].
        start: [k], k of 2 or more.
    """
    items, state = len(distances), _State(distances, start)
    first, most = (max(LEAST_ROWS, cells // items) for cells in (FIRST_CELLS, MOST_CELLS))
    position, quiet, width = 0, 0, first
    while quiet < items:
        end = min(position + width, items)
        candidate = state.first_swap(position, end)
        if candidate is None:
            position, quiet, width = end % items, quiet + end - position, min(2 * width, most)
        else:
            position, quiet, width = (candidate + 1) % items, 0, first
    return state.medoids


class _State:
    """Medoids [k], the distances of all items to them [T, k], and values derived from these.

    Swapping medoid i for candidate c changes the inertia by the sum of three terms (Schubert and Rousseeuw
    2021, section 4). The loss of removing i: the sum over its items of d2 - d1. The gain of adding c: the sum
    over all items of min(d(c) - d1, 0). A correction for the items of i, which both terms count:
    min(max(d(c), d1), d2) - d2. Here d1 and d2 are an item's distances to its nearest and second nearest
    medoid.
    """

    def __init__(self, distances: Matrix, start: Indices) -> None:
        self.distances = distances
        self.medoids = np.array(start, dtype=np.intp)
        self.table = np.ascontiguousarray(distances[self.medoids].T)
        self.is_medoid = np.zeros(len(distances), dtype=bool)
        self.is_medoid[self.medoids] = True
        self.every = np.arange(len(distances))
        self.room = np.empty((0, len(distances)))
        self._renew()

    def _renew(self) -> None:
        table, every = self.table, self.every
        first = table.argmin(axis=1)
        self.d1 = table[every, first]
        table[every, first] = np.inf
        self.d2 = table.min(axis=1)
        table[every, first] = self.d1
        k = table.shape[1]
        self.inertia = float(self.d1.sum())
        self.totals = np.bincount(first, weights=self.d1, minlength=k)  # [k]
        self.member = np.zeros((len(table), k))  # [T, k]
        self.member[every, first] = 1.0

    def first_swap(self, begin: int, end: int) -> int | None:
        """Make the first swap that reduces the inertia; return its candidate in `begin`..`end`, or None."""
        change, replaced = self._changes(self.distances[begin:end])
        for place in np.flatnonzero(change < -LEAST_GAIN * self.inertia):
            candidate = begin + int(place)
            if not self.is_medoid[candidate] and self._swap(int(replaced[place]), candidate):
                return candidate
        return None

    def _changes(self, rows: Matrix) -> tuple[Matrix, Indices]:
        """Return the change of inertia [B] of each candidate's best swap, and the position [B] of its medoid.

        The sum of d2 - d1 and the correction is computed as min(max(d(c), d1), d2) - d1.

        Args:
            rows: [B, T] distances from each candidate.
        """
        if len(rows) > len(self.room):
            self.room = np.empty_like(rows)
        near = np.minimum(rows, self.d1, out=self.room[: len(rows)])
        addition = near.sum(axis=1) - self.inertia  # [B]
        near = np.maximum(rows, self.d1, out=near)
        change = np.minimum(near, self.d2, out=near) @ self.member  # [B, k]
        change -= self.totals
        best = change.argmin(axis=1)
        return change[np.arange(len(rows)), best] + addition, best

    def _swap(self, place: int, candidate: int) -> bool:
        """Swap, or change nothing if the inertia decreased only by rounding."""
        before, medoid = self.inertia, int(self.medoids[place])
        self.table[:, place] = self.distances[candidate]
        self._renew()
        if self.inertia >= before:
            self.table[:, place] = self.distances[medoid]
            self._renew()
            return False
        self.medoids[place] = candidate
        self.is_medoid[[medoid, candidate]] = False, True
        return True
