"""Metrics of multi-label predictions, equal to scikit-learn's with `zero_division=0` (verified by tests).

A task is predicted if its probability is at least its threshold. Cells without a target (`mask` false)
are ignored; a document without any target is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mtlv.errors import PlanError, TrainingError
from mtlv.plan.scores import Scores

SHOWN_OF_PLANS = ("score", "f1_macro", "f1_micro", "subset_accuracy", "hamming_score")
SHOWN_OF_TASKS = ("precision", "recall", "average_precision", "roc_auc")
"""Metrics in the tables of a terminal, the comparison page and MLflow, beside F1 for a yes/no task."""

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]


class _KnownValues:
    def as_dict(self) -> dict[str, float]:
        """Return the metrics by name, without NaN."""
        return {name: value for name, value in vars(self).items() if not isnan(value)}


@dataclass(frozen=True)
class TaskMetrics(_KnownValues):
    """Metrics of one task; `support` is its number of positive documents, the rest are fractions, or NaN."""

    f1: float
    precision: float
    recall: float
    average_precision: float
    roc_auc: float
    support: int
    threshold: float

    @property
    def main(self) -> float:
        """Main metric of a yes/no task."""
        return self.f1


@dataclass(frozen=True)
class PlanMetrics(_KnownValues):
    """Metrics of a plan, fractions in [0, 1]: means over tasks (macro), or functions of the same names."""

    f1_macro: float
    f1_micro: float
    subset_accuracy: float
    hamming_score: float
    hamming_loss: float
    precision_macro: float
    recall_macro: float
    average_precision_macro: float
    roc_auc_macro: float

    @property
    def main(self) -> float:
        """Main metric of a plan of yes/no tasks."""
        return self.f1_macro


class MetricValues(Protocol):
    """Metrics by name, and the main metric."""

    @property
    def main(self) -> float: ...

    def as_dict(self) -> dict[str, float]: ...


class TaskMetricValues(MetricValues, Protocol):
    """Metrics of a task, and the number of documents they are based on."""

    @property
    def support(self) -> int: ...


@dataclass(frozen=True)
class Metrics:
    """Metrics of the plan, and of each task by name."""

    plan: MetricValues
    tasks: Mapping[str, TaskMetricValues]


@dataclass(frozen=True)
class Decisions:
    """Targets and decisions of N documents for T tasks, [N, T] each.

    Args:
        truth: whether the task applies; false where `known` is false.
        predicted: whether the task was predicted; false where `known` is false.
        known: whether there is a target.
    """

    truth: Flags
    predicted: Flags
    known: Flags

    @classmethod
    def of(cls, truth: NDArray, predicted: NDArray) -> Decisions:
        """Create decisions with a target in every cell."""
        truth, predicted = np.asarray(truth, bool), np.asarray(predicted, bool)
        return cls(truth, predicted, np.ones(truth.shape, bool))


def ratio(above: ArrayLike, below: ArrayLike) -> Floats:
    """Return `above / below`, and 0 where `below` is 0."""
    below = np.asarray(below, np.float64)
    return np.divide(above, below, out=np.zeros(below.shape), where=below > 0)


def counts(d: Decisions) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return true positives, predicted and positive documents per task [T]."""
    both = np.count_nonzero(d.truth & d.predicted, axis=0)
    return both, np.count_nonzero(d.predicted, axis=0), np.count_nonzero(d.truth, axis=0)


def precision_recall_f1(hits: NDArray, predicted: NDArray, positive: NDArray) -> Floats:
    """Return precision, recall and F1 [3, ...] of counts [...]; F1 is 2 TP / (predicted + positive)."""
    return np.stack([ratio(hits, predicted), ratio(hits, positive), ratio(2 * hits, predicted + positive)])


def f1_macro(d: Decisions) -> float:
    """Mean of the tasks' F1."""
    return float(precision_recall_f1(*counts(d))[2].mean())


def f1_micro(d: Decisions) -> float:
    """F1 of all cells pooled."""
    hits, predicted, positive = counts(d)
    return float(ratio(2 * hits.sum(), predicted.sum() + positive.sum()))


def subset_accuracy(d: Decisions) -> float:
    """Share of documents whose tasks are all correct."""
    right = np.all(d.truth == d.predicted, axis=1)
    return float(ratio(right[d.known.any(axis=1)].sum(), d.known.any(axis=1).sum()))


def hamming_score(d: Decisions) -> float:
    """Mean Jaccard index of the documents: |truth and predicted| / |truth or predicted|, 1 if both are empty.

    The thesis calls this "hamming score" (Godbole and Sarawagi, 2004: accuracy). It is not
    1 - Hamming loss, and it is at least the subset accuracy.
    """
    both = np.count_nonzero(d.truth & d.predicted, axis=1)
    either = np.count_nonzero(d.truth | d.predicted, axis=1)
    score = np.where(either == 0, 1.0, ratio(both, either))
    return float(ratio(score[d.known.any(axis=1)].sum(), d.known.any(axis=1).sum()))


def hamming_loss(d: Decisions) -> float:
    """Share of cells that are wrong."""
    return float(ratio(np.sum(d.truth != d.predicted), np.sum(d.known)))


def average_precision(truth: Flags, outputs: Floats) -> float:
    """Area under precision over recall as a step function, for one task ([N] each).

    Sum over the distinct outputs, highest first, of the gain in recall times the precision there; documents
    with equal outputs are added together, as in scikit-learn. 0 for a task without positive documents (where
    scikit-learn also returns 0, with a warning).
    """
    positive = int(np.count_nonzero(truth))
    if positive == 0:
        return 0.0
    hits, predicted = hits_from(truth, outputs)
    gain = np.diff(hits, prepend=0) / positive
    return float(np.sum(gain * hits / predicted))


def roc_auc(truth: Flags, outputs: Floats) -> float:
    """Area under the ROC curve of one task ([N] each).

    The probability that a positive document has a higher output than a negative one, plus half the
    probability that they are equal. 0.5, that of a constant output, if there are none of either (where
    scikit-learn returns NaN, with a warning).
    """
    positive = int(np.count_nonzero(truth))
    pairs = positive * (truth.size - positive)
    if pairs == 0:
        return 0.5
    hits, predicted = hits_from(truth, outputs)
    wrong = np.diff(predicted - hits, prepend=0)  # negative documents with each output
    return float(np.sum(wrong * (hits - np.diff(hits, prepend=0) / 2)) / pairs)


def hits_from(truth: Flags, outputs: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return true positives and predicted documents of a task for each distinct output as the threshold.

    The highest output is first. The task has documents ([N] each).
    """
    order = np.argsort(outputs)[::-1]
    ordered = outputs[order]
    last = np.append(np.flatnonzero(np.diff(ordered)), ordered.size - 1)  # last document of each output
    return np.cumsum(truth[order])[last], last + 1


def known_cells(scores: Scores, names: Sequence[str]) -> Flags:
    """Return the masks of `names` as columns, [N, T]."""
    return np.stack([scores.tasks[name].mask for name in names], axis=1).astype(bool)


def decide(scores: Scores, names: Sequence[str], thresholds: Mapping[str, float]) -> Decisions:
    """Return targets and decisions of `names`: a task is predicted if its probability is >= its threshold.

    Raises:
        PlanError: a task has no scores or no threshold, or there is no document.
        TrainingError: an output is not a finite number.
    """
    check_scores(scores, names)
    without = [name for name in names if name not in thresholds]
    if without:
        raise PlanError("a task has no threshold", got=", ".join(without))
    outputs, targets = scores.matrix(names)
    known = known_cells(scores, names)
    limits = np.array([thresholds[name] for name in names], np.float64)
    return Decisions((targets == 1) & known, (outputs >= limits) & known, known)


def check_scores(scores: Scores, names: Sequence[str]) -> None:
    """Raise an error if the scores cannot be evaluated; see `decide`."""
    missing = [name for name in names if name not in scores.tasks]
    if missing or not names:
        raise PlanError("a task has no scores", got=", ".join(missing) or "no task at all")
    if not scores.ids:
        raise PlanError(f"there is no document in the {scores.part} part", then="enlarge its share")
    for name in names:
        task = scores.tasks[name]
        if not np.isfinite(np.asarray(task.outputs)[np.asarray(task.mask, bool)]).all():
            raise TrainingError(
                f"the outputs of task `{name}` are not all finite", then="lower the learning rate"
            )


def evaluate(scores: Scores, names: Sequence[str], thresholds: Mapping[str, float]) -> Metrics:
    """Return all metrics of the yes/no tasks `names` at the given thresholds.

    Args:
        scores: probabilities and targets of at least `names`.
        names: the T tasks, in the desired order.
        thresholds: decision threshold by task.

    Raises:
        PlanError, TrainingError: see `decide`.
    """
    d = decide(scores, names, thresholds)
    outputs, _ = scores.matrix(names)
    of_known = [(d.truth[k, t], outputs[k, t]) for t, k in enumerate(d.known.T)]
    precisions = [average_precision(*pair) for pair in of_known]
    areas = [roc_auc(*pair) for pair in of_known]
    hits, predicted, support = counts(d)
    precision, recall, f1 = precision_recall_f1(hits, predicted, support)  # [T] each
    tasks = {
        name: TaskMetrics(
            f1=float(f1[t]),
            precision=float(precision[t]),
            recall=float(recall[t]),
            average_precision=precisions[t],
            roc_auc=areas[t],
            support=int(support[t]),
            threshold=float(thresholds[name]),
        )
        for t, name in enumerate(names)
    }
    plan = PlanMetrics(
        f1_macro=float(f1.mean()),
        f1_micro=f1_micro(d),
        subset_accuracy=subset_accuracy(d),
        hamming_score=hamming_score(d),
        hamming_loss=hamming_loss(d),
        precision_macro=float(precision.mean()),
        recall_macro=float(recall.mean()),
        average_precision_macro=float(np.mean(precisions)),
        roc_auc_macro=float(np.mean(areas)),
    )
    return Metrics(plan, tasks)


def without_order(metrics: Metrics, scores: Scores) -> Metrics:
    """Return metrics without those that order documents, for yes/no tasks with decisions and no scores."""
    plan, tasks = metrics.plan, dict(metrics.tasks)
    for name, task in metrics.tasks.items():
        if isinstance(task, TaskMetrics) and scores.tasks[name].is_decided:
            tasks[name] = replace(task, average_precision=nan, roc_auc=nan)
            if isinstance(plan, PlanMetrics):
                plan = replace(plan, average_precision_macro=nan, roc_auc_macro=nan)
    return Metrics(plan, tasks)
