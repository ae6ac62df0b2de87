"""The function `group`, used for all methods that read features."""

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
        features: [T, D], or [T] for one number per item; not scaled. For `kde` and `meanshift` on label
            counts: the number of training documents of each task.
        spec: the settings of the grouping.
        k: number of groups; None uses `spec.k`, and the k at the elbow if that is `auto`.

    Returns:
        Groups that contain every item exactly once. Methods that determine the number of groups ignore k and
        add a note. `random` returns groups with the sizes of k-medoids on the same features.

    Raises:
        GroupingError: k is outside 1..T, features are not finite, settings do not fit together, or an engine
            cannot be imported.
    """
    space = Space.of(features, spec)
    asked = k if k is not None else (None if spec.k == "auto" else spec.k)
    if not GROUPINGS[spec.method].takes_k:
        grouping = group_into(space, None)
        if asked is None:
            return grouping
        return replace(
            grouping, notes=(*grouping.notes, f"k = {asked} was ignored: {spec.method} finds its own")
        )
    if asked is not None:
        return group_into(space, asked)
    curve = elbow_of(space, spec.k_max)
    grouping = group_into(space, curve.recommended)
    return replace(grouping, notes=(*grouping.notes, curve.reason))
