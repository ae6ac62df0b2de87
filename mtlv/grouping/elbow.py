"""The choice of k: the curve of inertia over k, its knee, and the reason in plain words."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from mtlv.grouping.methods import Space, group_into
from mtlv.grouping.result import Elbow, Grouping
from mtlv.grouping.spec import GroupingSpec

WEAK = 0.1  # a curve that is never below its chord by this share of its height is almost straight


def elbow(features: ArrayLike, spec: GroupingSpec, *, k_max: int) -> Elbow:
    """Return inertia and silhouette for k = 1..K, K = min(k_max, T), and the k at the knee.

    While the silhouette still rises at K, the curve goes on; the knee stays that of the curve up to K.

    The curve is computed with `spec`'s method if it takes a k (k-medoids, k-means, agglomerative), otherwise
    with k-medoids on the same distances. Inertia is always the sum of the distances to the group's medoid, so
    that curves of different methods can be compared; k-means defines its own inertia differently (squared
    distances to the mean).

    Args:
        features: [T, D] or [T], not scaled.
        spec: the grouping.
        k_max: the largest k to try.

    Raises:
        GroupingError: as for `group`.
    """
    return elbow_of(Space.of(features, spec), k_max)


def elbow_of(space: Space, k_max: int) -> Elbow:
    """Return the `elbow` of an existing space."""
    last = min(k_max, len(space.features))
    curve_space = space.for_curve().with_build(last)
    groupings = [group_into(curve_space, k) for k in range(1, last + 1)]
    inertia = [grouping.inertia or 0.0 for grouping in groupings]
    recommended, below = knee(inertia, items=len(space.features))
    groupings += _rising(curve_space, groupings)
    silhouettes = tuple(grouping.silhouette for grouping in groupings)
    reason = _alone(space) if recommended == 1 else _reason(recommended, below, inertia, silhouettes)
    return Elbow(
        k=tuple(range(1, len(groupings) + 1)),
        inertia=tuple(grouping.inertia or 0.0 for grouping in groupings),
        silhouette=silhouettes,
        recommended=recommended,
        reason=reason,
        labels=tuple(grouping.labels for grouping in groupings),
        medoids=tuple(grouping.medoids or () for grouping in groupings),
        tried=last,
    )


def _rising(space: Space, groupings: Sequence[Grouping]) -> list[Grouping]:
    """Return the groupings for larger k as long as the silhouette rises, and the one after it."""
    out = list(groupings[-2:])
    distinct = len(np.unique(space.features, axis=0))
    while len(out) > 1 and (out[-1].silhouette or 0.0) > (out[-2].silhouette or 0.0) and out[-1].k < distinct:
        larger = out[-1].k + 1
        out.append(group_into(space.with_build(larger), larger))
    return out[2:]


def knee(inertia: Sequence[float], *, items: int) -> tuple[int, float]:
    """Return the k at which the curve is furthest below its chord, and the distance as a share of its height.

    With x = (k - 1) / (K - 1) and y = (I(k) - I(K)) / (I(1) - I(K)), both in [0, 1], the chord is y = 1 - x.
    The knee maximises 1 - x - y: the largest distance from the chord, and Kneedle's difference curve (Satopää
    et al., "Finding a 'kneedle' in a haystack", ICDCSW 2011) without its smoothing. Ties go to the smaller k.
    With 3 items or more, the knee is at least 2, because one group would mean no grouping.

    Args:
        inertia: I(1)..I(K).
        items: T, the number of items.
    """
    last = len(inertia)
    if items < 3 or last < 2:
        return 1, 0.0
    height = inertia[0] - inertia[-1]
    if last == 2 or not height > 0:
        return 2, 0.0
    below = {k: 1 - (k - 1) / (last - 1) - (inertia[k - 1] - inertia[-1]) / height for k in range(2, last)}
    best = max(below, key=lambda k: (round(below[k], 12), -k))
    return best, below[best]


def _alone(space: Space) -> str:
    """Return the reason why there is only one group."""
    tasks = len(space.features)
    if tasks < 3:
        return f"k = 1: with {'one task' if tasks == 1 else 'two tasks'} there is nothing to group."
    if len(np.unique(space.features, axis=0)) == 1:
        return f"k = 1: the vectors of all {tasks} tasks are equal, so nothing tells them apart."
    return "k = 1: no larger k was tried."


def _reason(k: int, below: float, inertia: Sequence[float], silhouettes: Sequence[float | None]) -> str:
    last = len(inertia)
    if below == 0 or last < 3:
        return f"k = {k}: the curve has no knee between k = 1 and k = {last}, so the smallest split is taken."
    share = 1 - inertia[k - 1] / inertia[0]
    weak, only = (", a weak choice", "only ") if below < WEAK else ("", "")
    text = (
        f"k = {k}{weak}: the knee of the curve, which lies {only}{below:.0%} of its height below the straight"
        f" line from k = 1 to k = {last}. The inertia is {inertia[k - 1]:.4g}, {share:.0%} lower than with"
        f" one group ({inertia[0]:.4g})."
    )
    known = {number: value for number, value in enumerate(silhouettes, start=1) if value is not None}
    if k not in known or not all(math.isfinite(value) for value in known.values()):
        return text
    best = max(known, key=lambda number: (known[number], -number))
    if best == k:
        return f"{text} The silhouette, {known[k]:.2f}, is the highest."
    return f"{text} The silhouette is {known[k]:.2f}; the highest is {known[best]:.2f} at k = {best}."
