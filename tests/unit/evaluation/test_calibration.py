"""Calibration against scikit-learn, SciPy and made-up probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binomtest
from sklearn.metrics import brier_score_loss

from mtlv.evaluation.calibration import (
    Bin,
    calibration_error,
    known_pairs,
    reliability,
    squared_errors,
    temperature,
)
from mtlv.plan import Scores
from mtlv.plan.scores import TaskScores


def scores() -> Scores:
    """Scores of three tasks for 50 documents; a fifth of the targets is not known."""
    rng = np.random.default_rng(0)
    tasks = {
        name: TaskScores(rng.random(50), rng.integers(0, 2, 50).astype(np.int8), rng.random(50) < 0.8)
        for name in ("a", "b", "c")
    }
    return Scores((), "test", tuple(map(str, range(50))), tasks)


def test_the_brier_score_is_that_of_scikit_learn():
    probabilities, truth = known_pairs(scores(), ["a", "c"])
    assert len(probabilities) == sum(scores().tasks[name].mask.sum() for name in ("a", "c"))
    errors, count = squared_errors(scores(), ["a", "c"])
    assert errors.shape == count.shape == (50,)
    assert count.tolist() == (scores().tasks["a"].mask + 0 + scores().tasks["c"].mask).tolist()
    assert errors.sum() / count.sum() == pytest.approx(brier_score_loss(truth, probabilities))


def test_bins_have_the_mean_probability_and_the_share_of_true_labels():
    probabilities = np.array([0.0, 0.05, 0.1, 0.85, 0.89, 0.9, 1.0, 1.0])
    truth = np.array([False, True, False, True, False, True, True, False])
    found = reliability(probabilities, truth)
    assert [each.count for each in found] == [2, 1, 2, 3]
    assert [each.probability for each in found] == pytest.approx([0.025, 0.1, 0.87, 2.9 / 3])
    assert [each.share for each in found] == pytest.approx([0.5, 0, 0.5, 2 / 3])
    assert calibration_error(found) == pytest.approx((2 * 0.475 + 0.1 + 2 * 0.37 + 3 * 0.3) / 8)


@pytest.mark.parametrize(("hits", "count"), [(0, 7), (3, 7), (20, 20), (57, 200)])
def test_intervals_are_wilsons(hits, count):
    known = binomtest(hits, count).proportion_ci(method="wilson")
    found = Bin(0.5, hits / count, count).interval
    assert (found.low, found.high) == pytest.approx((known.low, known.high), abs=1e-4)


@pytest.mark.parametrize("wanted", [0.5, 1.0, 2.5])
def test_the_temperature_undoes_what_logits_were_multiplied_by(wanted):
    rng = np.random.default_rng(0)
    logits = rng.normal(-1, 2, 40_000)
    truth = rng.random(40_000) < expit(logits)
    assert temperature(expit(wanted * logits), truth) == pytest.approx(wanted, rel=0.04)


def test_probabilities_without_errors_or_documents_have_no_temperature():
    assert temperature(np.array([0.2, 0.9]), np.array([False, True])) is None
    assert temperature(np.array([0.9, 0.2]), np.array([False, True])) is None
    assert temperature(np.array([]), np.array([], bool)) is None
    assert temperature(np.array([0.0, 1.0, 1.0, 1.0]), np.array([False, True, True, False])) is not None
