"""Each kind's scores become its figures, of the documents that have a target."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import pearsonr

from mtlv.data.targets import spans_column
from mtlv.errors import PlanError
from mtlv.evaluation.metrics import evaluate
from mtlv.evaluation.mixed import MixedMetrics, evaluate_all
from mtlv.evaluation.scoring import (
    SCORING,
    all_need_thresholds,
    main_figure,
    task_figures,
    tasks_with_threshold,
)
from mtlv.plan import Scores, Task, TaskScores
from mtlv.plan.spans import Span
from tests.unit.data.test_main_metrics import MADE

KNOWN = np.array([True, True, True, False])


def test_classes() -> None:
    task = Task(
        "r", "multiclass", classes=("false", "a", "b"), negative=("false",), main_metric="f1_micro_positive"
    )
    outputs = np.array([[0.1, 0.8, 0.1], [0.2, 0.3, 0.5], [0.9, 0.1, 0.0], [0, 0, 1]])
    found = task_figures(task, TaskScores(outputs, np.array([1, 1, 0, 0]), KNOWN))
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert main_figure(task, found) == pytest.approx(0.5)  # one of two positives is right, two are predicted


def test_without_a_negative_class_there_is_no_such_figure() -> None:
    task = Task("r", "multiclass", classes=("a", "b"), main_metric="f1_micro_positive")
    found = task_figures(task, TaskScores(np.eye(2), np.array([0, 1]), np.ones(2, bool)))
    with pytest.raises(
        PlanError, match=r"no metric `f1_micro_positive`; allowed: accuracy, f1_micro, f1_macro"
    ):
        main_figure(task, found)


def test_numbers() -> None:
    truth, outputs = np.array([0.0, 1.0, 3.0, 9.0]), np.array([0.1, 0.9, 2.0, -9.0])
    found = task_figures(Task("s", "regression", main_metric="pearson"), TaskScores(outputs, truth, KNOWN))
    assert found["pearson"] == pytest.approx(pearsonr(truth[:3], outputs[:3])[0])


def test_spans() -> None:
    gold = [(Span(0, 2, "X"),), (Span(1, 2, "Y"),), (), (Span(0, 9, "X"),)]
    predicted = [(Span(0, 2, "X"),), (Span(1, 3, "Y"),), (Span(0, 1, "X"),), ()]
    task = Task("n", "tagging", classes=("X", "Y"), main_metric="entity_f1")
    found = task_figures(task, TaskScores(spans_column(predicted), spans_column(gold), KNOWN))
    assert found["entity_f1"] == pytest.approx(2 * 1 / (3 + 2))
    assert (found["entity_precision"], found["entity_recall"]) == pytest.approx((1 / 3, 1 / 2))
    assert found["word_f1_Y"] == pytest.approx(2 * 1 / (2 + 1))


def test_what_has_no_target_is_refused() -> None:
    scores = TaskScores(np.zeros(2), np.zeros(2), np.zeros(2, bool))
    with pytest.raises(PlanError, match="no document has a target of task `s`"):
        task_figures(Task("s", "regression"), scores)


def test_yes_no_tasks_have_areas_without_a_threshold() -> None:
    own = TaskScores(np.array([0.2, 0.9, 0.4, 0.8]), np.array([1, 0, 1, 1]), KNOWN)
    found = task_figures(Task("b"), own)
    assert found == {"average_precision": pytest.approx((1 / 2 + 2 / 3) / 2), "roc_auc": 0.0}


@pytest.mark.parametrize("kind", SCORING)
def test_every_kind_states_if_it_needs_a_threshold_and_what_is_watched_without_one(kind: str) -> None:
    mains = {"multiclass": "accuracy", "regression": "pearson", "tagging": "entity_f1"}
    mains |= {"mlm": "piece_accuracy"}
    task = Task("t", kind, classes=("a", "b"), main_metric=mains.get(kind, "f1"))
    outputs, targets = MADE[kind](task)
    scores = Scores(("u",), "test", ("x", "y"), {"t": TaskScores(outputs, targets, np.ones(2, bool))})
    watched = SCORING[kind].epoch_metric(task)
    found = evaluate_all(scores, [task], {"t": 0.5})
    assert watched == mains.get(kind, "average_precision")
    assert task_figures(task, scores.tasks["t"])[watched] == found.tasks["t"].as_dict()[watched]
    assert found.tasks["t"].support == (1 if SCORING[kind].counts_positive else 2)
    assert ("threshold" in found.tasks["t"].as_dict()) == SCORING[kind].needs_threshold
    assert tasks_with_threshold([task]) == (["t"] if SCORING[kind].needs_threshold else [])
    assert ("f1_macro" in found.plan.as_dict()) == all_need_thresholds([task])


def test_tasks_are_evaluated_jointly_only_if_all_need_a_threshold() -> None:
    yes, number = Task("a"), Task("s", "regression")
    assert all_need_thresholds([yes, Task("b")])
    assert not all_need_thresholds([yes, number])
    assert tasks_with_threshold([yes, number, Task("b")]) == ["a", "b"]


def test_tasks_of_several_kinds_and_sources_have_one_score() -> None:
    """Documents 0 and 1 are notes with two yes/no labels, 2 and 3 have a class."""
    notes, pairs = np.array([True, True, False, False]), np.array([False, False, True, True])
    yes = {
        "a": TaskScores(np.array([0.9, 0.1, 0, 0]), np.array([1, 0, 0, 0]), notes),
        "b": TaskScores(np.array([0.9, 0.1, 0, 0]), np.array([0, 1, 0, 0]), notes),
    }
    other = TaskScores(np.array([[0, 0], [0, 0], [0, 1], [1, 0]]), np.array([0, 0, 1, 1]), pairs)
    scores = Scores(("u",), "test", tuple("abcd"), yes | {"r": other})
    tasks = [Task("r", "multiclass", "pairs", ("x", "y"), main_metric="accuracy")]
    tasks += [Task(name, source="notes") for name in yes]
    found = evaluate_all(scores, tasks, {"a": 0.5, "b": 0.5})
    assert list(found.tasks) == ["r", "a", "b"]
    assert isinstance(found.plan, MixedMetrics)
    assert found.plan.sources == {"pairs": 0.5, "notes": 0.5}
    assert found.plan.as_dict() == {"score": 0.5}
    assert (found.tasks["r"].main, found.tasks["r"].support) == (0.5, 2)


def test_each_source_counts_once_and_each_of_its_tasks_within_it() -> None:
    """Of four documents all have yes/no targets and the first three a number."""
    yes = np.array([1, 1, 0, 0])
    told = {"right": [0.9, 0.8, 0.1, 0.3], "half": [0.9, 0.1, 0.1, 0.1], "low": [0.3, 0.3, 0.1, 0.1]}
    tasks = {name: TaskScores(np.array(values), yes, np.ones(4, bool)) for name, values in told.items()}
    tasks["number"] = TaskScores(np.array([1.0, 2, 3, 9]), np.array([3.0, 2, 1, 9]), KNOWN)
    scores = Scores(("u",), "test", tuple("abcd"), tasks)
    plan = [Task("half", source="x"), Task("right", source="x"), Task("low", source="y")]
    plan.append(Task("number", "regression", "z", main_metric="pearson"))
    found = evaluate_all(scores, plan, {"right": 0.5, "half": 0.5, "low": 0.2})
    assert isinstance(found.plan, MixedMetrics)
    assert found.plan.sources == pytest.approx({"x": (2 / 3 + 1) / 2, "y": 1.0, "z": -1.0})
    assert found.plan.main == pytest.approx((5 / 6 + 1.0 - 1.0) / 3)
    assert found.tasks["number"].support == 3
    alone = evaluate_all(scores, plan[:2], {"right": 0.5, "half": 0.5})
    assert alone == evaluate(scores, ["half", "right"], {"right": 0.5, "half": 0.5})


def test_without_yes_no_tasks_there_are_no_figures_of_them() -> None:
    task = Task("s", "regression", "sts", main_metric="spearman")
    one = TaskScores(np.array([0.1, 0.2, 0.3]), np.array([1.0, 3.0, 2.0]), np.ones(3, bool))
    found = evaluate_all(Scores(("u",), "test", ("a", "b", "c"), {"s": one}), [task], {})
    assert found.plan.as_dict() == {"score": pytest.approx(0.5)}
    assert found.tasks["s"].as_dict().keys() == {"pearson", "spearman", "support"}
