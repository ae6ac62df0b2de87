"""The rule that calls a run better: seldom by chance, and in the direction of the test that shows it."""

from __future__ import annotations

import numpy as np
import pytest

from mtlv.evaluation.significance import compare_pairs
from mtlv.evaluation.verdict import verdicts

UP = [0.01, 0.02, 0.03, 0.04, 0.05, 0.06]
ONE_FAR_DOWN = [*(0.01 + 0.001 * i for i in range(11)), -0.5]


def of(*differences):
    """The verdicts on pairs of runs with these differences."""
    return verdicts([compare_pairs(each, [0.0] * len(each)) for each in differences])


def share_called_different(n, draw, *, pairs=1, trials=1_000):
    """The share of trials with equal runs in which some pair has a winner."""
    rng = np.random.default_rng(n)
    return np.mean([any(v.sign for v in of(*draw(rng, (pairs, n)))) for _ in range(trials)])


@pytest.mark.parametrize("n", [3, 5, 6, 10])
def test_equal_runs_are_called_different_in_five_percent_of_cases_or_fewer(n):
    assert 0.01 <= share_called_different(n, lambda rng, size: rng.normal(0, 0.02, size)) <= 0.07


def test_so_are_many_pairs_together():
    assert share_called_different(4, lambda rng, size: rng.normal(0, 0.02, size), pairs=5) <= 0.07


@pytest.mark.parametrize("n", [5, 12])
def test_so_are_differences_that_are_not_normal(n):
    assert share_called_different(n, lambda rng, size: rng.laplace(0, 0.02, size)) <= 0.07


def test_one_pair_of_values_and_equal_differences_decide_nothing():
    for differences in ([0.3], [0.1, 0.1, 0.1], [0.0] * 8):
        (found,) = of(differences)
        assert (found.results, found.sign, found.disagree) == (frozenset(), 0, False)


@pytest.mark.parametrize("sign", [1, -1])
def test_both_tests_or_the_only_one_that_can_give_the_direction(sign):
    (both,) = of([sign * x for x in UP])
    assert (both.wilcoxon, both.t, both.sign) == (sign, sign, sign)
    assert not both.disagree
    (t_alone,) = of([sign * x for x in (0.03, 0.031, 0.032)])
    assert (t_alone.wilcoxon, t_alone.t, t_alone.sign) == (None, sign, sign)
    (wilcoxon_alone,) = of([sign * 0.01] * 6)  # without a spread there is no t
    assert (wilcoxon_alone.wilcoxon, wilcoxon_alone.t, wilcoxon_alone.sign) == (sign, None, sign)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_direction_of_wilcoxons_test_is_not_the_means(sign):
    (found,) = of([sign * x for x in ONE_FAR_DOWN])
    assert (found.wilcoxon, found.t) == (sign, 0)
    assert found.disagree
    assert found.sign == 0


def test_tests_that_disagree_call_no_run_better():
    (found,) = of([0.05, 0.06, 0.04, 0.05, 0.07, -0.001, -0.002])
    assert (found.wilcoxon, found.t) == (0, 1)
    assert found.disagree
    assert found.sign == 0


def test_the_correction_counts_every_pair_of_runs():
    clear, doubtful = [0.01, 0.011, 0.012], [0.01, 0.02, 0.03]  # p of t: 0.003 and 0.074
    three = of(clear, doubtful, [-x for x in doubtful])
    assert [found.sign for found in three] == [1, 0, 0]
    assert three[0].tests == 3
    alone, many = of([0.01, 0.02, 0.021])[0], of(*[[0.01, 0.02, 0.021]] * 3)[0]  # p = 0.042
    assert (alone.sign, many.sign) == (1, 0)


def test_wilcoxons_test_keeps_silent_where_the_correction_leaves_it_no_chance():
    one, four = of(UP)[0], of(*[UP] * 4)[0]  # p = 0.031, and 0.125 at best
    assert (one.wilcoxon, four.wilcoxon) == (1, None)
    assert four.t == four.sign == 1
