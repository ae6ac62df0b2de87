"""How well predictors know the scores of measured groups: their order, their sign, and the best choice."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from mtlv.evaluation.bootstrap import DOCUMENT_RESAMPLES, expanded_interval
from mtlv.evaluation.significance import Interval
from mtlv.seeding import content_key, seed_from
from mtlv_lab.prediction import Floats, Prediction

FEWEST = 5
"""Tasks, groups of a task, or partitions, with fewer of which nothing is computed."""
SIZE = "number of tasks"
"""What is said of a group without looking at its tasks."""
REPEATED = "another seed"
"""What the same groups scored in other units: an order that is not repeated cannot be predicted either."""
EQUAL = 1e-9  # difference of what is said of partitions that are equally good
Fold = tuple[Sequence[str], Floats, Floats]


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's correlation, or the AUC, of predicted and measured scores, with its 95% interval."""

    value: float
    interval: Interval
    tasks: int

    @property
    def shown(self) -> bool:
        """Whether the order is predicted better than by chance."""
        return self.interval.low > 0

    def __str__(self) -> str:
        text = f"{self.value:.2f} ({self.interval.low:.2f} to {self.interval.high:.2f})"
        return text.replace("-", "−")


@dataclass(frozen=True)
class Predictor:
    """How well a predictor knows the scores of measured groups.

    Args:
        order: Spearman's correlation within tasks over measured groups; None of too few.
        sign: AUC of the sign of the gain, within tasks; None of too few.
        regret: mean score over tasks of the best measured partition, minus that of the one which the
            predictor ranks first (the mean of those that it ranks first); None of too few.
    """

    order: RankCorrelation | None
    sign: RankCorrelation | None
    regret: float | None


def gains_of_others(prediction: Prediction) -> tuple[Floats, Floats]:
    """Return predicted and measured gain [n, T] of tasks in measured groups, over their mean in the others.

    Neither mean knows the score that is predicted, so that where nothing can be predicted, the correlation is
    near 0 (rather below).
    """
    known = np.isfinite(prediction.scores)
    with np.errstate(invalid="ignore", divide="ignore"):
        others = (np.nansum(prediction.scores, axis=0) - prediction.scores) / (known.sum(axis=0) - 1)
    return prediction.held_out - others, np.where(
        np.isfinite(prediction.held_out), prediction.scores - others, np.nan
    )


def of_measured_groups(predictions: Sequence[Prediction]) -> tuple[dict[str, Predictor], float | None]:
    """Return how well each predictor knows the scores of measured groups, and the regret of a random choice.

    Args:
        predictions: of each fold, of one feature.
    """
    of_others = [gains_of_others(one) for one in predictions]
    folds = [(one.tasks, *gains) for one, gains in zip(predictions, of_others, strict=True)]
    held_out = [one.held_out for one in predictions]
    predictors = {predictions[0].feature: _judge(predictions, folds, held_out)}
    sizes = [np.where(one.member, one.member.sum(axis=1)[:, None], np.nan) for one in predictions]
    folds = [(one.tasks, table, one.scores) for one, table in zip(predictions, sizes, strict=True)]
    predictors[SIZE] = _judge(predictions, folds, sizes)
    again = [(one, one.repeated) for one in predictions if one.repeated is not None]
    if again:
        others = [replace(one, scores=rest) for one, (_, rest) in again]
        folds = [(one.tasks, first, rest) for one, (first, rest) in again]
        predictors[REPEATED] = _judge(others, folds, [first for _, (first, _) in again])
    return predictors, regret(predictions, [np.where(one.member, 0.0, np.nan) for one in predictions])


def _judge(predictions: Sequence[Prediction], folds: Sequence[Fold], tables: Sequence[Floats]) -> Predictor:
    signs = order_within_tasks(folds, statistic=sign_auc)
    return Predictor(order_within_tasks(folds), signs, regret(predictions, tables))


def regret(predictions: Sequence[Prediction], tables: Sequence[Floats]) -> float | None:
    """Return the regret: the best measured partition's score minus that of the one the predictor ranks first.

    The score of a partition is the mean over all tasks, and the regret that over folds. If a predictor ranks
    several partitions first, the mean of their scores counts.

    Args:
        predictions: the prediction of each fold.
        tables: the predicted values for the tasks of the measured groups [n, T], for each fold.
    """
    lost = []
    for prediction, table in zip(predictions, tables, strict=True):
        measured, predicted = of_partitions(prediction, prediction.scores), of_partitions(prediction, table)
        known = np.isfinite(measured) & np.isfinite(predicted)
        if known.sum() < FEWEST:
            return None
        first = known & (predicted >= predicted[known].max() - EQUAL)
        lost.append(float(np.nanmax(measured) - measured[first].mean()))
    return fmean(lost)


def of_partitions(prediction: Prediction, table: Floats) -> Floats:
    """Return the mean over tasks of a table [n, T] for each measured partition [P]; NaN if one is unknown."""
    rows = [list(groups) for groups in prediction.partitions.values()]
    means = [np.where(prediction.member[groups], table[groups], 0.0).sum(axis=0).mean() for groups in rows]
    return np.array(means, dtype=np.float64)


def spearman(first: Floats, second: Floats) -> Floats:
    """Return Spearman's correlation along the last axis; NaN where all values are equal."""
    from scipy.stats import rankdata

    one, two = (rankdata(values, axis=-1) for values in (first, second))
    one, two = (values - values.mean(axis=-1, keepdims=True) for values in (one, two))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((one * two).sum(axis=-1) / np.sqrt((one**2).sum(axis=-1) * (two**2).sum(axis=-1)))


def order_within_tasks(
    folds: Iterable[Fold], *, statistic: Callable[[Floats, Floats], Floats] = spearman
) -> RankCorrelation | None:
    """Return the mean over tasks, and folds, of the correlation over measured groups.

    Args:
        folds: of each fold the names of its tasks [T], and what was predicted and measured [n, T].
        statistic: function of both for one task.
    """
    by_task: dict[str, list[float]] = {}
    for tasks, *values in folds:
        for name, predicted, measured in zip(tasks, *(table.T for table in values), strict=True):
            known = np.isfinite(predicted) & np.isfinite(measured)
            value = float(statistic(predicted[known], measured[known])) if known.sum() >= FEWEST else math.nan
            if math.isfinite(value):
                by_task.setdefault(name, []).append(value)
    if len(by_task) < FEWEST:
        return None
    means = np.array([fmean(values) for values in by_task.values()])
    return correlation(float(means.mean()), means[draws(list(by_task))].mean(axis=1), len(by_task))


def draws(names: Sequence[str]) -> NDArray[np.int64]:
    """Return tasks drawn with replacement [R, T]; the same for the same names."""
    rng = np.random.default_rng(seed_from("bootstrap tasks", content_key(list(names))))
    return rng.integers(0, len(names), (DOCUMENT_RESAMPLES, len(names)))


def correlation(value: float, resampled: Floats, tasks: int) -> RankCorrelation | None:
    """Return a mean over tasks with its interval, from that of resampled tasks [R]; None without an order."""
    usable = resampled[np.isfinite(resampled)]  # a resample of equal values has no order
    if not math.isfinite(value) or not usable.size:
        return None
    return RankCorrelation(value, expanded_interval(usable, tasks), tasks)


def sign_auc(predicted: Floats, measured: Floats) -> Floats:
    """Return how often a group with a score above the mean is predicted higher than one that is not above it.

    The area under the ROC curve of the sign of the gain: 0.5 by chance, ties count half. NaN if no score is
    above the mean of all.
    """
    from scipy.stats import rankdata

    above = measured > measured.mean()
    yes, no = int(above.sum()), int((~above).sum())
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.divide(rankdata(predicted)[above].sum() - yes * (yes + 1) / 2, yes * no)
