"""Calibration: whether labels are as frequent as their predicted probabilities say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt

import numpy as np
from numpy.typing import NDArray

from mtlv.evaluation.scoring import tasks_with_threshold
from mtlv.evaluation.significance import Interval
from mtlv.plan import Task
from mtlv.plan.scores import Scores
from mtlv.plan.temperature import SMALLEST, at_temperature, both_classes

BINS = 10
NORMAL = 1.96  # quantile of a standard normal for a 95% interval
RANGE = (0.05, 20.0)  # of temperatures

Floats = NDArray[np.float64]
Truth = NDArray[np.bool_]


@dataclass(frozen=True)
class Bin:
    """Predictions with probabilities of one tenth of 0 to 1."""

    probability: float  # mean
    share: float  # of those that are true
    count: int

    @property
    def interval(self) -> Interval:
        """The 95% interval of the share, for independent predictions.

        Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22, 1927.
        """
        squared = NORMAL**2 / self.count
        middle = (self.share + squared / 2) / (1 + squared)
        half = (
            NORMAL
            * sqrt(self.share * (1 - self.share) / self.count + squared / (4 * self.count))
            / (1 + squared)
        )
        return Interval(max(0.0, middle - half), min(1.0, middle + half))


def known_pairs(scores: Scores, tasks: Sequence[str]) -> tuple[Floats, Truth]:
    """Return M probabilities of yes/no tasks, of the documents with a target, and whether each is true."""
    task_scores = [scores.tasks[name] for name in tasks]
    outputs = [np.asarray(task.outputs, np.float64)[task.mask] for task in task_scores]
    return np.concatenate(outputs), np.concatenate([(task.targets == 1)[task.mask] for task in task_scores])


def squared_errors(scores: Scores, tasks: Sequence[str], temperature: float = 1.0) -> tuple[Floats, Floats]:
    """Return the sum of squared errors of each document's probabilities [N], and their number [N]; after
    the logits were divided by `temperature`."""
    errors, count = np.zeros(len(scores.ids)), np.zeros(len(scores.ids))
    for task_scores in (scores.tasks[name] for name in tasks):
        squares = (at_temperature(task_scores.outputs, temperature) - (task_scores.targets == 1)) ** 2
        errors += np.where(task_scores.mask, squares, 0.0)
        count += task_scores.mask
    return errors, count


def brier_score(errors: Floats, count: Floats) -> float:
    """Return the Brier score of `squared_errors`: 0 is the best; a constant probability of one half has 0.25.

    Brier, "Verification of forecasts expressed in terms of probability", Monthly Weather Review 78, 1950.
    """
    return float(errors.sum() / count.sum())


def reliability(probabilities: Floats, truth: Truth) -> list[Bin]:
    """Return the bins of equal width that are not empty, lowest first."""
    place = np.minimum((probabilities * BINS).astype(int), BINS - 1)
    count = np.bincount(place, minlength=BINS)
    sums, hits = (np.bincount(place, values, BINS).tolist() for values in (probabilities, truth))
    return [Bin(sums[n] / size, hits[n] / size, size) for n, size in enumerate(count.tolist()) if size]


def calibration_error(bins: Sequence[Bin]) -> float:
    """Return the expected calibration error: the mean distance of probability and share, weighted by count.

    Naeini et al., "Obtaining well calibrated probabilities using Bayesian binning", AAAI 2015.
    """
    return sum(b.count * abs(b.probability - b.share) for b in bins) / sum(b.count for b in bins)


def temperature(probabilities: Floats, truth: NDArray) -> float | None:
    """Return the temperature at which probabilities have the lowest log loss: above 1 for over-confidence.

    None without errors, for which the best would be 0, without documents, or if it is out of `RANGE`.

    Args:
        probabilities: of "yes" [N], or of C classes [N, C].
        truth: [N] whether "yes" is true, or the index of the true class.

    Guo et al., "On calibration of modern neural networks", ICML 2017.
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import logsumexp

    if not len(truth):
        return None
    logs = np.log(np.maximum(both_classes(probabilities), SMALLEST))
    of_truth = logs[np.arange(len(truth)), np.asarray(truth, int)]
    if (of_truth >= logs.max(axis=1)).all():
        return None

    def loss(power: float) -> float:
        return float((logsumexp(logs / exp(power), axis=1) - of_truth / exp(power)).mean())

    minimum = minimize_scalar(loss, bounds=tuple(map(log, RANGE)), method="bounded", options={"xatol": 1e-4})
    inside = RANGE[0] * 1.01 < exp(minimum.x) < RANGE[1] / 1.01
    return exp(minimum.x) if inside else None


def temperatures(validation: Scores, tasks: Sequence[Task]) -> dict[str, float]:
    """Return temperatures by task, as far as they can be fitted.

    Yes/no tasks share one, because many have few positives; tasks with classes have one each.
    """
    labels = tasks_with_threshold(tasks)
    shared = temperature(*known_pairs(validation, labels)) if labels else None
    by_task: dict[str, float | None] = dict.fromkeys(labels, shared)
    for task in tasks:
        scores = validation.tasks[task.name]
        if task.classes and scores.outputs.ndim == 2:
            outputs = np.asarray(scores.outputs, np.float64)[scores.mask]
            by_task[task.name] = temperature(outputs, scores.targets[scores.mask])
    return {name: value for name, value in by_task.items() if value is not None}
