"""`group`: the one entrance for every method that reads features."""

from __future__ import annotations

from dataclasses import replace

from numpy.typing import ArrayLike

from mtlv.grouping.elbow import elbow_of
from mtlv.grouping.methods import Space, group_into
from mtlv.grouping.result import Grouping
from mtlv.grouping.spec import GroupingSpec
from mtlv.registries import GROUPINGS


def group(features: ArrayLike, spec: GroupingSpec, *, k: int | None = None) -> Grouping:
    """Partition T items by their features.

    Args:
        features: [T, D], or [T] for one number per item; unscaled. For `kde` and `meanshift` on label counts:
            the number of training documents of each task.
        spec: how.
        k: number of groups; none takes `spec.k`, and where that is `auto` the k of the elbow.

    Returns:
        Groups that hold every item exactly once. Methods that find their number of groups ignore a k, with a
        note. `random` has the group sizes of k-medoids on the same features.

    Raises:
        GroupingError: k outside 1..T, features that are not finite, settings that do not fit together, an
            engine that cannot be imported.
    """
    space = Space.of(features, spec)
    asked = k if k is not None else (None if spec.k == "auto" else spec.k)
    if not GROUPINGS[spec.method].takes_k:
        found = group_into(space, None)
        if asked is None:
            return found
        return replace(found, notes=(*found.notes, f"k = {asked} was ignored: {spec.method} finds its own"))
    if asked is not None:
        return group_into(space, asked)
    curve = elbow_of(space, spec.k_max)
    found = group_into(space, curve.recommended)
    return replace(found, notes=(*found.notes, curve.reason))
