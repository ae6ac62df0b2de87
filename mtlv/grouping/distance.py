"""Distances between items, and metrics computed from them: silhouette, medoids, inertia."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mtlv.errors import GroupingError


def distances(features: NDArray[np.float64], metric: str) -> NDArray[np.float64]:
    """Return the distance of each pair of rows: [T, D] -> [T, T], symmetric, zeros on the diagonal.

    Args:
        features: [T, D].
        metric: `euclidean`, or `cosine` (1 - cosine of the angle, in [0, 2]); a zero row has cosine distance
            1 from all others.

    Raises:
        GroupingError: cosine is used with one number per item.
    """
    from scipy.spatial.distance import pdist, squareform

    if metric == "euclidean":  # differences, not a dot product, so that equal rows have distance 0 exactly
        return squareform(pdist(features)) if len(features) > 1 else np.zeros((1, 1))
    if features.shape[1] == 1:
        raise GroupingError(
            "`grouping.metric: cosine` needs more than one number per task",
            then="set `grouping.metric: euclidean`",
        )
    length = np.linalg.norm(features, axis=1, keepdims=True)
    unit = features / np.where(length > 0, length, 1.0)
    result = np.clip(1.0 - unit @ unit.T, 0.0, 2.0)
    np.fill_diagonal(result, 0.0)
    return (result + result.T) / 2  # a BLAS may round the two triangles differently


def silhouette(distances: NDArray[np.float64], labels: Sequence[int] | NDArray[np.integer]) -> float | None:
    """Return the mean silhouette of a grouping; None if undefined (fewer than 2 groups, or T groups)."""
    from sklearn.metrics import silhouette_score

    if not 2 <= int(np.max(labels)) + 1 <= len(labels) - 1:
        return None
    return float(silhouette_score(distances, labels, metric="precomputed"))


def central_items(distances: NDArray[np.float64], labels: Sequence[int]) -> tuple[int, ...]:
    """Return the medoid of each group: the item with the smallest total distance to its group.

    Ties go to the lowest index.
    """
    numbers = np.asarray(labels)
    medoids = []
    for group in range(int(numbers.max()) + 1):
        members = np.flatnonzero(numbers == group)
        medoids.append(int(members[distances[np.ix_(members, members)].sum(axis=1).argmin()]))
    return tuple(medoids)


def inertia_of(distances: NDArray[np.float64], labels: Sequence[int], medoids: Sequence[int]) -> float:
    """Return the sum over the items of the distance to their group's medoid."""
    return float(distances[np.arange(len(labels)), np.asarray(medoids)[np.asarray(labels)]].sum())
