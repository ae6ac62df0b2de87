"""From features and a k to groups, whatever the method; every result is checked to be a partition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mtlv.errors import GroupingError
from mtlv.grouping import cluster, counts
from mtlv.grouping.control import random_like
from mtlv.grouping.distance import central_items, distances, inertia_of, silhouette
from mtlv.grouping.engines import check_engine, solve
from mtlv.grouping.kmedoids import Indices, build, check_k
from mtlv.grouping.result import Grouping, first_seen, ordered
from mtlv.grouping.scaling import as_features, scale
from mtlv.grouping.spec import METHODS, TAKES_K, GroupingSpec


@dataclass(frozen=True)
class Space:
    """Items to group: raw and scaled features [T, D], and the distances [T, T] of the scaled ones."""

    raw: NDArray[np.float64]
    features: NDArray[np.float64]
    distances: NDArray[np.float64]
    spec: GroupingSpec
    built: Indices | None = None

    @classmethod
    def of(cls, features: ArrayLike, spec: GroupingSpec) -> Space:
        """The space that `spec` describes; refuses features and settings that no method could take."""
        if spec.method not in METHODS:
            raise GroupingError("unknown `grouping.method`", got=spec.method, allowed=", ".join(METHODS))
        if spec.method == "given":
            raise GroupingError("`grouping.method: given` takes names, not features", then="call `given`")
        scaled = scale(features, spec.scaling)
        table = distances(scaled, spec.metric)
        return cls(as_features(features), scaled, table, spec)

    def with_build(self, k_max: int) -> Space:
        """The same, with BUILD's medoids kept for every k up to `k_max`: they are the first k of one list."""
        if self.spec.init != "build" or self.spec.engine != "builtin":
            return self
        return replace(self, built=build(self.distances, k_max))

    def for_curve(self) -> Space:
        """The space of the elbow's curve: by k-medoids where the method finds k itself or draws at random."""
        if self.spec.method in ("kmedoids", "kmeans", "agglomerative"):
            return self
        return replace(self, spec=replace(self.spec, method="kmedoids"))


def group_into(space: Space, k: int | None) -> Grouping:
    """Groups of the items of a space.

    Args:
        space: the items and how to group them.
        k: number of groups; must be none for the methods that find it.
    """
    if k is not None:
        check_k(k, len(space.features))
    if space.spec.method == "kmedoids":
        return _kmedoids(space, _needed(k))
    if space.spec.method == "random":
        return _random(space, _needed(k))
    found = (
        _WITH_K[space.spec.method](space, _needed(k))
        if k is not None
        else _WITHOUT_K[space.spec.method](space)
    )
    if k is not None and len(np.unique(found.labels)) != k:
        raise GroupingError(f"`grouping.method: {space.spec.method}` cannot make this many groups", got=k)
    return _described(space, first_seen(found.labels.tolist()), found.notes)


def _kmedoids(space: Space, k: int) -> Grouping:
    check_engine(space.spec.engine)
    found = solve(space.distances, k, space.spec, built=space.built)
    labels = first_seen(found.labels.tolist())
    return Grouping(
        labels=labels,
        medoids=ordered(found.labels, found.medoids),
        inertia=found.inertia,
        silhouette=silhouette(space.distances, labels),
        iterations=found.iterations,
    )


def _random(space: Space, k: int) -> Grouping:
    """Random groups with the sizes that k-medoids finds for this k: the control of that grouping."""
    sizes = group_into(replace(space, spec=replace(space.spec, method="kmedoids")), k).sizes
    labels = random_like(sizes, seed=space.spec.seed).labels
    note = f"random groups with the sizes that k-medoids finds for k = {k}: {', '.join(map(str, sizes))}"
    return _described(space, labels, (note,))


def _described(space: Space, labels: Sequence[int], notes: tuple[str, ...]) -> Grouping:
    medoids = central_items(space.distances, labels)
    return Grouping(
        labels=tuple(labels),
        medoids=medoids,
        inertia=inertia_of(space.distances, labels, medoids),
        silhouette=silhouette(space.distances, labels),
        notes=notes,
    )


def _needed(k: int | None) -> int:
    if k is None:
        raise GroupingError("this method needs `grouping.k`", allowed=f"a number, for {', '.join(TAKES_K)}")
    return k


_WITH_K: dict[str, Callable[[Space, int], cluster.GroupLabels]] = {
    "kmeans": lambda space, k: cluster.kmeans(space.features, k, space.spec),
    "agglomerative": lambda space, k: cluster.agglomerative(space.features, k, space.spec),
}
_WITHOUT_K: dict[str, Callable[[Space], cluster.GroupLabels]] = {
    "hdbscan": lambda space: cluster.hdbscan(space.features, space.spec),
    "meanshift": lambda space: cluster.meanshift(space.features, space.spec),
    "kde": lambda space: counts.kde(space.raw, space.spec.bandwidth),
}
