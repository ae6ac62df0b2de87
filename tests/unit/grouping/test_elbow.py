"""The elbow: the curve, the knee by its formula, and a reason in plain words."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from mtlv.grouping import GroupingSpec, elbow, group, knee

AVERAGE = GroupingSpec(method="agglomerative")
SPREAD = np.random.default_rng(4).normal(size=(18, 5))  # without clear groups
BLOBS, _ = make_blobs([5, 6, 7, 5], n_features=8, cluster_std=0.4, random_state=1)


def test_the_knee_of_clear_groups_is_their_number():
    found = elbow(BLOBS, GroupingSpec(), k_max=10)
    assert found.recommended == 4
    assert found.k == tuple(range(1, 11))
    assert found.silhouette[0] is None
    assert int(np.argmax([value or 0 for value in found.silhouette])) + 1 == 4


@pytest.mark.parametrize(
    "spec",
    [GroupingSpec(metric="cosine", scaling="none"), GroupingSpec(method="kmeans"), AVERAGE, GroupingSpec()],
)
def test_the_curve_holds_what_group_finds(spec):
    found = elbow(SPREAD, spec, k_max=6)
    for k, inertia, silhouette in zip(found.k, found.inertia, found.silhouette, strict=True):
        one = group(SPREAD, spec, k=k)
        assert (one.inertia, one.silhouette) == (inertia, silhouette)
    plain = elbow(SPREAD, GroupingSpec(), k_max=6)
    assert (found.inertia == plain.inertia) == (spec == GroupingSpec())


def test_the_curve_goes_on_while_the_silhouette_rises():
    short = elbow(BLOBS, GroupingSpec(), k_max=3)
    assert short.tried == 3
    assert short.k == (1, 2, 3, 4, 5)  # the silhouette is highest at 4
    assert short.recommended <= short.tried
    assert short.reason.count("k = 3") == 1
    for k, labels, medoids in zip(short.k, short.labels, short.medoids, strict=True):
        one = group(BLOBS, GroupingSpec(), k=k)
        assert (one.labels, one.medoids) == (labels, medoids)


def test_inertia_falls_to_zero_at_one_group_per_task():
    found = elbow(BLOBS, GroupingSpec(), k_max=99)
    assert found.k[-1] == len(BLOBS)
    assert found.inertia[-1] == 0
    assert (np.diff(found.inertia) <= 1e-12).all()
    assert found.silhouette[-1] is None


def test_knee_by_hand():
    # chord from (1, 10) to (5, 2); heights under it, as shares of 8: k=2: 0.25, k=3: 0.375, k=4: 0.1875
    best, below = knee([10.0, 6.0, 3.0, 2.5, 2.0], items=9)
    assert (best, below) == (3, pytest.approx(0.375))


@pytest.mark.parametrize("best", [2, 3, 4, 5])
def test_any_k_between_the_first_and_the_last_may_be_the_knee(best):
    curve = [10.0 - 0.1 * k if k < best else 1.0 - 0.1 * k for k in range(1, 7)]
    assert knee(curve, items=20)[0] == best


@pytest.mark.parametrize(
    ("items", "curve", "best"), [(1, [0.0], 1), (2, [3.0, 0.0], 1), (3, [3.0, 1.0, 0.0], 2)]
)
def test_few_tasks(items, curve, best):
    assert knee(curve, items=items)[0] == best


@pytest.mark.parametrize("curve", [[5.0, 4.0, 3.0, 2.0], [0.0, 0.0, 0.0], [4.0, 1.0]])
def test_a_curve_without_a_knee_gives_the_smallest_split(curve):
    assert knee(curve, items=8)[0] == 2


@pytest.mark.parametrize("items", [1, 2, 3, 5])
def test_few_tasks_have_a_reason(items):
    found = elbow(BLOBS[:items], GroupingSpec(), k_max=10)
    assert found.reason.startswith(f"k = {found.recommended}")
    assert found.recommended == (1 if items < 3 else found.recommended)
    assert items < 3 or found.recommended >= 2


@pytest.mark.parametrize(
    ("features", "k_max", "reason"),
    [
        (np.zeros((1, 3)), 10, "k = 1: with one task there is nothing to group."),
        (BLOBS[:2], 1, "k = 1: with two tasks there is nothing to group."),
        (BLOBS[:2], 10, "k = 1: with two tasks there is nothing to group."),
        (np.ones((4, 3)), 1, "k = 1: the vectors of all 4 tasks are equal, so nothing tells them apart."),
        (BLOBS[:4], 1, "k = 1: no larger k was tried."),
    ],
)
def test_the_reason_for_one_group_is_true(features, k_max, reason):
    assert elbow(features, GroupingSpec(), k_max=k_max).reason == reason


def test_the_reason_gives_the_numbers():
    found = elbow(BLOBS, GroupingSpec(), k_max=10)
    assert f"{found.inertia[3]:.4g}" in found.reason
    assert f"{found.inertia[0]:.4g}" in found.reason
    below = knee(found.inertia, items=len(BLOBS))[1]
    assert found.reason.startswith(
        f"k = 4: the knee of the curve, which lies {below:.0%} of its height below "
    )
    assert "from k = 1 to k = 10. " in found.reason
    assert f"{1 - found.inertia[3] / found.inertia[0]:.0%} lower than with one group" in found.reason
    assert found.reason.endswith("is the highest.")


def test_a_weak_knee_and_a_better_silhouette_elsewhere_are_said():
    even = np.eye(9) + np.random.default_rng(0).normal(0, 0.1, (9, 9))  # all about as far apart
    found = elbow(even, GroupingSpec(scaling="none"), k_max=8)
    k, known = found.recommended, found.silhouette[1:]
    assert 0 < knee(found.inertia, items=9)[1] < 0.1
    best = known.index(max(known)) + 2
    assert best != k
    assert found.reason.startswith(f"k = {k}, a weak choice: the knee of the curve, which lies only ")
    told = f" The silhouette is {found.silhouette[k - 1]:.2f}; the highest is {max(known):.2f} at k = {best}."
    assert found.reason.endswith(told)


@pytest.mark.parametrize("method", ["hdbscan", "meanshift", "random"])
def test_methods_that_find_k_show_the_curve_of_k_medoids(method):
    assert elbow(BLOBS, GroupingSpec(method=method), k_max=5) == elbow(BLOBS, GroupingSpec(), k_max=5)


@pytest.mark.parametrize("method", ["kmeans", "agglomerative"])
def test_methods_that_take_k_have_a_curve_of_their_own(method):
    found = elbow(BLOBS, GroupingSpec(method=method), k_max=10)
    assert found.recommended == 4
