"""Correlations are SciPy's, and 0 where SciPy has none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from mtlv.errors import TrainingError
from mtlv.evaluation.kinds.numbers import mean_ranks, pearson, spearman

# Steps of 1/8: ties are common, and no difference is lost in rounding.
value = st.integers(-40, 40).map(lambda n: n / 8)
sides = st.lists(st.tuples(value, value), min_size=3, max_size=30).map(lambda pairs: np.array(pairs).T)


def metrics(truth, guessed):
    return {"pearson": pearson(truth, guessed), "spearman": spearman(truth, guessed)}


@given(sides)
def test_figures_are_scipys(made):
    assume(all(len(set(side)) > 1 for side in made.tolist()))
    assert metrics(*made) == pytest.approx(
        {"pearson": stats.pearsonr(*made)[0], "spearman": stats.spearmanr(*made)[0]}, abs=1e-12
    )
    assert mean_ranks(made[0]) == pytest.approx(stats.rankdata(made[0]))


@given(sides, st.randoms(use_true_random=False), st.integers(1, 9), value)
def test_order_scale_and_side_do_not_matter(made, random, factor, shift):
    before = metrics(*made)
    assert all(-1 <= figure <= 1 for figure in before.values())
    order = random.sample(range(made.shape[1]), made.shape[1])
    truth, guessed = made[:, order]
    assert metrics(guessed * factor + shift, truth) == pytest.approx(before, abs=1e-9)
    assert metrics(truth, -guessed) == pytest.approx({k: -v for k, v in before.items()}, abs=1e-9)


@pytest.mark.parametrize("guessed", [[0.1, 0.1, 0.1], [3.0, 3.0, 3.0]])
def test_what_does_not_vary_has_no_correlation(guessed):
    assert metrics([1.0, 2.0, 3.0], guessed) == {"pearson": 0.0, "spearman": 0.0}
    assert metrics(guessed, [1.0, 2.0, 3.0]) == {"pearson": 0.0, "spearman": 0.0}


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_very_small_and_large_numbers(scale):
    truth, guessed = [1.0, 2.0, 4.0], np.array([1.0, 3.0, 2.0])
    assert pearson(truth, guessed * scale) == pytest.approx(pearson(truth, guessed))


def test_too_few_documents():
    assert metrics([], []) == {"pearson": 0.0, "spearman": 0.0}
    assert metrics([1.0], [2.0]) == {"pearson": 0.0, "spearman": 0.0}


@pytest.mark.parametrize("metric", [pearson, spearman])
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(metric, wrong):
    with pytest.raises(TrainingError, match="not all finite; lower the learning rate"):
        metric([1.0, 2.0, 3.0], [1.0, wrong, 2.0])


def test_sides_of_different_length_are_refused():
    with pytest.raises(ValueError, match="3 true and 1 predicted"):
        pearson([1.0, 2.0, 3.0], [1.0])


def test_a_small_spread_around_a_large_mean_is_not_lost():
    truth, guessed = np.array([0.1, 0.4, 0.2, 0.9, 0.3]), np.array([0.2, 0.3, 0.1, 0.8, 0.5])
    assert pearson(truth + 1e6, guessed) == pytest.approx(pearson(truth, guessed), rel=1e-6)
