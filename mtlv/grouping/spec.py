"""Settings of a grouping, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Scaling = Literal["minmax", "l2", "none"]
Metric = Literal["euclidean", "cosine"]


@dataclass(frozen=True)
class GroupingSpec:
    """Settings of a grouping, with the names of the config's `grouping` section.

    Attributes:
        method: one of `mtlv.registries.GROUPINGS`.
        k: number of groups, or `auto` for the k at the elbow; for methods that take a k.
        k_max: the largest k that the elbow tries.
        scaling: scaling of the features, see `scale`.
        metric: distance between two items.
        engine: implementation of k-medoids, see `engines`.
        algorithm: search of k-medoids, see `kmedoids`.
        init: first start of k-medoids.
        restarts: total number of starts (k-medoids, k-means, the local search of best); the best result is
            kept.
        linkage: distance between two groups (agglomerative).
        min_cluster_size: minimum number of items in a cluster of HDBSCAN.
        bandwidth: width of the kernel (mean shift, KDE); None estimates it.
        noise: treatment of HDBSCAN's noise points, see `hdbscan`.
        groups: names of each group's tasks (given).
        ancestors: ancestor of each task at `grouping.level` of a hierarchy, by name (parents).
        value: value of a group, from the gains of pairs (best): see `PairMeans` and `PairSums`.
        seed: seed of all random numbers.
    """

    method: str = "kmedoids"
    k: int | Literal["auto"] = "auto"
    k_max: int = 10
    scaling: Scaling = "minmax"
    metric: Metric = "euclidean"
    engine: Literal["builtin", "scikit-learn-extra"] = "builtin"
    algorithm: Literal["fasterpam", "alternate"] = "fasterpam"
    init: Literal["build", "heuristic", "random"] = "build"
    restarts: int = 20
    linkage: Literal["average", "complete", "single", "ward"] = "average"
    min_cluster_size: int = 2
    bandwidth: float | None = None
    noise: Literal["own_group", "nearest"] = "own_group"
    groups: Sequence[Sequence[str]] | None = None
    ancestors: Mapping[str, str] = field(default_factory=dict)
    value: Literal["mean", "sum"] = "mean"
    seed: int = 0
