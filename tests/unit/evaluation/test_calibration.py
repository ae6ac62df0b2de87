"""Calibration against scikit-learn, SciPy and made-up probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, softmax
from scipy.stats import binomtest
from sklearn.metrics import brier_score_loss

from mtlv.evaluation.calibration import (
    Bin,
    brier_score,
    calibration_error,
    known_pairs,
    reliability,
    squared_errors,
    temperature,
    temperatures,
)
from mtlv.plan import Scores, Task
from mtlv.plan.scores import TaskScores
from mtlv.plan.temperature import at_temperature


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
    assert brier_score(errors, count) == pytest.approx(brier_score_loss(truth, probabilities))
    after = brier_score(*squared_errors(scores(), ["a", "c"], 3.0))
    assert after == pytest.approx(brier_score_loss(truth, at_temperature(probabilities, 3.0)))


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


def test_yes_no_tasks_share_a_temperature_and_classes_have_their_own():
    rng = np.random.default_rng(0)
    found, known = {}, rng.random(9000) < 0.7
    for name, wanted in {"a": 2.0, "b": 2.0, "few": 2.0, "kind": 0.5}.items():
        logits = rng.normal(0, 2, (9000, 3 if name == "kind" else 2))
        truth = (rng.random((9000, 1)) > np.cumsum(softmax(logits, 1), 1)).sum(1)
        outputs = softmax(wanted * logits, 1)
        found[name] = TaskScores(
            outputs if name == "kind" else outputs[:, 1], np.where(known, truth, 1 - truth), known
        )
    found["length"] = TaskScores(rng.random(9000), rng.random(9000), known)
    found["right"] = TaskScores(np.eye(2)[[0, 1]], np.array([0, 1]), np.array([True, True]))
    found["words"] = found["kind"]  # sums of masked words have two axes, too
    validation = Scores((), "validation", (), found)
    tasks = [Task(name) for name in ("a", "b", "few")]
    tasks += [Task(name, "multiclass", classes=("x", "y", "z")) for name in ("kind", "right")]
    tasks += [Task("length", "regression"), Task("words", "mlm")]
    got = temperatures(validation, tasks)
    assert got.keys() == {"a", "b", "few", "kind"}
    assert got["a"] == got["b"] == got["few"] == pytest.approx(2.0, rel=0.05)
    assert got["a"] == temperature(*known_pairs(validation, ["a", "b", "few"]))
    assert got["kind"] == pytest.approx(0.5, rel=0.05)
    assert temperatures(validation, tasks[3:]).keys() == {"kind"}


def test_probabilities_without_errors_or_documents_have_no_temperature():
    for sure in (0.2, 0.1, 0.03, 0.001):
        assert temperature(np.full(100, sure), np.zeros(100, bool)) is None
    assert temperature(np.array([0.2, 0.9]), np.array([False, True])) is None
    assert temperature(np.array([[0.1, 0.6, 0.3]]), np.array([1])) is None
    assert temperature(np.array([[0.1, 0.6, 0.3]] * 9), np.array([1, 1, 2] * 3)) is not None
    assert temperature(np.array([0.9, 0.2]), np.array([False, True])) is None
    assert temperature(np.array([]), np.array([], bool)) is None
    assert temperature(np.array([0.0, 1.0, 1.0, 1.0]), np.array([False, True, True, False])) is not None
