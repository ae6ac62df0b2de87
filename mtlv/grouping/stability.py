"""How much a grouping changes when a detail of its recipe does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def stability(variants: Mapping[str, Sequence[int]], reference: Sequence[int]) -> dict[str, float]:
    """Adjusted Rand index between a reference grouping and each variant of it, by scikit-learn.

    1 is the same partition, 0 what chance would give, under 0 less than that.

    Args:
        variants: name of the change (`without special tokens`) -> group of each of T items.
        reference: group of each of T items.
    """
    from sklearn.metrics import adjusted_rand_score

    return {name: float(adjusted_rand_score(reference, labels)) for name, labels in variants.items()}
