"""Stability of a grouping when a detail of its settings changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def stability(variants: Mapping[str, Sequence[int]], reference: Sequence[int]) -> dict[str, float]:
    """Return the adjusted Rand index between a reference grouping and each variant, using scikit-learn.

    1 means the same partition, 0 the agreement expected by chance, and negative values less than that.

    Args:
        variants: name of the change (`without special tokens`) -> group of each of T items.
        reference: group of each of T items.
    """
    from sklearn.metrics import adjusted_rand_score

    return {name: float(adjusted_rand_score(reference, labels)) for name, labels in variants.items()}
