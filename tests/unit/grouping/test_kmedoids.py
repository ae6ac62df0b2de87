"""k-medoids: scikit-learn-extra's medoids, the optimum of exhaustive search, no worse than PAM."""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from mtlv.errors import GroupingError
from mtlv.grouping.kmedoids import alternate, build, fasterpam, kmedoids, starts
from mtlv.grouping.spec import GroupingSpec

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "integration"))
from sklearn_extra_reference import cases  # noqa: E402 - a script that needs NumPy only

REFERENCE = json.loads((Path(__file__).parent / "data" / "sklearn_extra.json").read_text())
MATRICES = cases()
ROWS = [pytest.param(row, id=f"{row['matrix']} k={row['k']}") for row in REFERENCE["rows"]]


def points(items: int, seed: int = 0, width: int = 3) -> np.ndarray:
    features = np.random.default_rng(seed).normal(size=(items, width))
    return np.linalg.norm(features[:, None] - features, axis=2)


def test_the_matrices_are_those_of_the_reference():
    assert {name: pytest.approx(matrix.sum(), abs=1e-3) for name, matrix in MATRICES.items()} == REFERENCE[
        "sums"
    ]


@pytest.mark.parametrize("row", ROWS)
def test_alternate_gives_the_medoids_of_scikit_learn_extra(row):
    spec = GroupingSpec(algorithm="alternate", init="heuristic")
    found = kmedoids(MATRICES[row["matrix"]], row["k"], spec)
    assert found.medoids.tolist() == row["medoids"]
    assert found.inertia == pytest.approx(row["inertia"], rel=1e-9)


@pytest.mark.parametrize("row", ROWS)
def test_a_few_restarts_are_no_worse_than_pam(row):
    found = kmedoids(MATRICES[row["matrix"]], row["k"])
    assert found.inertia <= row["pam_inertia"] * (1 + 1e-9)


@pytest.mark.parametrize("row", ROWS)
def test_a_few_restarts_are_no_worse_than_the_kmedoids_package(row):
    package = pytest.importorskip("kmedoids", reason="the `kmedoids` package is a test dependency")
    theirs = package.fasterpam(MATRICES[row["matrix"]], row["k"], init="build", random_state=0, n_cpu=1).loss
    found = kmedoids(MATRICES[row["matrix"]], row["k"])
    assert found.inertia <= theirs * (1 + 1e-9)


@pytest.mark.parametrize("items", [5, 8, 11])
@pytest.mark.parametrize("seed", range(4))
def test_restarts_reach_the_optimum_of_exhaustive_search(items, seed):
    matrix = points(items, seed)
    for k in range(1, items + 1):
        best = min(
            matrix[list(chosen)].min(axis=0).sum() for chosen in itertools.combinations(range(items), k)
        )
        assert kmedoids(matrix, k).inertia == pytest.approx(best, abs=1e-9)


def naive_fasterpam(matrix: np.ndarray, start: np.ndarray) -> list[int]:
    """The same search, candidate by candidate, by the definition of the inertia."""
    medoids, quiet, position = [int(medoid) for medoid in start], 0, 0
    while quiet < len(matrix):
        if position not in medoids:
            now = matrix[medoids].min(axis=0).sum()
            costs = [
                matrix[[*medoids[:i], position, *medoids[i + 1 :]]].min(axis=0).sum()
                for i in range(len(medoids))
            ]
            if min(costs) < now - 1e-9:
                medoids[int(np.argmin(costs))], quiet = position, -1
        position, quiet = (position + 1) % len(matrix), quiet + 1
    return sorted(medoids)


@pytest.mark.parametrize(
    ("items", "k", "seed"), [(12, 2, 12), (30, 4, 30), (45, 7, 45), (30, 4, 12), (300, 4, 9)]
)
def test_blocks_make_the_swaps_of_the_search_one_by_one(items, k, seed):
    """In the last two the last swap is found after going round, in blocks of all items and of some."""
    matrix = points(items, seed=seed)
    start = np.arange(k)
    assert fasterpam(matrix, start).medoids.tolist() == naive_fasterpam(matrix, start)


def test_build_by_hand():
    line = np.array([0.0, 1.0, 2.0, 10.0, 11.0])
    matrix = np.abs(line[:, None] - line)
    assert build(matrix, 3).tolist() == [
        2,
        3,
        0,
    ]  # centre 2; then 3 saves 8 + 8; then 0 saves 2 and 1 saves 1 + 1


def test_a_shorter_build_is_the_start_of_a_longer_one():
    matrix = points(40)
    assert build(matrix, 3).tolist() == build(matrix, 12)[:3].tolist()


def test_inertia_is_the_sum_of_distances_not_of_squares():
    matrix = np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])
    found = kmedoids(matrix, 1)
    assert (found.medoids.tolist(), found.inertia) == ([0], 7.0)


def test_of_equal_items_the_lowest_index_is_the_medoid_and_k_groups_are_made():
    found = kmedoids(np.zeros((4, 4)), 2)
    assert found.medoids.tolist() == [0, 1]
    assert found.labels.tolist() == [0, 1, 0, 0]
    assert found.inertia == 0


@pytest.mark.parametrize("algorithm", ["fasterpam", "alternate"])
@pytest.mark.parametrize("init", ["build", "heuristic", "random"])
def test_every_search_repeats_itself_and_makes_k_groups(algorithm, init):
    matrix = points(25)
    options = {"algorithm": algorithm, "init": init, "restarts": 3, "seed": 5}
    one, two = kmedoids(matrix, 6, GroupingSpec(**options)), kmedoids(matrix, 6, GroupingSpec(**options))
    assert one.medoids.tolist() == two.medoids.tolist()
    assert sorted(set(one.labels.tolist())) == list(range(6))
    assert one.labels[one.medoids].tolist() == list(range(6))


def test_more_restarts_are_never_worse():
    matrix = points(60, seed=2)
    few = kmedoids(matrix, 8, GroupingSpec(init="random", restarts=1)).inertia
    assert kmedoids(matrix, 8, GroupingSpec(init="random", restarts=8)).inertia <= few


def test_alternate_from_a_fixed_start_runs_once_as_scikit_learn_extra():
    for algorithm, init, count in (
        ("alternate", "heuristic", 1),
        ("alternate", "random", 10),
        ("fasterpam", "build", 10),
    ):
        spec = GroupingSpec(algorithm=algorithm, init=init, restarts=10)
        assert len(list(starts(points(9), 3, spec))) == count


def test_random_starts_differ_by_number_and_by_seed():
    def begin(seed):
        spec = GroupingSpec(algorithm="alternate", init="random", restarts=3, seed=seed)
        made = starts(points(30), 5, spec)
        return {tuple(start.tolist()) for start in made}

    assert begin(1) == begin(1)
    assert len(begin(1) | begin(2)) == 6


def test_alternate_leaves_a_medoid_whose_items_are_as_near_to_another():
    matrix = np.zeros((3, 3))
    assert alternate(matrix, np.array([0, 1])).medoids.tolist() == [0, 1]


@pytest.mark.parametrize("k", [0, -1, 8])
def test_a_k_out_of_range_is_refused(k):
    with pytest.raises(GroupingError, match=rf"`grouping.k` must be .* \(got {k}\); allowed: 1 to 7"):
        kmedoids(points(7), k)


@pytest.mark.parametrize("items", [9, 60])
def test_build_asks_few_items_again_and_chooses_as_if_it_asked_all(items):
    matrix = np.round(points(items, seed=3), 1)  # with ties
    chosen = [int(matrix.sum(axis=1).argmin())]
    while len(chosen) < items:
        gain = np.maximum(matrix[chosen].min(axis=0) - matrix, 0.0).sum(axis=1)
        gain[chosen] = -1.0
        chosen.append(int(gain.argmax()))
    assert build(matrix, items).tolist() == chosen


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_equal_items_do_not_swap_for_ever(scale):
    features = np.random.default_rng(0).normal(size=(6, 3)) * scale
    matrix = np.linalg.norm(features[:, None] - features, axis=2)[np.arange(80) % 6][:, np.arange(80) % 6]
    for k in (2, 5, 6, 7, 20):
        found = kmedoids(matrix, k, GroupingSpec(restarts=4))
        assert found.inertia == pytest.approx(0, abs=1e-9 * scale) or k < 6
