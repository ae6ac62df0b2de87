"""Methods computed by scikit-learn: k-means, agglomerative clustering, HDBSCAN, mean shift."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mtlv.errors import GroupingError
from mtlv.grouping.distance import distances
from mtlv.grouping.scaling import scale
from mtlv.grouping.spec import GroupingSpec

UNIT_ROWS = (
    "cosine: rows were brought to length 1, where squared Euclidean distance is twice the cosine distance"
)


@dataclass(frozen=True)
class GroupLabels:
    """Group of each item, with notes for the user."""

    labels: NDArray[np.intp]
    notes: tuple[str, ...] = ()


def kmeans(features: NDArray[np.float64], k: int, spec: GroupingSpec) -> GroupLabels:
    """Run k-means with `restarts` seeded starts; for the cosine metric, rows are scaled to length 1.

    Raises:
        GroupingError: there are fewer distinct rows than k.
    """
    from sklearn.cluster import KMeans

    distinct = len(np.unique(features, axis=0))
    if k > distinct:
        raise GroupingError(
            "`grouping.k` must not pass the number of tasks with different features for kmeans",
            got=k,
            allowed=f"1 to {distinct}",
        )
    rows, notes = _for_metric(features, spec.metric)
    model = KMeans(n_clusters=k, n_init=max(spec.restarts, 1), random_state=spec.seed)
    return GroupLabels(model.fit(rows).labels_.astype(np.intp), notes)


def agglomerative(features: NDArray[np.float64], k: int, spec: GroupingSpec) -> GroupLabels:
    """Join the two nearest groups repeatedly until k are left.

    Raises:
        GroupingError: Ward's linkage is used with a metric other than Euclidean.
    """
    from sklearn.cluster import AgglomerativeClustering

    if len(features) == 1:
        return GroupLabels(np.zeros(1, dtype=np.intp))
    if spec.linkage == "ward":
        if spec.metric != "euclidean":
            raise GroupingError(
                "`grouping.linkage: ward` is defined for Euclidean distances only",
                got=f"grouping.metric {spec.metric}",
                then="set `grouping.metric: euclidean`, or `grouping.linkage: average`",
            )
        model = AgglomerativeClustering(n_clusters=k, linkage="ward")
        return GroupLabels(model.fit(features).labels_.astype(np.intp))
    model = AgglomerativeClustering(n_clusters=k, metric="precomputed", linkage=spec.linkage)
    return GroupLabels(model.fit(distances(features, spec.metric)).labels_.astype(np.intp))


def hdbscan(features: NDArray[np.float64], spec: GroupingSpec) -> GroupLabels:
    """Run HDBSCAN, which determines k, with the leaves of its tree as clusters (as the thesis's code does).

    Noise points also get a group. With `noise: own_group`, all noise points form one more group. With
    `nearest`, each one joins the group of the nearest point that is not noise (ties: lowest index). If every
    point is noise, the result is one group with all items.

    Raises:
        GroupingError: `min_cluster_size` is above the number of items.
    """
    from sklearn.cluster import HDBSCAN

    items = len(features)
    if items == 1:
        return GroupLabels(np.zeros(1, dtype=np.intp))
    if spec.min_cluster_size > items:
        raise GroupingError(
            "`grouping.min_cluster_size` does not fit the number of tasks",
            got=spec.min_cluster_size,
            allowed=f"2 to {items}",
        )
    table = distances(features, spec.metric)
    model = HDBSCAN(
        min_cluster_size=spec.min_cluster_size,
        metric="precomputed",
        cluster_selection_method="leaf",
        copy=True,
    )
    labels = model.fit(table).labels_.astype(np.intp)
    return _place_noise(labels, table, spec.noise)


def _place_noise(labels: NDArray[np.intp], table: NDArray[np.float64], noise: str) -> GroupLabels:
    """Replace the label of noise points (-1)."""
    lost = np.flatnonzero(labels < 0)
    if not lost.size:
        return GroupLabels(labels)
    if lost.size == len(labels):
        return GroupLabels(np.zeros_like(labels), ("HDBSCAN called every task noise: they are one group",))
    placed = labels.copy()
    if noise == "own_group":
        placed[lost] = labels.max() + 1
        return GroupLabels(
            placed, (f"HDBSCAN called {lost.size} tasks noise: they are one group of their own",)
        )
    kept = np.flatnonzero(labels >= 0)
    placed[lost] = labels[kept[table[np.ix_(lost, kept)].argmin(axis=1)]]
    return GroupLabels(placed, (f"HDBSCAN called {lost.size} tasks noise: each joined its nearest group",))


def meanshift(features: NDArray[np.float64], spec: GroupingSpec) -> GroupLabels:
    """Run mean shift with a flat kernel, which determines k; every item joins the nearest mode.

    `bandwidth` is in units of the scaled features. By default it is scikit-learn's estimate (mean distance to
    the furthest of the nearest 30 %), or the smallest distance above 0 if the estimate is 0.
    """
    from sklearn.cluster import MeanShift, estimate_bandwidth

    rows, notes = _for_metric(features, spec.metric)
    bandwidth = spec.bandwidth
    if bandwidth is None:
        gaps = distances(rows, "euclidean")
        if not (gaps > 0).any():
            return GroupLabels(
                np.zeros(len(rows), dtype=np.intp), (*notes, "all tasks have the same features")
            )
        bandwidth = float(estimate_bandwidth(rows)) or float(gaps[gaps > 0].min())
        notes = (*notes, f"estimated bandwidth {bandwidth:.4g}")
    return GroupLabels(MeanShift(bandwidth=bandwidth).fit(rows).labels_.astype(np.intp), notes)


def _for_metric(features: NDArray[np.float64], metric: str) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return rows for which Euclidean geometry is equivalent to `metric`."""
    if metric != "cosine":
        return features, ()
    return scale(features, "l2"), (UNIT_ROWS,)
