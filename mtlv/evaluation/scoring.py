"""Metrics of one task of any kind from its scores; they are defined in `mtlv.evaluation.kinds`.

A new kind needs one more entry in `SCORING`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtlv.errors import PlanError, nearest
from mtlv.evaluation.kinds import classes, entities, masked, numbers
from mtlv.evaluation.metrics import average_precision, roc_auc
from mtlv.evaluation.sums import Sums, values
from mtlv.plan.scores import TaskScores
from mtlv.plan.task import Task

Figures = dict[str, float]
Metric = Callable[[Any, Any], float]


class Scoring:
    """Computes metrics from the scores of a kind of task; by default the score is the prediction.

    Args:
        needs_threshold: whether predictions need a threshold. Such tasks of a plan are evaluated jointly, by
            `mtlv.evaluation.metrics.evaluate`, because they may share thresholds; here they have only the
            metrics without one.
        counts_positive: whether a document is positive or negative, and the support counts the positive ones;
            otherwise all with a target.
        others: metrics that are no functions of sums over documents: (targets, predictions) -> metric.
    """

    needs_threshold: bool = False
    counts_positive: bool = False
    others: Mapping[str, Metric] = {}

    def epoch_metric(self, task: Task) -> str:
        """Return the metric to log per epoch, which needs no threshold; by default the main metric."""
        return task.main_metric

    def pairs(self, scores: TaskScores) -> tuple[Any, Any]:
        """Return targets and predictions of the documents with a target."""
        known = np.asarray(scores.mask, bool)
        return np.asarray(scores.targets)[known], np.asarray(scores.outputs)[known]

    def sums(self, task: Task, scores: TaskScores) -> Mapping[str, Sums]:
        """Return all other metrics by name, as functions of sums over the same documents."""
        return {}


class YesNoScoring(Scoring):
    """Predicts yes if the probability is at least a threshold."""

    needs_threshold = True
    counts_positive = True
    others: Mapping[str, Metric] = {"average_precision": average_precision, "roc_auc": roc_auc}

    def epoch_metric(self, task: Task) -> str:
        return "average_precision"

    def pairs(self, scores: TaskScores) -> tuple[NDArray, NDArray]:
        """Return whether each document is positive, and its probability."""
        targets, outputs = super().pairs(scores)
        return targets == 1, outputs


class ClassScoring(Scoring):
    """Predicts the class with the highest score, on ties the first."""

    def sums(self, task: Task, scores: TaskScores) -> Mapping[str, Sums]:
        positive = classes.positive_classes(task.classes, task.negative) if task.negative else None
        return classes.sums(*self.pairs(scores), classes=len(task.classes), positive=positive)

    def pairs(self, scores: TaskScores) -> tuple[NDArray, NDArray]:
        targets, outputs = super().pairs(scores)
        return targets, outputs.argmax(1)


class NumberScoring(Scoring):
    """Correlates predicted and true numbers."""

    others: Mapping[str, Metric] = {"spearman": numbers.spearman}

    def sums(self, task: Task, scores: TaskScores) -> Mapping[str, Sums]:
        return numbers.sums(*self.pairs(scores))


class SpanScoring(Scoring):
    """Evaluates spans, as whole entities and word by word."""

    def sums(self, task: Task, scores: TaskScores) -> Mapping[str, Sums]:
        gold, predicted = self.pairs(scores)
        return entities.sums(gold, predicted) | entities.word_sums(gold, predicted, task.classes)

    def pairs(self, scores: TaskScores) -> tuple[list, list]:
        known = np.flatnonzero(scores.mask)
        return [scores.targets[n] for n in known], [scores.outputs[n] for n in known]


class MaskedScoring(Scoring):
    """Evaluates how well masked pieces of the text are found."""

    def sums(self, task: Task, scores: TaskScores) -> Mapping[str, Sums]:
        return masked.sums(self.pairs(scores)[1])


SCORING: Mapping[str, Scoring] = {
    "binary": YesNoScoring(),
    "multiclass": ClassScoring(),
    "regression": NumberScoring(),
    "tagging": SpanScoring(),
    "mlm": MaskedScoring(),
}


def tasks_with_threshold(tasks: Iterable[Task]) -> list[str]:
    """Return the names of the tasks that need a threshold."""
    return [task.name for task in tasks if SCORING[task.kind].needs_threshold]


def all_need_thresholds(tasks: Iterable[Task]) -> bool:
    """Whether all tasks need a threshold: then a plan has macro F1 and others, and otherwise a score."""
    return all(SCORING[task.kind].needs_threshold for task in tasks)


def task_figures(task: Task, scores: TaskScores) -> Figures:
    """Return all metrics of a task that need no threshold.

    Raises:
        PlanError: no document has a target.
    """
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
