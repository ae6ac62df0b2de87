"""Metrics of one task of any kind from its scores; they are defined in `mtlv.evaluation.kinds`.

Each kind is a class in `SCORING`. Yes/no tasks of one corpus are evaluated together, because they may share
thresholds: see `mtlv.evaluation.metrics.evaluate`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mtlv.errors import PlanError, nearest
from mtlv.evaluation.kinds import classes, entities, numbers, words
from mtlv.evaluation.sums import Sums, values
from mtlv.plan.scores import TaskScores
from mtlv.plan.task import Task

Figures = dict[str, float]
Metric = Callable[[Any, Any], float]


class Scoring(Protocol):
    """Computes metrics from the scores of a kind of task.

    Args:
        others: metrics that are no functions of sums over documents: (targets, predictions) -> metric.
    """

    others: Mapping[str, Metric]

    def pairs(self, scores: TaskScores) -> tuple[Any, Any]:
        """Return targets and predictions of the documents with a target."""
        ...

    def sums(self, task: Task, scores: TaskScores) -> Mapping[str, Sums]:
        """Return all other metrics by name, as functions of sums over the same documents."""
        ...


class ClassScoring:
    """Predicts the class with the highest score, on ties the first."""

    others: Mapping[str, Metric] = {}

    def sums(self, task: Task, scores: TaskScores) -> Mapping[str, Sums]:
        return classes.sums(*self.pairs(scores), **self._counted(task))

    def pairs(self, scores: TaskScores) -> tuple[NDArray, NDArray]:
        known = np.asarray(scores.mask, bool)
        return np.asarray(scores.targets)[known], np.asarray(scores.outputs)[known].argmax(1)

    def _counted(self, task: Task) -> dict[str, Any]:
        positive = classes.positive_classes(task.classes, task.negative) if task.negative else None
        return {"classes": len(task.classes), "positive": positive}


class NumberScoring:
    """Uses the score as the prediction."""

    others: Mapping[str, Metric] = {"spearman": numbers.spearman}

    def sums(self, task: Task, scores: TaskScores) -> Mapping[str, Sums]:  # noqa: ARG002
        return numbers.sums(*self.pairs(scores))

    def pairs(self, scores: TaskScores) -> tuple[NDArray, NDArray]:
        known = np.asarray(scores.mask, bool)
        return np.asarray(scores.targets)[known], np.asarray(scores.outputs)[known]


class SpanScoring:
    """Evaluates spans, as whole entities and word by word."""

    others: Mapping[str, Metric] = {}

    def sums(self, task: Task, scores: TaskScores) -> Mapping[str, Sums]:
        gold, predicted = self.pairs(scores)
        return entities.sums(gold, predicted) | words.sums(gold, predicted, task.classes)

    def pairs(self, scores: TaskScores) -> tuple[list, list]:
        known = np.flatnonzero(scores.mask)
        return [scores.targets[n] for n in known], [scores.outputs[n] for n in known]


SCORING: Mapping[str, Scoring] = {
    "multiclass": ClassScoring(),
    "regression": NumberScoring(),
    "tagging": SpanScoring(),
}


def task_figures(task: Task, scores: TaskScores) -> Figures:
    """Return all metrics of a task without a threshold.

    Raises:
        PlanError: the task's kind needs a threshold, or no document has a target.
    """
    if task.kind not in SCORING:
        raise PlanError(
            f"task `{task.name}` is not evaluated separately", got=task.kind, allowed=", ".join(SCORING)
        )
    if not np.any(scores.mask):
        raise PlanError(f"no document has a target of task `{task.name}`", then="enlarge that part")
    kind = SCORING[task.kind]
    others = {name: metric(*kind.pairs(scores)) for name, metric in kind.others.items()}
    return values(kind.sums(task, scores)) | others


def main_figure(task: Task, figures: Mapping[str, float]) -> float:
    """Return the main metric of the task's corpus.

    Raises:
        PlanError: there is no metric of that name.
    """
    if task.main_metric not in figures:
        raise PlanError(
            f"task `{task.name}` has no metric `{task.main_metric}`",
            allowed=", ".join(figures),
            then=nearest(task.main_metric, figures),
        )
    return figures[task.main_metric]
