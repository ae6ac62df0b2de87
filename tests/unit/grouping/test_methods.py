"""Properties of every method: a partition, repeatable, k as asked, blind to the order of the items."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.cluster import hierarchy
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, silhouette_score

from mtlv.errors import GroupingError
from mtlv.grouping import Grouping, GroupingSpec, group, random_groups, random_like
from mtlv.grouping.cluster import _place_noise
from mtlv.grouping.distance import distances, silhouette
from mtlv.grouping.result import first_seen
from mtlv.registries import GROUPINGS

VECTORS = [method for method in GROUPINGS if "vectors" in GROUPINGS[method].takes]
FEATURE_METHODS = [method for method in VECTORS if method != "given"]
IN_ANY_ORDER = [method for method in FEATURE_METHODS if method != "random"]  # random draws by position
BLOBS, TRUTH = make_blobs([6, 7, 8], n_features=4, centers=None, cluster_std=0.3, random_state=3)


def features_for(method: str, items: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(3, 3000, size=items) if method == "kde" else rng.normal(size=(items, 6))


@pytest.mark.parametrize("method", FEATURE_METHODS)
@pytest.mark.parametrize("items", [1, 2, 3, 7, 19])
@pytest.mark.parametrize("seed", range(2))
def test_every_task_is_in_exactly_one_group(method, items, seed):
    found = group(features_for(method, items, seed), GroupingSpec(method=method, seed=seed))
    members = [item for one in found.groups() for item in one]
    assert sorted(members) == list(range(items))
    assert all(found.groups())
    assert [found.labels[medoid] for medoid in found.medoids] == list(range(found.k))
    firsts = [one[0] for one in found.groups()]
    assert firsts == sorted(firsts)


@pytest.mark.parametrize("method", FEATURE_METHODS)
def test_the_same_call_gives_the_same_groups(method):
    features = features_for(method, 19, seed=1)
    spec = GroupingSpec(method=method, seed=4)
    assert group(features, spec) == group(features, spec)


@pytest.mark.parametrize("method", [method for method in VECTORS if GROUPINGS[method].takes_k])
@pytest.mark.parametrize("k", [1, 2, 5, 12])
def test_as_many_groups_as_asked(method, k):
    features = features_for(method, 12, seed=2)
    assert group(features, GroupingSpec(method=method), k=k).k == k
    assert group(features, GroupingSpec(method=method, k=k)).k == k
    assert group(features, GroupingSpec(method=method, k=3), k=k).k == k


@pytest.mark.parametrize("method", IN_ANY_ORDER)
def test_the_order_of_the_tasks_does_not_matter(method):
    features = np.repeat([10, 12, 400, 450, 9000], [4, 4, 4, 4, 5]) if method == "kde" else BLOBS
    features = np.asarray(features, dtype=float)
    spec = GroupingSpec(method=method, bandwidth=0.3 if method in ("kde", "meanshift") else None)
    order = np.random.default_rng(0).permutation(len(features))
    k = 3 if GROUPINGS[method].takes_k else None
    straight, mixed = group(features, spec, k=k), group(features[order], spec, k=k)
    assert adjusted_rand_score(np.array(straight.labels)[order], mixed.labels) == 1.0


@pytest.mark.parametrize("method", ["kmedoids", "kmeans", "agglomerative"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_clear_groups_are_found(method, metric):
    directions = np.repeat(np.eye(3), 6, axis=0) + 0.01 * np.random.default_rng(0).normal(size=(18, 3))
    lengths = np.tile([1.0, 9.0, 40.0], 6)[:, None] if metric == "cosine" else 1.0
    found = group(directions * lengths, GroupingSpec(method=method, metric=metric, scaling="none"), k=3)
    assert found.groups() == (tuple(range(6)), tuple(range(6, 12)), tuple(range(12, 18)))


@pytest.mark.parametrize("method", ["kmedoids", "kmeans", "agglomerative"])
def test_scaled_features_are_grouped(method):
    """Unscaled, the second dimension would decide."""
    sides = np.repeat([0.0, 1.0], 8)
    features = np.stack([sides, 1000 * np.tile([0.0, 0.3, 0.35, 0.4], 4)], axis=1)
    found = group(features, GroupingSpec(method=method), k=2)
    assert found.labels == tuple(sides.astype(int))
    by_size = [tuple(np.flatnonzero(features[:, 1] == 0)), tuple(np.flatnonzero(features[:, 1] > 0))]
    assert list(group(features, GroupingSpec(method=method, scaling="none"), k=2).groups()) == by_size


@pytest.mark.parametrize("method", ["kmedoids", "kmeans"])
def test_another_seed_starts_elsewhere(method):
    features = np.random.default_rng(5).normal(size=(30, 6))
    spec = GroupingSpec(method=method, algorithm="alternate", init="random", restarts=1)
    found = {group(features, replace(spec, seed=seed), k=6).labels for seed in range(4)}
    assert len(found) > 1


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("linkage", ["average", "complete", "single"])
def test_linkages_are_those_of_scipy(linkage, metric):
    features = np.random.default_rng(2).normal(size=(20, 4))
    tree = hierarchy.linkage(features, method=linkage, metric=metric)
    expected = first_seen(hierarchy.fcluster(tree, 5, criterion="maxclust"))
    spec = GroupingSpec(method="agglomerative", linkage=linkage, metric=metric, scaling="none")
    assert group(features, spec, k=5).labels == expected


def test_a_bandwidth_is_that_of_the_kernel():
    counts = [10, 12, 400, 450, 9000, 9100]
    wide, narrow = (group(counts, GroupingSpec(method="kde", bandwidth=width)) for width in (50.0, 0.3))
    assert (wide.k, narrow.labels) == (1, (0, 0, 1, 1, 2, 2))
    assert group(BLOBS, GroupingSpec(method="meanshift", bandwidth=50.0)).k == 1
    assert group(BLOBS, GroupingSpec(method="meanshift", bandwidth=1e-6)).k == len(BLOBS)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_hdbscan_never_joins_clear_groups(metric):
    directions = np.repeat(np.eye(3), 6, axis=0) + 0.01 * np.random.default_rng(0).normal(size=(18, 3))
    found = group(directions, GroupingSpec(method="hdbscan", metric=metric, noise="nearest", scaling="none"))
    assert all(len({item // 6 for item in members}) == 1 for members in found.groups())


@pytest.mark.parametrize("linkage", ["average", "complete", "single", "ward"])
def test_every_linkage_finds_the_blobs(linkage):
    found = group(BLOBS, GroupingSpec(method="agglomerative", linkage=linkage), k=3)
    assert adjusted_rand_score(TRUTH, found.labels) == 1.0


@pytest.mark.parametrize("method", ["hdbscan", "meanshift"])
def test_methods_that_find_k_ignore_one_and_say_so(method):
    found = group(BLOBS, GroupingSpec(method=method), k=5)
    assert f"k = 5 was ignored: {method} finds its own" in found.notes
    assert found.labels == group(BLOBS, GroupingSpec(method=method)).labels


def test_auto_takes_the_k_of_the_elbow_and_says_why():
    found = group(BLOBS, GroupingSpec(method="kmedoids"))
    assert found.k == 3
    assert found.notes[-1].startswith("k = 3: the knee of the curve, ")
    assert group(BLOBS, GroupingSpec(method="kmedoids", k_max=2)).k == 2


@pytest.mark.parametrize(("noise", "labels"), [("own_group", [0, 2, 1, 2]), ("nearest", [0, 0, 1, 1])])
def test_the_noise_of_hdbscan_has_a_place(noise, labels):
    places = [0.0, 4.5, 10, 5.5]  # those of noise are nearest to each other
    table = np.abs(np.subtract.outer(places, places))
    placed = _place_noise(np.array([0, -1, 1, -1]), table, noise)
    assert placed.labels.tolist() == labels
    assert placed.notes[0].startswith("HDBSCAN called 2 tasks noise")


def test_where_all_is_noise_there_is_one_group():
    placed = _place_noise(np.array([-1, -1]), np.zeros((2, 2)), "nearest")
    assert (placed.labels.tolist(), placed.notes) == (
        [0, 0],
        ("HDBSCAN called every task noise: they are one group",),
    )


def test_hdbscan_keeps_its_last_cluster():
    found = group(BLOBS, GroupingSpec(method="hdbscan"))
    assert sum(found.sizes) == len(BLOBS)


def test_hdbscan_takes_the_leaves_of_its_tree():
    """Four pairs; the clusters of the tree that last longest would be two of four."""
    places = np.array([0, 1, 2.5, 3.5, 1000, 1001, 1002.5, 1003.5])[:, None]
    assert group(places, GroupingSpec(method="hdbscan")).labels == (0, 0, 1, 1, 2, 2, 3, 3)


@pytest.mark.parametrize("method", ["kmedoids", "agglomerative", "kmeans"])
def test_medoids_and_inertia_by_hand(method):
    line = np.array([0.0, 1, 5, 100, 101, 109])[:, None]
    found = group(line, GroupingSpec(method=method, scaling="none"), k=2)
    assert found.labels == (0, 0, 0, 1, 1, 1)
    assert found.medoids == (1, 4)
    assert found.inertia == pytest.approx(1 + 4 + 1 + 8)


def test_random_has_the_sizes_of_the_k_medoids_groups():
    spec = GroupingSpec(method="random", seed=1)
    sizes = group(BLOBS, replace(spec, method="kmedoids"), k=3).sizes
    found = group(BLOBS, spec, k=3)
    assert sorted(found.sizes) == sorted(sizes)
    assert found.labels != group(BLOBS, replace(spec, seed=2), k=3).labels
    assert "random groups with the sizes that k-medoids finds for k = 3" in found.notes[0]


def test_random_has_the_sizes_of_the_best_partition():
    pairs = [{0, 1}, {2, 3, 4}, {5}]
    gains = np.array([[1.0 if any({i, j} <= p for p in pairs) else -1.0 for i in range(6)] for j in range(6)])
    find = GROUPINGS["random"].search
    found = [find(gains, None, GroupingSpec(method="random", seed=seed)) for seed in range(5)]
    assert {tuple(sorted(each.sizes)) for each in found} == {(1, 2, 3)}
    assert len({each.labels for each in found}) > 1
    assert sorted(find(gains, 2, GroupingSpec(method="random")).sizes) == [3, 3]
    (note,) = found[0].notes
    assert note.startswith("random groups with the sizes of the best partition: ")


@pytest.mark.parametrize("seed", range(5))
def test_random_like_keeps_the_sizes(seed):
    found = random_like([5, 1, 3], seed=seed)
    assert sorted(found.sizes) == [1, 3, 5]
    assert found == random_like([5, 1, 3], seed=seed)


def test_random_groups_are_near_equal():
    assert sorted(random_groups(11, 3, seed=0).sizes) == [3, 4, 4]


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("k", [2, 4, 9])
def test_silhouette_is_that_of_scikit_learn(metric, k):
    rng = np.random.default_rng(k)
    features = rng.normal(size=(15, 5))
    labels = np.concatenate([np.arange(k), rng.integers(0, k, size=15 - k)])
    expected = silhouette_score(features, labels, metric=metric)
    assert silhouette(distances(features, metric), labels) == pytest.approx(expected, abs=1e-12)


def test_silhouette_of_one_group_or_of_single_items_is_not_defined():
    table = distances(np.arange(4.0)[:, None], "euclidean")
    assert silhouette(table, [0, 0, 0, 0]) is None
    assert silhouette(table, [0, 1, 2, 3]) is None
    assert silhouette(np.zeros((3, 3)), [0, 0, 1]) == 0.0


@pytest.mark.parametrize("method", ["kmedoids", "kmeans", "agglomerative", "random"])
def test_k_above_the_number_of_tasks_is_refused(method):
    with pytest.raises(GroupingError, match=r"`grouping.k` must be .* \(got 5\); allowed: 1 to 4"):
        group(np.arange(8.0).reshape(4, 2), GroupingSpec(method=method), k=5)


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_fewer_groups_than_asked_for_are_refused():
    """The first two rows have one direction, so that by cosine there are only two to tell apart."""
    spec = GroupingSpec(method="kmeans", metric="cosine", scaling="none")
    with pytest.raises(GroupingError, match=r"cannot make this many groups \(got 3\)"):
        group(np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]]), spec, k=3)


def test_features_that_are_not_finite_are_refused_with_their_rows():
    features = np.ones((4, 2))
    features[2, 1] = np.nan
    with pytest.raises(
        GroupingError, match=r"`features` of 1 of 4 tasks are not finite numbers \(got rows 2\)"
    ):
        group(features, GroupingSpec(), k=2)


@pytest.mark.parametrize(
    ("features", "spec", "text"),
    [
        ([1, 2, 3], GroupingSpec(metric="cosine"), "`grouping.metric: cosine` needs more than one number"),
        (
            BLOBS,
            GroupingSpec(method="agglomerative", linkage="ward", metric="cosine"),
            "`grouping.linkage: ward`",
        ),
        (
            BLOBS,
            GroupingSpec(method="kde"),
            r"one count each \(got 4 numbers per task\); set `grouping.features:",
        ),
        ([3, -1, 2], GroupingSpec(method="kde"), "got a negative count"),
        (
            BLOBS,
            GroupingSpec(method="hdbscan", min_cluster_size=40),
            r"`grouping.min_cluster_size` .* 2 to 21",
        ),
        (np.zeros((3, 2)), GroupingSpec(method="kmeans", k=2), "tasks with different features for kmeans"),
        (np.zeros((0, 2)), GroupingSpec(), r"a row per task \(got shape \(0, 2\)\)"),
    ],
)
def test_settings_that_cannot_be_are_refused(features, spec, text):
    with pytest.raises(GroupingError, match=text):
        group(features, spec)


def test_a_result_that_is_no_partition_cannot_be_made():
    with pytest.raises(GroupingError, match="groups do not partition the tasks"):
        Grouping((0, 2, 2))
    with pytest.raises(GroupingError, match="groups do not partition the tasks"):
        Grouping((0, -1, 1))
    with pytest.raises(GroupingError, match="a group's medoid must be one of its own tasks"):
        Grouping((0, 0, 1), medoids=(2, 0))
