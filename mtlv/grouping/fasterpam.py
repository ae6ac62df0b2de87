"""The searches behind k-medoids: PAM's BUILD and FasterPAM's swaps, few and cheap in NumPy.

FasterPAM: E. Schubert and P. J. Rousseeuw, "Fast and eager k-medoids clustering: O(k) runtime improvement of
the PAM, CLARA, and CLARANS algorithms", Information Systems 101 (2021), https://doi.org/10.1016/j.is.2021.101804
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]

FIRST_CELLS = 2**14  # distances examined in one go: with fewer, the calls cost more than their work
MOST_CELLS = 2**16  # with more, they leave the processor's cache
LEAST_ROWS = 8
ASKED_AGAIN = 16  # items whose gain BUILD computes in one go
LEAST_GAIN = 1e-12  # a swap must gain this share of the inertia, or rounding could swap for ever


def build(distances: Matrix, k: int) -> Indices:
    """PAM's BUILD: the most central item, then k - 1 times the item that lowers the inertia most.

    The first medoids for k are those for k - 1; ties go to the lowest index. What an item would gain only
    falls while others are chosen, in floating point too: an old gain is a bound, and few are computed again.
    """
    chosen = [int(distances.sum(axis=1).argmin())]
    nearest = distances[chosen[0]].copy()  # [T]
    gain = np.full(len(distances), np.inf)  # [T], or a bound of it
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


def swaps(distances: Matrix, start: Indices) -> tuple[Indices, int]:
    """Swap a medoid for another item as soon as that lowers the inertia, until no swap does.

    Candidates are taken in the order of their index, going round. They are examined in blocks that grow while
    no swap is found: the same swaps as one by one, in few NumPy calls.

    Args:
        distances: [T, T].
        start: [k], k of 2 or more.

    Returns:
        Medoids [k], and the number of swaps.
    """
    items, made, state = len(distances), 0, _State(distances, start)
    first, most = (max(LEAST_ROWS, cells // items) for cells in (FIRST_CELLS, MOST_CELLS))
    position, quiet, width = 0, 0, first
    while quiet < items:
        end = min(position + width, items)
        found = state.first_swap(position, end)
        if found is None:
            position, quiet, width = end % items, quiet + end - position, min(2 * width, most)
        else:
            position, quiet, width, made = (found + 1) % items, 0, first, made + 1
    return state.medoids, made


class _State:
    """Medoids [k] and the distances of all items to them [T, k]; what follows from them is kept beside.

    Swapping medoid i for candidate c changes the inertia by (Schubert and Rousseeuw 2021, section 4): the
    loss of removing i, sum over its items of d2 - d1; plus the gain of adding c, sum over all items of
    min(d(c) - d1, 0); plus, over the items of i, what both count twice: min(max(d(c), d1), d2) - d2. Here d1
    and d2 are an item's distances to its nearest and second nearest medoid.
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
        self.own = np.bincount(first, weights=self.d1, minlength=k)  # [k]
        self.member = np.zeros((len(table), k))  # [T, k]
        self.member[every, first] = 1.0

    def first_swap(self, begin: int, end: int) -> int | None:
        """Make the first swap that helps, of the candidates `begin` to `end`; which one it was."""
        change, replaced = self._changes(self.distances[begin:end])
        for place in np.flatnonzero(change < -LEAST_GAIN * self.inertia):
            candidate = begin + int(place)
            if not self.is_medoid[candidate] and self._swap(int(replaced[place]), candidate):
                return candidate
        return None

    def _changes(self, rows: Matrix) -> tuple[Matrix, Indices]:
        """Change of inertia [B] of the best swap with each candidate, and the place [B] of its medoid.

        With d2 - d1 and what is counted twice taken together, d2 drops out: min(max(d(c), d1), d2) - d1.

        Args:
            rows: [B, T] distances from each candidate.
        """
        if len(rows) > len(self.room):
            self.room = np.empty_like(rows)
        near = np.minimum(rows, self.d1, out=self.room[: len(rows)])
        addition = near.sum(axis=1) - self.inertia  # [B]
        near = np.maximum(rows, self.d1, out=near)
        change = np.minimum(near, self.d2, out=near) @ self.member  # [B, k]
        change -= self.own
        best = change.argmin(axis=1)
        return change[np.arange(len(rows)), best] + addition, best

    def _swap(self, place: int, candidate: int) -> bool:
        """Swap, or leave all as it is where the inertia did not fall but for rounding."""
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
