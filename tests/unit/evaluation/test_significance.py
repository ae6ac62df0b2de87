"""Paired tests: SciPy's numbers, hand calculations, and silence where there is too little to decide."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from mtlv.evaluation.significance import (
    Interval,
    by_fold,
    compare_pairs,
    fewest_pairs,
    holm,
    smallest_p,
    t_interval,
    wilcoxon,
)


def _pairs(n, seed, shift=0.3):
    rng = np.random.default_rng(seed)
    first = rng.normal(0.5, 0.1, n)
    return first, first + rng.normal(shift * 0.1, 0.1, n)


@pytest.mark.parametrize("n", [6, 7, 10, 12, 25, 50])
@pytest.mark.parametrize("seed", range(3))
def test_wilcoxon_is_exact_and_scipys(n, seed):
    first, second = _pairs(n, seed)
    found = compare_pairs(first, second).wilcoxon
    known = stats.wilcoxon(np.round(first - second, 12), method="exact")
    assert found.p == pytest.approx(known.pvalue, rel=1e-10)
    assert found.method == "exact"


@pytest.mark.parametrize("differences", [
    [0.1, 0.1, 0.2, 0.3, -0.1, 0.4, 0.4],
    [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.0],
    [0.1, -0.1, 0.1, -0.1, 0.1, 0.1, 0.0, 0.0, 0.1, 0.1],
])  # fmt: skip
def test_wilcoxon_with_ties_and_zeros_is_the_share_of_all_signs(differences):
    moved = np.array([d for d in differences if d])
    ranks = stats.rankdata(np.abs(moved))
    sums = np.array([np.dot(ranks, signs) for signs in itertools.product((0, 1), repeat=len(moved))])
    above = ranks[moved > 0].sum()
    by_hand = min(1.0, 2 * min((sums <= above).mean(), (sums >= above).mean()))
    assert wilcoxon(differences).p == pytest.approx(by_hand, rel=1e-12)
    scipys = stats.permutation_test(
        (moved,),
        lambda d: stats.rankdata(np.abs(d))[d > 0].sum(),
        permutation_type="samples",
        n_resamples=np.inf,
    )
    assert wilcoxon(differences).p == pytest.approx(scipys.pvalue, rel=1e-10)


@pytest.mark.parametrize(("n", "the_same"), [(8, True), (14, False), (50, False), (51, True)])
def test_with_ties_it_stays_exact_from_14_to_50_pairs_where_scipy_approximates(n, the_same):
    differences = np.array([1.0, 1, 2, -1, 3, 2, -2, 4, 1, 5] * 6)[:n]
    found, scipys = wilcoxon(differences), stats.wilcoxon(differences)
    assert (found.p == pytest.approx(scipys.pvalue, rel=1e-9)) == the_same
    if not the_same:
        assert scipys.pvalue == stats.wilcoxon(differences, method="asymptotic").pvalue
        assert found.method == "exact with ties"


def test_wilcoxon_says_how_it_was_computed():
    assert wilcoxon([1, 2, 3, 4, 5, 6, 0]).method == "exact, 1 equal pair left out"
    assert wilcoxon([1, 1, 3, 4, 5, 6, 0, 0]).method == "exact with ties, 2 equal pairs left out"
    first, second = _pairs(60, 0)
    found = wilcoxon(first - second)
    assert found.method == "normal approximation"
    assert found.p == pytest.approx(stats.wilcoxon(first - second, method="auto").pvalue, rel=1e-12)


def test_rank_biserial_by_hand():
    # ranks 1, 2, 3, 4, 5, 6; the negative one has rank 2: (19 - 2) / 21
    assert wilcoxon([0.1, -0.2, 0.3, 0.4, 0.5, 0.6]).effect == pytest.approx(17 / 21)
    assert wilcoxon([1, 2, 3, 4, 5, 6]).effect == 1.0
    assert wilcoxon([-1, -2, -3, -4, -5, -6]).effect == -1.0


@pytest.mark.parametrize("n", [3, 10, 40])
def test_t_is_scipys_and_d_z_follows_from_it(n):
    first, second = _pairs(n, n)
    found = compare_pairs(first, second)
    known = stats.ttest_rel(first, second)
    assert found.t.p == pytest.approx(known.pvalue, rel=1e-8)
    assert found.t.effect == pytest.approx(known.statistic / np.sqrt(n), rel=1e-8)
    assert found.mean == pytest.approx(np.mean(first - second))


def test_smallest_p_is_what_the_most_extreme_pairs_give():
    for n in range(6, 12):
        assert wilcoxon(np.arange(1, n + 1)).p == pytest.approx(smallest_p(n), rel=1e-12)
    assert smallest_p(10) == 2 / 2**10
    assert smallest_p(0) == smallest_p(1) == 1.0
    assert fewest_pairs(0.05) == 6
    assert smallest_p(fewest_pairs(0.001)) <= 0.001 < smallest_p(fewest_pairs(0.001) - 1)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_too_few_pairs_give_a_reason_and_no_p(n):
    found = wilcoxon(np.arange(1, n + 1))
    assert found.p is None
    assert found.reason == (
        f"{n} pairs are too few for Wilcoxon, whose p cannot be below {smallest_p(n):.3g}"
    )


def test_zeros_do_not_count_as_pairs():
    assert wilcoxon([1, 2, 3, 4, 5, 0, 0, 0]).p is None
    assert wilcoxon([1, 0, 0, 0, 0, 0, 0, 0]).reason.startswith("1 unequal pair is too few")
    assert wilcoxon([1, 2, 3, 4, 5, 6, 0, 0]).p is not None


def test_one_pair_and_equal_runs():
    one = compare_pairs([0.7], [0.6])
    assert (one.n, one.wilcoxon.p, one.t.p, one.interval) == (1, None, None, None)
    assert one.mean == pytest.approx(0.1)
    assert one.t.reason == "one pair is too few for the t-test, which needs 3"
    equal = compare_pairs([0.7] * 8, [0.7] * 8)
    assert equal.wilcoxon.reason == "the runs are equal in every pair"
    assert equal.t.reason == "all differences are equal, so there is no t"
    assert (equal.interval.low, equal.interval.high) == (0.0, 0.0)


def test_differences_that_only_rounding_tells_apart_are_tied():
    found = compare_pairs([0.3, 0.2, 0.4, 0.7, 0.8, 0.9], [0.2, 0.1, 0.3, 0.6, 0.7, 0.8])
    assert found.wilcoxon.method == "exact with ties"
    assert found.t.p is None
    one_down = compare_pairs([0.3, 0.2, 0.5, 0.4, 0.7, 0.9], [0.2, 0.1, 0.6, 0.3, 0.6, 0.8])
    assert one_down.wilcoxon.p == 14 / 64  # all have the rank 3.5


def test_seeds_of_a_fold_are_averaged_and_seeds_of_one_fold_are_not():
    assert by_fold({(0, 0): 0.1, (1, 0): 0.5, (0, 1): 0.2, (1, 1): 0.6, (1, 2): 1.0}) == pytest.approx(
        [0.15, 0.7]
    )
    assert by_fold({(3, 0): 0.1, (3, 1): 0.2}) == [0.1, 0.2]
    assert by_fold({(0, 5): 0.1, (1, 5): 0.2}) == [0.1, 0.2]


def test_seeds_of_few_folds_do_not_make_chance_significant():
    rng, called = np.random.default_rng(0), 0
    for _ in range(500):  # equal runs on 4 folds with 5 seeds: folds differ by more than seeds do
        differences = rng.normal(0, 0.02, (4, 1)) + rng.normal(0, 0.005, (4, 5))
        values = {(f, s): differences[f, s] for f in range(4) for s in range(5)}
        called += compare_pairs(by_fold(values), [0.0] * 4).t.p <= 0.05
    assert 0.02 <= called / 500 <= 0.07


@pytest.mark.parametrize("n", [3, 10])
def test_the_interval_is_students(n):
    first, second = _pairs(n, n)
    known = stats.ttest_rel(first, second).confidence_interval(0.95)
    found = compare_pairs(first, second).interval
    assert (found.low, found.high) == (pytest.approx(known.low), pytest.approx(known.high))


def test_an_interval_knows_whether_zero_is_outside():
    assert Interval(0.1, 0.2).without_zero
    assert Interval(-0.2, -0.1).without_zero
    assert not Interval(-0.2, 0.1).without_zero
    assert not Interval(0.0, 0.1).without_zero
    assert not Interval(-0.1, 0.0).without_zero


def test_two_differences_that_happen_to_be_nearly_equal_show_nothing():
    found = compare_pairs([0.8132, 0.7132], [0.8, 0.69999])
    assert (found.n, found.t.p, found.interval) == (2, None, None)
    assert found.t.reason == "2 pairs are too few for the t-test, which needs 3"


def test_no_interval_of_few_and_one_of_no_width_of_equal_differences():
    assert t_interval([0.1]) is None
    assert t_interval([0.1, 0.1]) is None
    assert t_interval([0.25, 0.25, 0.25]) == Interval(0.25, 0.25)


def test_swapping_the_runs_turns_signs_only():
    first, second = _pairs(9, 4)
    one, other = compare_pairs(first, second), compare_pairs(second, first)
    assert (one.higher, one.lower) == (other.lower, other.higher)
    assert one.higher == (first > second).sum()
    assert one.wilcoxon.p == pytest.approx(other.wilcoxon.p)
    assert one.t.p == pytest.approx(other.t.p)
    assert one.wilcoxon.effect == pytest.approx(-other.wilcoxon.effect)


def test_pairs_must_match():
    with pytest.raises(ValueError, match="cannot pair 2 with 1"):
        compare_pairs([1, 2], [1])
    with pytest.raises(ValueError, match="cannot pair 0"):
        compare_pairs([], [])


def test_holm_by_hand():
    # sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1 = 0.04, 0.06, 0.06, 0.04 -> never below the one before
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.5, 0.6]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []


def test_holm_leaves_empty_places_out():
    assert holm([None, 0.01, None, 0.02]) == [None, pytest.approx(0.02), None, pytest.approx(0.02)]


def test_holm_rejects_what_the_step_down_procedure_rejects():
    rng = np.random.default_rng(0)
    for _ in range(200):
        p = rng.random(8) ** 3
        rejected = np.zeros(8, bool)
        for i, place in enumerate(np.argsort(p)):
            if p[place] > 0.05 / (8 - i):
                break
            rejected[place] = True
        assert [value <= 0.05 for value in holm(p.tolist())] == rejected.tolist()


@pytest.mark.parametrize("n", [7, 30, 80])
def test_zeros_change_neither_p_nor_the_effect(n):
    moved = np.random.default_rng(n).normal(0.3, 1.0, n)
    alone, beside = wilcoxon(moved), wilcoxon([0.0, *moved[:3], 0.0, *moved[3:], 0.0])
    assert (beside.p, beside.effect, beside.least) == (alone.p, alone.effect, alone.least)
    assert beside.p == pytest.approx(stats.wilcoxon(moved).pvalue, rel=1e-9)
    assert wilcoxon([0.0] * 4 + [0.1, 0.2, 0.3]).p is None, "three unequal pairs decide nothing"
    assert wilcoxon([0.0] * n).p is None
