"""Random groups: the control for every claim about a grouping."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtlv.grouping.kmedoids import check_k
from mtlv.grouping.result import Grouping, first_seen


def random_like(sizes: Sequence[int], *, seed: int) -> Grouping:
    """Return a random partition whose groups have the sizes of another grouping (in any order).

    Args:
        sizes: items per group, each at least 1.
        seed: the same seed gives the same groups.
    """
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return Grouping(first_seen(np.random.default_rng(seed).permutation(labels).tolist()))


def random_groups(items: int, k: int, *, seed: int) -> Grouping:
    """Return a random partition of `items` into k groups whose sizes differ by at most 1.

    Raises:
        GroupingError: k is outside 1..items.
    """
    check_k(k, items)
    return random_like([items // k + (group < items % k) for group in range(k)], seed=seed)
