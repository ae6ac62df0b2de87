"""Grouping methods: each returns groups from features and a k; every result is checked to be a partition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mtlv.errors import GroupingError
from mtlv.grouping import cluster, counts
from mtlv.grouping.distance import central_items, distances, inertia_of, silhouette
from mtlv.grouping.engines import solve
from mtlv.grouping.group_values import GroupValue, PairMeans, PairSums
from mtlv.grouping.kmedoids import Indices, build, check_k
from mtlv.grouping.partition import best_partition
from mtlv.grouping.result import Grouping, first_seen, order_medoids
from mtlv.grouping.scaling import as_features, scale
from mtlv.grouping.spec import GroupingSpec
from mtlv.grouping.without_features import groups_by_ancestor, random_groups, random_like, user_groups
from mtlv.registries import GROUPINGS


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
        """Return the space for `spec`; raise an error if no method supports the features."""
        scaled = scale(features, spec.scaling)
        table = distances(scaled, spec.metric)
        return cls(as_features(features), scaled, table, spec)

    def with_build(self, k_max: int) -> Space:
        """Return a copy that also has BUILD's medoids for every k up to `k_max`: the first k of one list."""
        if self.spec.init != "build" or self.spec.engine != "builtin":
            return self
        return replace(self, built=build(self.distances, k_max))

    def for_curve(self) -> Space:
        """Return the space of the elbow's curve: for k-medoids if the method determines k or is random."""
        if GROUPINGS[self.spec.method].own_curve:
            return self
        return replace(self, spec=replace(self.spec, method="kmedoids"))


Find = Callable[[Space, int | None], Grouping | cluster.GroupLabels]
Gains = GroupValue | NDArray[np.float64]
Search = Callable[[Gains, int | None, GroupingSpec], Grouping]
OfNames = Callable[[GroupingSpec, Sequence[str]], Grouping]
Kind = Literal["vectors", "affinity", "group values"]
"""What a feature is: a vector of each task [T, D], what each task gains from each other [T, T] (row: the task
that receives, column: the one that gives), or a `GroupValue`."""


@dataclass(frozen=True)
class GroupingMethod:
    """A method of `grouping.method`.

    Args:
        find: for a method that takes vectors: function of (space, k) that returns the group of each item. k
            is None for methods without a k.
        takes_k: whether it makes `grouping.k` groups; other methods determine the number of groups.
        own_curve: whether the elbow's curve uses this method; otherwise it uses k-medoids on the same
            distances.
        search: for a method that takes affinities or values of groups: function of (gains, k or None to
            choose it, spec) that returns the groups and, as their notes, how they were found.
        of_names: for a method that takes no features: function of (spec, names of all tasks) that returns the
            groups and, as their note, the reason for their number.
        random: whether groups are random: a control, which no conclusion recommends.
        title: a line for users.
    """

    find: Find | None = None
    takes_k: bool = False
    own_curve: bool = False
    search: Search | None = None
    of_names: OfNames | None = None
    random: bool = False
    title: str = ""

    @property
    def takes(self) -> tuple[Kind, ...]:
        """Kinds of features that it takes."""
        vectors: tuple[Kind, ...] = () if self.find is None else ("vectors",)
        return vectors if self.search is None else (*vectors, "affinity", "group values")


def group_into(space: Space, k: int | None) -> Grouping:
    """Group the items of a space.

    Args:
        space: the items and how to group them, by a method that takes vectors.
        k: number of groups; must be None for methods that determine it.
    """
    method, name = GROUPINGS[space.spec.method], space.spec.method
    if k is not None:
        check_k(k, len(space.features))
    assert method.find is not None, f"{name} takes no vectors"
    result = method.find(space, k)
    if isinstance(result, Grouping):
        return result
    if k is not None and len(np.unique(result.labels)) != k:
        raise GroupingError(f"`grouping.method: {name}` cannot make this many groups", got=k)
    return _describe(space, first_seen(result.labels.tolist()), result.notes)


def _kmedoids(space: Space, k: int | None) -> Grouping:
    assert k is not None
    result = solve(space.distances, k, space.spec, built=space.built)
    labels = first_seen(result.labels.tolist())
    return Grouping(
        labels=labels,
        medoids=order_medoids(result.labels, result.medoids),
        inertia=result.inertia,
        silhouette=silhouette(space.distances, labels),
    )


def _random(space: Space, k: int | None) -> Grouping:
    """Return random groups with the sizes that k-medoids finds for this k, as a control."""
    like = group_into(replace(space, spec=replace(space.spec, method="kmedoids")), k)
    grouping = _shuffle(like, space.spec.seed, f"that k-medoids finds for k = {k}")
    return _describe(space, grouping.labels, grouping.notes)


def _shuffle(like: Grouping, seed: int, of: str) -> Grouping:
    note = f"random groups with the sizes {of}: {', '.join(map(str, like.sizes))}"
    return replace(random_like(like.sizes, seed=seed), notes=(note,))


def _describe(space: Space, labels: Sequence[int], notes: tuple[str, ...]) -> Grouping:
    medoids = central_items(space.distances, labels)
    return Grouping(
        labels=tuple(labels),
        medoids=medoids,
        inertia=inertia_of(space.distances, labels, medoids),
        silhouette=silhouette(space.distances, labels),
        notes=notes,
    )


VALUES = {"mean": PairMeans, "sum": PairSums}


def _best(gains: Gains, k: int | None, spec: GroupingSpec) -> Grouping:
    value = gains if isinstance(gains, GroupValue) else VALUES[spec.value](gains)
    partition = best_partition(value, k=k, starts=spec.restarts, seed=spec.seed)
    return Grouping(partition.labels, notes=(partition.note, *([value.note] if value.note else [])))


def _random_even(spec: GroupingSpec, names: Sequence[str]) -> Grouping:
    if spec.k == "auto":
        raise GroupingError("`grouping.method: random_even` needs `grouping.k`", allowed="a number")
    grouping = random_groups(len(names), spec.k, seed=spec.seed)
    return replace(
        grouping, notes=(f"k = {spec.k} is set; groups are random, of sizes as equal as possible",)
    )


kmedoids = GroupingMethod(
    _kmedoids, takes_k=True, own_curve=True, title="k-medoids on distances between tasks"
)
kmeans = GroupingMethod(
    lambda space, k: cluster.kmeans(space.features, k or 1, space.spec),
    takes_k=True,
    own_curve=True,
    title="k-means of vectors",
)
agglomerative = GroupingMethod(
    lambda space, k: cluster.agglomerative(space.features, k or 1, space.spec),
    takes_k=True,
    own_curve=True,
    title="agglomerative clustering by `grouping.linkage`",
)
hdbscan = GroupingMethod(
    lambda space, _: cluster.hdbscan(space.features, space.spec), title="HDBSCAN: dense regions of vectors"
)
meanshift = GroupingMethod(
    lambda space, _: cluster.meanshift(space.features, space.spec),
    title="mean shift: dense regions of vectors",
)
kde = GroupingMethod(
    lambda space, _: counts.kde(space.raw, space.spec.bandwidth),
    title="label counts, divided where a kernel density estimate is lowest",
)
given_groups = GroupingMethod(
    of_names=lambda spec, names: user_groups(spec.groups or (), names),
    title="the groups of `grouping.groups`",
)
parents = GroupingMethod(
    of_names=lambda spec, names: groups_by_ancestor(spec.ancestors, names),
    title="labels with the same ancestor at `grouping.level` of `data.parents`",
)
random = GroupingMethod(
    _random,
    takes_k=True,
    search=lambda gains, k, spec: _shuffle(_best(gains, k, spec), spec.seed, "of the best partition"),
    random=True,
    title="random groups of the sizes that kmedoids, or best, finds: the control for any claim",
)
random_even = GroupingMethod(
    of_names=_random_even,
    takes_k=True,
    random=True,
    title="random groups of sizes as equal as possible, without features",
)
best = GroupingMethod(
    takes_k=True, search=_best, title="the best partition by affinities or values of groups"
)
