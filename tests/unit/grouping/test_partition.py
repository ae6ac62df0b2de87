from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest

from mtlv.errors import GroupingError
from mtlv.grouping import (
    GroupingSpec,
    GroupValue,
    ListedValues,
    PairMeans,
    PairSums,
    Partition,
    best_partition,
)
from mtlv.grouping import partition as search
from mtlv.grouping.local_search import local_search
from mtlv.registries import GROUPINGS

# Inter-task affinities of TAG as its authors published them (google-research, tag/network_selection,
# Apache-2.0), a row per task that receives; of Taskonomy: segmentation, depth, normals, keypoints, edges.
TASKONOMY = np.array(
    [
        [0, 0.1154, 0.0489, 0.0045, 0.0088],
        [0.4136, 0, 0.2914, 0.0135, 0.0740],
        [0.1398, 0.2210, 0, 0.0105, 0.0765],
        [0.0211, 0.0134, 0.0107, 0, 0.6897],
        [0.0567, 0.0367, 0.0360, 0.3037, 0],
    ]
)
CELEBA = np.array(
    [
        [0, -83.335, -86.052, -82.421, -81.974, -86.024, -49.038, -87.371, -86.770],
        [-188.157, 0, -184.529, -147.502, -189.465, -190.998, -185.285, -190.658, -189.419],
        [-121.054, -109.584, 0, -106.022, -122.622, -124.403, -117.204, -120.556, -123.259],
        [-143.721, -112.179, -139.848, 0, -145.427, -146.783, -142.397, -146.299, -146.227],
        [-85.532, -92.212, -95.750, -91.741, 0, -65.427, -45.951, -98.599, -95.683],
        [-30.223, -32.697, -34.784, -33.475, -0.840, 0, -15.272, -35.207, -34.370],
        [-109.479, -147.502, -152.395, -148.489, -127.316, -147.136, 0, -157.477, -156.158],
        [-74.979, -74.249, -72.049, -73.832, -76.452, -76.498, -75.211, 0, -77.004],
        [-109.371, -100.850, -113.525, -110.645, -110.264, -116.102, -106.512, -119.352, 0],
    ]
)


def normal_means() -> ListedValues:
    """Mean gains of all groups of the toy with a closed answer.

    Task t has n points around c in the plane (variance 1 in each direction), and a group learns one weighted
    mean: the risk of a task is 2 / (points of the group) + the squared distance to the group's centre; alone
    2 / n.
    """
    centres = np.array([(0, 0), (0.2, 0), (0, 0.2), (3, 0), (3.2, 0), (3, 0.2), (0, 3), (0.2, 3)])
    points = np.array([4, 8, 16, 4, 8, 16, 4, 32])
    values = {}
    for size in range(1, 9):
        for group in map(list, combinations(range(8), size)):
            own = points[group]
            away = ((np.average(centres[group], axis=0, weights=own) - centres[group]) ** 2).sum(axis=1)
            values[tuple(group)] = float((2 / own - 2 / own.sum() - away).sum() / 8)
    return ListedValues(values, 8)


def partitions(items: int) -> Iterator[tuple[int, ...]]:
    """All partitions of items, as labels."""
    if items == 0:
        yield ()
        return
    for labels in partitions(items - 1):
        yield from ((*labels, group) for group in range(max(labels, default=-1) + 2))


def value_of(value: GroupValue, labels: tuple[int, ...]) -> float:
    groups = np.array([np.array(labels) == group for group in set(labels)])
    return float(value.of(groups).sum())


def best_of_all(value: GroupValue, k: int | None) -> float:
    every = [labels for labels in partitions(value.items) if k in (None, max(labels) + 1)]
    return max(value_of(value, labels) for labels in every)


def random_gains(seed: int, items: int = 8) -> np.ndarray:
    return np.random.default_rng(seed).normal(-0.3, 1, size=(items, items))


def test_the_published_affinities_of_taskonomy() -> None:
    value = PairMeans(TASKONOMY, alone=-np.inf)
    assert best_partition(value, k=1).value / 5 == pytest.approx(0.1293, abs=5e-5)
    for k in (2, None):
        found = best_partition(value, k=k)
        assert found.labels == (0, 0, 0, 1, 1)
        assert found.value / 5 == pytest.approx(0.3217, abs=5e-5)
        assert found.proven
    with pytest.raises(GroupingError, match=r"do not make a partition of the tasks \(got k = 3\)"):
        best_partition(value, k=3)


@pytest.mark.parametrize(("k", "mean"), [(2, -99.5334), (3, -93.2423), (4, -88.5931)])
def test_the_published_affinities_of_celeba(k: int, mean: float) -> None:
    found = best_partition(PairMeans(CELEBA, alone=-np.inf), k=k)
    assert found.value / 9 == pytest.approx(mean, abs=1e-3)
    assert min(np.bincount(found.labels)) > 1


@pytest.mark.parametrize(
    ("k", "mean"), [(1, -3.6827), (2, -1.2208), (3, 0.2025), (None, 0.2025), (4, 0.1772), (5, 0.1519)]
)
def test_the_toy_with_a_closed_answer(k: int | None, mean: float) -> None:
    found = best_partition(normal_means(), k=k)
    assert found.value == pytest.approx(mean, abs=5e-5)
    if k in (3, None):
        assert found.labels == (0, 0, 0, 1, 1, 1, 2, 2)


def test_the_gains_of_pairs_find_the_groups_of_the_toy() -> None:
    toy = normal_means()
    gains = np.zeros((8, 8))
    for t, u in combinations(range(8), 2):  # the value of a pair, half each; only their sum counts
        gains[t, u] = gains[u, t] = toy.of(np.isin(np.arange(8), (t, u))[None])[0] / 2
    assert best_partition(PairMeans(gains)).labels == (0, 0, 0, 1, 1, 1, 2, 2)


@pytest.mark.parametrize("kind", [PairMeans, PairSums])
@pytest.mark.parametrize("k", [None, 1, 3, 8])
@pytest.mark.parametrize("alone", [0.0, 0.7, -np.inf])
def test_dynamic_programming_is_as_good_as_all_partitions(
    kind: type[PairSums], k: int | None, alone: float
) -> None:
    for seed in range(4):
        value = kind(random_gains(seed), alone)
        best = best_of_all(value, k)
        if best == -np.inf:
            continue
        found = best_partition(value, k=k)
        assert found.value == pytest.approx(best)
        assert found.value == pytest.approx(value_of(value, found.labels))
        assert k in (None, max(found.labels) + 1)


@pytest.mark.parametrize("k", [None, 3, 4])
def test_the_program_of_measured_groups_is_as_good_as_dynamic_programming(
    monkeypatch: pytest.MonkeyPatch, k: int | None
) -> None:
    rng = np.random.default_rng(0)
    values = {
        tuple(np.flatnonzero(group)): rng.normal() for group in rng.random((60, 8)) < 0.35 if group.any()
    }
    value = ListedValues(values, 8)
    exact = best_partition(value, k=k)
    monkeypatch.setattr(search, "MOST", 7)
    found = best_partition(value, k=k)
    assert found.proven
    assert (found.labels, found.value) == (exact.labels, pytest.approx(exact.value))
    with pytest.raises(GroupingError, match="measure more groups"):
        best_partition(ListedValues({(0, 1): 1.0, (1, 2): 1.0, (0, 2): 1.0}, 3), k=2)


@pytest.mark.parametrize("kind", [PairMeans, PairSums])
@pytest.mark.parametrize("k", [None, 4])
@pytest.mark.parametrize("alone", [0.0, -np.inf])
def test_local_search_is_as_good_as_dynamic_programming(
    kind: type[PairSums], k: int | None, alone: float
) -> None:
    for seed in range(3):
        value = kind(random_gains(seed, 12), alone)
        labels, reached = local_search(value, k, starts=50, seed=0)
        assert value_of(value, labels) == pytest.approx(best_partition(value, k=k).value)
        assert 1 <= reached <= 50
        assert k in (None, max(labels) + 1)


def test_local_search_takes_any_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MOST", 7)
    toy = normal_means()
    monkeypatch.setattr(ListedValues, "program", lambda *_: None)
    found = best_partition(toy)
    assert found.labels == (0, 0, 0, 1, 1, 1, 2, 2)
    assert not found.proven
    assert "of 50 random starts found this value" in found.how
    assert best_partition(toy, seed=0) == best_partition(toy, seed=0)


def test_a_local_search_counts_the_starts_that_reach_its_value() -> None:
    flat = PairSums(np.zeros((6, 6)))
    assert local_search(flat, None, starts=7, seed=0)[1] == 7
    hard = PairMeans(random_gains(3, 12))
    assert local_search(hard, None, starts=50, seed=0)[1] < 50


@pytest.mark.parametrize("kind", [PairMeans, PairSums])
@pytest.mark.parametrize("alone", [0.0, 0.5, -np.inf])
def test_values_after_a_task_joined_or_left(kind: type[PairSums], alone: float) -> None:
    value = kind(random_gains(0, 6), alone)
    groups = np.random.default_rng(1).random((9, 6)) < 0.5
    groups[0], groups[1] = False, np.arange(6) == 2
    np.testing.assert_allclose(value.toggled(groups), GroupValue.toggled(value, groups), atol=1e-12)


def test_means_and_sums_of_asymmetric_gains() -> None:
    gains = np.array([[9, 2, 4], [1, 9, 0], [-1, 3, 9]])
    groups = np.array([[True, True, True], [True, False, True], [False, True, False], [False, False, False]])
    assert PairMeans(gains, alone=0.5).of(groups).tolist() == [4.5, 3.0, 0.5, 0.0]
    assert PairSums(gains, alone=0.5).of(groups).tolist() == [9.0, 3.0, 0.5, 0.0]


def test_the_method_best_takes_gains_or_values_of_groups_and_no_vectors() -> None:
    best, gains = GROUPINGS["best"], np.array([[0, 3, 1.0], [3, 0, 1], [1, 1, 0]])
    assert best.takes == ("affinity", "group values")
    for value, kind in (("mean", PairMeans), ("sum", PairSums)):
        found = best.search(gains, 1, GroupingSpec(value=value))
        assert found.notes == (best_partition(kind(gains), k=1).note,)
    assert best.search(normal_means(), None, GroupingSpec()).labels == (0, 0, 0, 1, 1, 1, 2, 2)


def test_one_task_is_one_group() -> None:
    assert best_partition(PairMeans([[0.0]])) == Partition(
        (0,), 0.0, "dynamic programming over all groups", proven=True
    )


def test_the_note_says_how_sure_it_is() -> None:
    assert best_partition(PairMeans(TASKONOMY)).note == (
        "these groups have the value 1.608, by dynamic programming over all groups; no partition is better"
    )
    assert Partition((0,), 1.0, "local search", proven=False).note.endswith("; a better one may exist")


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: PairMeans([[0, 1]]), r"square matrix, a row per task \(got shape \(1, 2\)\)"),
        (lambda: PairMeans([[0, np.nan], [1, 0]]), r"must be finite numbers \(got not so at \[\[0, 1\]\]\)"),
        (lambda: ListedValues({(0,): np.inf}, 1), r"must be finite numbers \(got \[inf\]\)"),
        (lambda: ListedValues({(0, 2): 1.0}, 3), r"in no group that has a value \(got \[1\]\)"),
        (lambda: best_partition(PairMeans(np.zeros((3, 3))), k=4), r"`grouping.k`.*got 4"),
        (lambda: best_partition(_Wrong()), "must be numbers, or -inf"),
    ],
)
def test_wrong_values_are_refused(make, text: str) -> None:
    with pytest.raises(GroupingError, match=text):
        make()


class _Wrong(GroupValue):
    items = 2

    def of(self, groups: np.ndarray) -> np.ndarray:
        return np.where(groups.sum(axis=1) == 2, np.nan, 0.0)
