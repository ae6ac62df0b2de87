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
from mtlv.plan.prediction import Floats, Prediction
from mtlv.seeding import content_key, seed_from

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
    of_others = [gains_of_others(each) for each in predictions]
    folds = [(each.tasks, *gains) for each, gains in zip(predictions, of_others, strict=True)]
    held_out = [each.held_out for each in predictions]
    found = {predictions[0].feature: _judged(predictions, folds, held_out)}
    for name, said in _untrained(predictions).items():
        folds = [(each.tasks, own, each.scores) for each, own in zip(predictions, said, strict=True)]
        found[name] = _judged(predictions, folds, said)
    again = [(each, each.repeated) for each in predictions if each.repeated is not None]
    if again:
        others = [replace(each, scores=rest) for each, (_, rest) in again]
        folds = [(each.tasks, first, rest) for each, (first, rest) in again]
        found[REPEATED] = _judged(others, folds, [first for _, (first, _) in again])
    return found, regret(predictions, [np.where(each.member, 0.0, np.nan) for each in predictions])


def _judged(predictions: Sequence[Prediction], folds: Sequence[Fold], said: Sequence[Floats]) -> Predictor:
    order, sign = (order_within_tasks(folds, statistic=each) for each in (spearman, sign_auc))
    return Predictor(order, sign, regret(predictions, said))


def _untrained(predictions: Sequence[Prediction]) -> dict[str, list[Floats]]:
    """Return what is said of the tasks of measured groups [n, T] without training, of each fold.

    A task alone is near to no other.
    """
    said = [
        {SIZE: np.where(each.member, each.member.sum(axis=1)[:, None], np.nan)}
        | {name: -mean_distances(each.member, table) for name, table in each.distances.items()}
        | dict(each.gains)
        for each in predictions
    ]
    common = set.intersection(*map(set, said))
    return {name: [each[name] for each in said] for name in said[0] if name in common}


def mean_distances(member: NDArray[np.bool_], distances: Floats) -> Floats:
    """Return the mean distance [n, T] of each task of a group to the others; NaN without others.

    Args:
        member: [n, T], the tasks of each group.
        distances: [T, T], 0 on the diagonal.
    """
    others = member.sum(axis=1)[:, None] - 1
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(member & (others > 0), member @ distances / others, np.nan)


def regret(predictions: Sequence[Prediction], said: Sequence[Floats]) -> float | None:
    """Return what is lost by the measured partition that is said to be best, to the best; mean over folds.

    Scores of a partition are means over all tasks. Of several that are said to be equally good, their mean.

    Args:
        predictions: of each fold.
        said: of each fold, what is said of the tasks of the measured groups [n, T].
    """
    lost = []
    for prediction, table in zip(predictions, said, strict=True):
        came, expected = of_partitions(prediction, prediction.scores), of_partitions(prediction, table)
        known = np.isfinite(came) & np.isfinite(expected)
        if known.sum() < FEWEST:
            return None
        first = known & (expected >= expected[known].max() - EQUAL)
        lost.append(float(np.nanmax(came) - came[first].mean()))
    return fmean(lost)


def of_partitions(prediction: Prediction, table: Floats) -> Floats:
    """Return the mean over tasks of a table [n, T] for each measured partition [P]; NaN if one is unknown."""
    rows = [list(groups) for groups in prediction.partitions.values()]
    means = [np.where(prediction.member[own], table[own], 0.0).sum(axis=0).mean() for own in rows]
    return np.array(means, dtype=np.float64)


def spearman(first: Floats, second: Floats) -> Floats:
    """Return Spearman's correlation along the last axis; NaN where all values are equal."""
    from scipy.stats import rankdata

    one, two = (rankdata(each, axis=-1) for each in (first, second))
    one, two = (each - each.mean(axis=-1, keepdims=True) for each in (one, two))
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
    found: dict[str, list[float]] = {}
    for tasks, *values in folds:
        for name, predicted, measured in zip(tasks, *(each.T for each in values), strict=True):
            known = np.isfinite(predicted) & np.isfinite(measured)
            value = float(statistic(predicted[known], measured[known])) if known.sum() >= FEWEST else math.nan
            if math.isfinite(value):
                found.setdefault(name, []).append(value)
    if len(found) < FEWEST:
        return None
    means = np.array([fmean(values) for values in found.values()])
    return correlation(float(means.mean()), means[draws(list(found))].mean(axis=1), len(found))


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
