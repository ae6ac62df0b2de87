"""A prediction from measured groups beside what the groups that followed from it came to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from mtlv.evaluation.bootstrap import DOCUMENT_RESAMPLES, expanded_interval
from mtlv.evaluation.chance import trained_alike
from mtlv.evaluation.comparison import ComparedRun, Comparison, is_random
from mtlv.evaluation.pairs import comparable
from mtlv.evaluation.scoring import SCORING
from mtlv.evaluation.significance import Interval
from mtlv.plan.prediction import Floats, Prediction
from mtlv.seeding import content_key, seed_from

FEWEST = 5
"""Tasks, or groups of a task, with fewer of which no rank correlation is computed."""
SIZE = "number of tasks"
"""What is said of a group without looking at its tasks."""


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's correlation of what was predicted with what came, and its 95% interval over tasks."""

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
class TaskOutcome:
    """A task of a fold in the group that follows from a prediction; gains are over what others came to."""

    fold: int
    task: str
    group: int  # its group, from 0
    predicted: float | None  # its predicted validation score
    predicted_gain: float | None  # this minus its mean over the measured groups
    # validation, test: the run's score, the mean over seeds
    validation: float | None
    # validation_gain, test_gain: this minus that of the reference
    validation_gain: float | None
    test: float | None
    test_gain: float | None


@dataclass(frozen=True)
class Validated:
    """A prediction and what came of it.

    Args:
        run: the run whose groups follow from it.
        predictions: the prediction of each fold.
        reference: the runs over which tasks gain: those of random groups that were trained alike, or else the
            baseline; empty without either.
        tasks: what came of each task.
        on_validation, on_test: order of the gains of tasks; None of too few.
        on_others: order of scores within tasks over measured groups, each predicted from the other groups.
        untrained: the same, predicted without training: by the number of tasks in the group, and by each
            feature for which no model is trained.
    """

    run: ComparedRun
    predictions: Mapping[int, Prediction]
    reference: tuple[ComparedRun, ...]
    tasks: tuple[TaskOutcome, ...]
    on_validation: RankCorrelation | None
    on_test: RankCorrelation | None
    on_others: RankCorrelation | None
    untrained: Mapping[str, RankCorrelation | None]

    @property
    def first(self) -> Prediction:
        """Return the prediction of the first fold."""
        return next(iter(self.predictions.values()))

    @property
    def alike(self) -> bool:
        """Whether the measured groups were trained as those that follow."""
        return all(each.alike for each in self.predictions.values())

    @property
    def level(self) -> bool:
        """Whether predicted and measured gains are over the same: the scores in random, or measured, groups.

        Otherwise measured gains are over the baseline, and only their order is predicted.
        """
        return self.alike or any(map(is_random, self.reference))

    @property
    def both(self) -> list[TaskOutcome]:
        """Return the tasks whose gain on validation was predicted and measured."""
        return [each for each in self.tasks if None not in (each.predicted_gain, each.validation_gain)]


def validated(comparison: Comparison, run: ComparedRun) -> Validated | None:
    """Compare a run with the prediction from which its groups follow; None without one."""
    predictions = {child.fold: child.prediction for child in run.children if child.prediction is not None}
    if not predictions:
        return None
    reference = _reference(comparison, run)
    watched = {task.name: SCORING[task.kind].watched(task.task) for task in comparison.tasks}
    tasks = [
        outcome
        for fold, prediction in predictions.items()
        for outcome in _outcomes(run, reference, fold, prediction, watched)
    ]
    return Validated(
        run,
        predictions,
        reference,
        tuple(tasks),
        _order({(each.fold, each.task): (each.predicted_gain, each.validation_gain) for each in tasks}),
        _order({(each.fold, each.task): (each.predicted_gain, each.test_gain) for each in tasks}),
        order_within_tasks((each.tasks, *gains_of_others(each)) for each in predictions.values()),
        _untrained(list(predictions.values())),
    )


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


def _reference(comparison: Comparison, run: ComparedRun) -> tuple[ComparedRun, ...]:
    found = [each for each in comparison.runs if is_random(each) and trained_alike(run, each)]
    baseline = comparison.run(comparison.baseline)
    if not found and baseline is not run and comparable(run, baseline):
        found = [baseline]
    return tuple(found)


def _outcomes(
    run: ComparedRun,
    reference: Sequence[ComparedRun],
    fold: int,
    prediction: Prediction,
    watched: Mapping[str, str],
) -> Iterator[TaskOutcome]:
    for number, group in enumerate(prediction.groups):
        row = prediction.row(group)
        for name in group:
            at = prediction.tasks.index(name)
            others, said = np.isfinite(prediction.scores[:, at]), prediction.chosen[at]
            if row is not None and prediction.alike:  # its units are among those from which it is predicted
                others[row], said = False, prediction.held_out[row, at]
            usual = _mean(prediction.scores[others, at].tolist())
            base = usual if prediction.alike else _mean(_kept(each, fold, name) for each in reference)
            validation, test = _kept(run, fold, name), _tested(run, fold, name, watched)
            on_test = _mean(_tested(each, fold, name, watched) for each in reference)
            predicted = float(said) if np.isfinite(said) else None
            yield TaskOutcome(
                fold,
                name,
                number,
                predicted,
                _minus(predicted, usual),
                validation,
                _minus(validation, base),
                test,
                _minus(test, on_test),
            )


def _kept(run: ComparedRun, fold: int, task: str) -> float | None:
    return _mean(child.kept.get(task) for child in run.children if child.fold == fold)


def _tested(run: ComparedRun, fold: int, task: str, watched: Mapping[str, str]) -> float | None:
    own = (child.tasks.get(task, {}) for child in run.children if child.fold == fold)
    return _mean(figures.get(watched.get(task, "")) for figures in own)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None and math.isfinite(value)]
    return fmean(known) if known else None


def _minus(value: float | None, other: float | None) -> float | None:
    return None if value is None or other is None else value - other


def _order(pairs: Mapping[tuple[int, str], tuple[float | None, float | None]]) -> RankCorrelation | None:
    """Return the mean correlation over folds of pairs by fold and task; tasks with a gap are left out."""
    folds = list(dict.fromkeys(fold for fold, _ in pairs))
    gaps = {task for (_, task), pair in pairs.items() if None in pair}
    names = [task for task in dict.fromkeys(task for _, task in pairs) if task not in gaps]
    if len(names) < FEWEST:
        return None
    table = np.array([[pairs[fold, name] for name in names] for fold in folds], np.float64)  # [F, T, 2]
    drawn = _draws(names)
    resampled = np.mean([spearman(each[drawn, 0], each[drawn, 1]) for each in table], axis=0)
    return _correlation(float(spearman(table[..., 0], table[..., 1]).mean()), resampled, len(names))


def _untrained(predictions: Sequence[Prediction]) -> dict[str, RankCorrelation | None]:
    """Return how well the scores of measured groups are ordered without training; alone, no task is."""
    common = set.intersection(*(set(each.distances) for each in predictions))
    said = {SIZE: [np.where(each.member, each.member.sum(axis=1)[:, None], np.nan) for each in predictions]}
    for name in (name for name in predictions[0].distances if name in common):
        said[name] = [-mean_distances(each.member, each.distances[name]) for each in predictions]
    return {
        name: order_within_tasks(
            (each.tasks, predicted, each.scores) for each, predicted in zip(predictions, by_fold, strict=True)
        )
        for name, by_fold in said.items()
    }


def mean_distances(member: NDArray[np.bool_], distances: Floats) -> Floats:
    """Return the mean distance [n, T] of each task of a group to the others; NaN without others.

    Args:
        member: [n, T], the tasks of each group.
        distances: [T, T], 0 on the diagonal.
    """
    others = member.sum(axis=1)[:, None] - 1
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(member & (others > 0), member @ distances / others, np.nan)


def order_within_tasks(folds: Iterable[tuple[Sequence[str], Floats, Floats]]) -> RankCorrelation | None:
    """Return the mean over tasks, and folds, of the correlation over measured groups.

    Args:
        folds: of each fold the names of its tasks [T], and what was predicted and measured [n, T].
    """
    found: dict[str, list[float]] = {}
    for tasks, *values in folds:
        for name, predicted, measured in zip(tasks, *(each.T for each in values), strict=True):
            known = np.isfinite(predicted) & np.isfinite(measured)
            value = float(spearman(predicted[known], measured[known])) if known.sum() >= FEWEST else math.nan
            if math.isfinite(value):
                found.setdefault(name, []).append(value)
    if len(found) < FEWEST:
        return None
    means = np.array([fmean(values) for values in found.values()])
    return _correlation(float(means.mean()), means[_draws(list(found))].mean(axis=1), len(found))


def _draws(names: Sequence[str]) -> NDArray[np.int64]:
    """Return tasks drawn with replacement [R, T]; the same for the same names."""
    rng = np.random.default_rng(seed_from("bootstrap tasks", content_key(list(names))))
    return rng.integers(0, len(names), (DOCUMENT_RESAMPLES, len(names)))


def _correlation(value: float, resampled: Floats, tasks: int) -> RankCorrelation | None:
    usable = resampled[np.isfinite(resampled)]  # a resample of equal values has no order
    if not math.isfinite(value) or not usable.size:
        return None
    return RankCorrelation(value, expanded_interval(usable, tasks), tasks)


def spearman(first: Floats, second: Floats) -> Floats:
    """Return Spearman's correlation along the last axis; NaN where all values are equal."""
    from scipy.stats import rankdata

    one, two = (rankdata(each, axis=-1) for each in (first, second))
    one, two = (each - each.mean(axis=-1, keepdims=True) for each in (one, two))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((one * two).sum(axis=-1) / np.sqrt((one**2).sum(axis=-1) * (two**2).sum(axis=-1)))
