"""How tasks are to be grouped, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Scaling = Literal["minmax", "l2", "none"]
Metric = Literal["euclidean", "cosine"]


@dataclass(frozen=True)
class GroupingSpec:
    """Settings of a grouping; the same names as the config's `grouping` section.

    Attributes:
        method: one of `mtlv.registries.GROUPINGS`.
        k: number of groups, or `auto` for the one at the elbow; for methods that take a k.
        k_max: the largest k that the elbow tries.
        scaling: what is done to the features first, see `scale`.
        metric: distance between two items.
        engine: who computes k-medoids, see `engines`.
        algorithm: k-medoids' search, see `kmedoids`.
        init: k-medoids' first start.
        restarts: starts in all (k-medoids, k-means), of which the best is kept.
        linkage: distance between two groups (agglomerative).
        min_cluster_size: fewest items that HDBSCAN calls a cluster.
        bandwidth: width of the kernel (mean shift, KDE); none = estimated.
        noise: where HDBSCAN's noise points go, see `hdbscan`.
        seed: of every random draw.
    """

    method: str = "kmedoids"
    k: int | Literal["auto"] = "auto"
    k_max: int = 10
    scaling: Scaling = "minmax"
    metric: Metric = "euclidean"
    engine: Literal["builtin", "kmedoids", "scikit-learn-extra"] = "builtin"
    algorithm: Literal["fasterpam", "alternate"] = "fasterpam"
    init: Literal["build", "heuristic", "random"] = "build"
    restarts: int = 20
    linkage: Literal["average", "complete", "single", "ward"] = "average"
    min_cluster_size: int = 2
    bandwidth: float | None = None
    noise: Literal["own_group", "nearest"] = "own_group"
    seed: int = 0
