"""A prediction from measured groups, beside the measured scores of the groups that follow from it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from mtlv.evaluation.chance import MAY_DIFFER
from mtlv.evaluation.compared_runs import ComparedRun, Comparison, is_random
from mtlv.evaluation.pairs import alike, comparable
from mtlv.evaluation.scoring import SCORING
from mtlv_lab.prediction import Prediction
from mtlv_lab.predictors import (
    FEWEST,
    Predictor,
    RankCorrelation,
    correlation,
    draws,
    of_measured_groups,
    spearman,
)


@dataclass(frozen=True)
class TaskOutcome:
    """A task of a fold in the group that follows from a prediction; gains are over those of others."""

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
    """A prediction and its outcome.

    Args:
        run: the run whose groups follow from it.
        predictions: the prediction of each fold.
        reference: the runs over which tasks gain: those of random groups that were trained alike, or else the
            baseline; empty without either.
        tasks: the outcome of each task.
        on_validation, on_test: order of the gains of tasks; None of too few.
        predictors: how well the scores of measured groups are known: by the feature from which the groups
            follow, each group predicted from the others; by the number of tasks in the group; and by the same
            groups with another seed.
        random_choice: regret of a measured partition that is drawn at random; None of too few.
    """

    run: ComparedRun
    predictions: Mapping[int, Prediction]
    reference: tuple[ComparedRun, ...]
    tasks: tuple[TaskOutcome, ...]
    on_validation: RankCorrelation | None
    on_test: RankCorrelation | None
    predictors: Mapping[str, Predictor]
    random_choice: float | None

    @property
    def first(self) -> Prediction:
        """Return the prediction of the first fold."""
        return next(iter(self.predictions.values()))

    @property
    def on_others(self) -> RankCorrelation | None:
        """Return the order of scores within tasks over measured groups, each predicted from the others."""
        return self.predictors[self.first.feature].order

    @property
    def alike(self) -> bool:
        """Whether the measured groups were trained as those that follow."""
        return all(prediction.alike for prediction in self.predictions.values())

    @property
    def level(self) -> bool:
        """Whether predicted and measured gains are over the same: the scores in random, or measured, groups.

        Otherwise measured gains are over the baseline, and only their order is predicted.
        """
        return self.alike or any(map(is_random, self.reference))

    @property
    def both(self) -> list[TaskOutcome]:
        """Return the tasks whose gain on validation was predicted and measured."""
        return [task for task in self.tasks if None not in (task.predicted_gain, task.validation_gain)]


def validate(comparison: Comparison, run: ComparedRun, predictions: Mapping[int, Prediction]) -> Validated:
    """Compare a run with the predictions, by fold, from which its groups follow."""
    reference = _reference(comparison, run)
    watched = {task.name: SCORING[task.kind].epoch_metric(task) for task in comparison.tasks}
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
        _order({(task.fold, task.task): (task.predicted_gain, task.validation_gain) for task in tasks}),
        _order({(task.fold, task.task): (task.predicted_gain, task.test_gain) for task in tasks}),
        *of_measured_groups(list(predictions.values())),
    )


def _reference(comparison: Comparison, run: ComparedRun) -> tuple[ComparedRun, ...]:
    controls = [other for other in comparison.runs if is_random(other) and _alike(run, other)]
    baseline = comparison.run(comparison.baseline)
    if not controls and baseline is not run and comparable(run, baseline):
        controls = [baseline]
    return tuple(controls)


def _alike(run: ComparedRun, other: ComparedRun) -> bool:
    """Return whether two runs differ in their groups only."""
    pairs = ({child.pair for child in one.children} for one in (run, other))
    return alike(run, other, MAY_DIFFER) and next(pairs) == next(pairs)


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
            others, expected = np.isfinite(prediction.scores[:, at]), prediction.chosen[at]
            if row is not None and prediction.alike:  # its units are among those from which it is predicted
                others[row], expected = False, prediction.held_out[row, at]
            usual = _mean(prediction.scores[others, at].tolist())
            base = usual
            if not prediction.alike:
                base = _mean(_validation_score(other, fold, name) for other in reference)
            validation, test = _validation_score(run, fold, name), _test_score(run, fold, name, watched)
            on_test = _mean(_test_score(other, fold, name, watched) for other in reference)
            predicted = float(expected) if np.isfinite(expected) else None
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


def _validation_score(run: ComparedRun, fold: int, task: str) -> float | None:
    return _mean(child.kept.get(task) for child in run.children if child.fold == fold)


def _test_score(run: ComparedRun, fold: int, task: str, watched: Mapping[str, str]) -> float | None:
    metrics = (child.tasks.get(task, {}) for child in run.children if child.fold == fold)
    return _mean(figures.get(watched.get(task, "")) for figures in metrics)


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
    drawn = draws(names)
    resampled = np.mean([spearman(rows[drawn, 0], rows[drawn, 1]) for rows in table], axis=0)
    return correlation(float(spearman(table[..., 0], table[..., 1]).mean()), resampled, len(names))
