"""Abstention: risk over coverage by hand, and limits of the error from validation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from mtlv.evaluation.abstention import (
    COVERAGES,
    Decisions,
    decisions_by_task,
    error_limits,
    made_on_test,
    risk_over_coverage,
)
from mtlv.plan import Scores, Task, TaskScores
from mtlv.plan.temperature import confidence, least_confidence


def decisions(confidences, wrong) -> Decisions:
    return Decisions(np.array(confidences, float), np.array(wrong, bool))


def test_the_most_confident_decisions_come_first():
    risk = risk_over_coverage(decisions([0.6, 0.9, 0.8, 0.7], [1, 0, 1, 0]))
    assert risk.tolist() == pytest.approx([0, 1 / 2, 1 / 3, 2 / 4])


@pytest.mark.parametrize("wrong", [[0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
def test_ties_do_not_depend_on_the_order(wrong):
    risk = risk_over_coverage(decisions([0.9, 0.7, 0.7, 0.7], wrong))
    assert risk.tolist() == pytest.approx([0, 1 / 6, 2 / 9, 1 / 4])


def test_a_decision_at_the_threshold_is_the_least_confident():
    both = confidence([0.2, 0.9, 0.1, 0.0, 1.0], threshold=0.2)
    assert both.tolist() == pytest.approx([0.5, 0.72 / 0.74, 0.18 / 0.26, 1, 1])
    assert confidence([0.3, 0.5], threshold=0.5).tolist() == [0.7, 0.5]
    assert confidence([[0.2, 0.5, 0.3]]).tolist() == [0.5]
    assert np.isfinite(confidence([0.0, 1.0], threshold=0.0)).all()


def test_decisions_are_of_labels_and_classes_with_a_target():
    known = np.array([True, True, False, True])
    tasks = {
        "label": TaskScores(np.array([0.3, 0.1, 0.9, 0.8]), np.array([1, 1, 0, 0], np.int8), known),
        "class": TaskScores(np.eye(3)[[0, 2, 1, 1]] * 0.6 + 0.1, np.array([0, 1, 0, 1]), known),
        "number": TaskScores(np.zeros(4), np.zeros(4), known),
    }
    scores = Scores((), "test", ("a", "b", "c", "d"), tasks)
    kinds = [
        Task("label"),
        Task("class", kind="multiclass", classes=("x", "y", "z")),
        Task("number", "regression"),
    ]
    by_task = decisions_by_task(scores, kinds, {"label": 0.3})
    assert by_task.keys() == {"label", "class"}
    assert by_task["label"].wrong.tolist() == [False, True, True]
    assert by_task["label"].confidence[0] == pytest.approx(0.5)
    assert by_task["class"].wrong.tolist() == [False, True, False]
    assert by_task["class"].confidence.tolist() == pytest.approx([0.7] * 3)


def test_bounds_are_exact_binomial_ones():
    rng = np.random.default_rng(0)
    validation = decisions(sure := rng.random(400), rng.random(400) < (1 - sure) / 2)
    limits = error_limits(validation)
    assert len(limits) > 5
    assert limits[0][1] == 0, "of full coverage: everything is decided"
    for bound, least in limits:
        wrong = validation.accepted(least)
        assert binom.cdf(wrong.sum(), wrong.size, bound) == pytest.approx(0.05 / COVERAGES)
    bounds, confidences = zip(*limits, strict=True)
    assert list(bounds) == sorted(bounds, reverse=True)
    assert list(confidences) == sorted(confidences)
    assert least_confidence(limits, bounds[2]) == confidences[2]
    assert least_confidence(limits, bounds[-1] - 1e-9) is None


@pytest.mark.parametrize(("documents", "is_enough"), [(116, False), (117, True)])
def test_few_documents_have_no_limit(documents, is_enough):
    limits = error_limits(decisions(np.linspace(0.5, 1, documents), np.zeros(documents)))
    assert (least_confidence(limits, 0.05) is not None) == is_enough
    assert error_limits(decisions([], [])) == []


def test_without_a_right_decision_nothing_is_bounded():
    limits = error_limits(decisions(np.linspace(0.5, 1, 300), np.ones(300)))
    assert least_confidence(limits, 0.99) is None


def test_bounds_hold_on_other_documents():
    """In 200 draws, the wanted error is passed in at most some 5%, and often most decisions are made."""
    rng = np.random.default_rng(1)
    passed, coverages = 0, []
    for _ in range(200):
        sure = rng.uniform(0.5, 1, 500)
        least = least_confidence(error_limits(decisions(sure, rng.random(500) > sure)), 0.15)
        if least is not None:
            start = max(least, 0.5)
            passed += (1 - start) / 2 > 0.15  # the true error of confidences from `start` to 1
            coverages.append((1 - start) / 0.5)
    assert passed <= 10
    assert np.mean(coverages) > 0.3


def test_tasks_without_a_limit_make_no_decision():
    sure, unsure = (error_limits(decisions([0.9] * count, [0] * count)) for count in (200, 20))
    test = {"a": decisions([0.95, 0.8], [True, False]), "b": decisions([0.95], [False])}
    assert made_on_test({"a": sure, "b": unsure}, test, 0.05).tolist() == [True, False]
    assert made_on_test({"b": unsure}, test, 0.05) is None
