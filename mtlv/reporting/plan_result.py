"""Results of a plan's models together: scores gathered, thresholds fitted on validation, then evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mtlv.evaluation.abstention import Limits, decisions_by_task, error_limits
from mtlv.evaluation.bootstrap import document_interval, document_weights, not_of_sums, resample_scores
from mtlv.evaluation.calibration import temperatures
from mtlv.evaluation.metrics import Metrics, without_order
from mtlv.evaluation.mixed import evaluate_all
from mtlv.evaluation.reference import ReferenceScores
from mtlv.evaluation.scoring import all_need_thresholds, tasks_with_threshold
from mtlv.evaluation.thresholds import Thresholds, fit_thresholds, grid_values
from mtlv.formatting import many
from mtlv.plan import Scores, Task, gather, mean_scores
from mtlv.store.records import UnitRecord

if TYPE_CHECKING:
    from mtlv.settings.schema import EvaluationSettings


@dataclass(frozen=True)
class Fitted:
    """Validation scores, and what is fitted on them."""

    validation: Scores  # validation scores of the kept weights, all tasks
    thresholds: Thresholds  # fitted on `validation`

    def temperatures(self, tasks: Sequence[Task]) -> dict[str, float]:
        """Return the temperatures of those of `tasks` with probabilities, fitted on `validation`."""
        return temperatures(self.validation, tasks)

    def limits(self, tasks: Sequence[Task]) -> dict[str, Limits]:
        """Return the limits of confidence of those of `tasks` with probabilities, fitted on `validation`."""
        decided = decisions_by_task(self.validation, tasks, self.thresholds.values)
        return {name: error_limits(decisions) for name, decisions in decided.items()}


@dataclass(frozen=True)
class PlanResult(Fitted):
    """Results of one fold run."""

    test: Scores  # as `validation`, for the test part
    metrics: Metrics  # test metrics at those thresholds
    # validation metrics per epoch, each at thresholds fitted on that epoch's scores
    curve: tuple[Metrics, ...]
    records: tuple[UnitRecord, ...]
    earlier: tuple[UnitRecord, ...] = ()  # records of earlier stages

    @property
    def costs(self) -> dict[str, float]:
        """Return the total costs of the plan's models: seconds, documents per second, MB, weights.

        Seconds of earlier stages are separate, because several members may share them; the documents read
        are those of all stages. Empty if nothing was trained here.
        """
        if not self.curve:
            return {}
        seconds = sum(record.train_seconds for record in self.records)
        before = sum(record.train_seconds for record in self.earlier)
        return ({"time/earlier_stages_seconds": before} if self.earlier else {}) | {
            "time/train_seconds": seconds,
            "time/total_seconds": sum(record.total_seconds for record in self.records),
            "cost/documents": float(sum(record.documents for record in (*self.records, *self.earlier))),
            "cost/documents_per_second": sum(record.documents for record in self.records) / seconds,
            "cost/peak_memory_mb": max(record.peak_memory_mb for record in self.records),
            "cost/parameters": float(sum(record.parameters for record in self.records)),
        }

    @property
    def trained_on(self) -> str:
        """Return the devices of the models, of those in stacks with their number."""
        stacks = {(record.device, record.stack) for record in (*self.records, *self.earlier)}
        return " and ".join(
            f"{device} ({count} models at once)" if count > 1 else device for device, count in sorted(stacks)
        )

    @property
    def best_epoch(self) -> int:
        """Return the first epoch with the highest main validation metric: macro F1 for yes/no tasks."""
        values = [metrics.plan.main for metrics in self.curve]
        return values.index(max(values))


ENSEMBLE = "test.ensemble/"
"""Prefix of the test metrics of the mean of a run's folds and seeds."""
LOW, HIGH = "gain_low", "gain_high"


@dataclass(frozen=True)
class Ensemble(Fitted):
    """The mean of the outputs of a member's folds and seeds.

    Documents of a part count only if all have the same ones in it: the others were learned by some of them.
    Without validation documents, its thresholds are the means of those of the folds and seeds.
    """

    # test metrics of the plan, and the 95% interval of the gain of the main one over test documents, if any
    figures: Mapping[str, float]
    text: str  # a sentence on its score


def average_plans(
    outcomes: Sequence[PlanResult], tasks: Sequence[Task], settings: EvaluationSettings
) -> Ensemble:
    """Average the outputs of the results of a member's folds and seeds."""
    validation = mean_scores([outcome.validation for outcome in outcomes])
    test = mean_scores([outcome.test for outcome in outcomes])
    limits = [outcome.thresholds for outcome in outcomes]
    values = {name: fmean(one.values[name] for one in limits) for name in limits[0].values}
    means = replace(limits[0], values=values)
    fitted = _fit(validation, tasks, settings) if validation.ids else means
    figures = dict(evaluate_all(test, tasks, fitted.values).plan.as_dict()) if test.ids else {}
    if figures and not not_of_sums(tasks):
        draws = main_draws(test, tasks, fitted.values)
        singles = [main_draws(outcome.test, tasks, outcome.thresholds.values) for outcome in outcomes]
        gain = document_interval([draws], singles, groups=len(set(test.groups or test.ids)))
        figures |= {} if gain is None else {LOW: gain.low, HIGH: gain.high}
    title = "macro F1" if all_need_thresholds(tasks) else "score"
    text = describe_ensemble(figures, title, [outcome.metrics.plan.main for outcome in outcomes])
    return Ensemble(validation, fitted, figures, text)


def describe_ensemble(figures: Mapping[str, float], title: str, singles: Sequence[float]) -> str:
    """Compare the main test score of an ensemble with the mean of its folds and seeds."""
    what = f"The mean of the outputs of {many(len(singles), 'model')} (folds and seeds)"
    if not figures:
        return f"{what} is not tested: every document was learned by some of them."
    value, single = figures.get("score", figures.get("f1_macro", nan)), fmean(singles)
    ends = f"{figures.get(LOW, nan):+z.3f} to {figures.get(HIGH, nan):+z.3f}"
    interval = f", 95% interval {ends} over test documents" if LOW in figures else ""
    more = f"(difference {value - single:+z.3f}{interval})."
    return f"{what} has a {title} of {value:.3f} on test; one has {single:.3f} on average {more}"


def evaluate_plan(
    records: Sequence[UnitRecord],
    *,
    tasks: Sequence[Task],
    settings: EvaluationSettings,
    known: Mapping[int, Metrics],
    earlier: Sequence[UnitRecord] = (),
) -> PlanResult:
    """Gather scores, fit thresholds and evaluate. Test targets are used only for the test metrics.

    Records are in the plan's order; `known` are validation metrics by epoch that were computed while the last
    model was trained.
    """
    curve = tuple(
        known.get(epoch) or at_epoch([record.validation_at(epoch) for record in records], tasks, settings)
        for epoch in range(max(len(record.curve) for record in records))
    )
    validation = gather([record.validation for record in records])
    test = gather([record.test for record in records])
    thresholds = _fit(validation, tasks, settings)
    metrics = evaluate_all(test, tasks, thresholds.values)
    return PlanResult(
        validation,
        thresholds,
        test,
        metrics if curve else without_order(metrics, test),
        curve,
        tuple(records),
        tuple(earlier),
    )


def _fit(validation: Scores, tasks: Sequence[Task], settings: EvaluationSettings) -> Thresholds:
    names = tasks_with_threshold(tasks)
    if not names:
        return Thresholds({}, settings.threshold)
    grid = grid_values(settings.grid.start, settings.grid.stop, settings.grid.step)
    return fit_thresholds(validation, names, scope=settings.threshold, fixed=settings.fixed, grid=grid)


def reference_scores(
    validation: Scores, test: Scores, tasks: Sequence[Task], settings: EvaluationSettings
) -> ReferenceScores:
    """Return the test scores of a bag of words, at thresholds fitted on validation."""
    values = _fit(validation, tasks, settings).values
    metrics = evaluate_all(test, tasks, values)
    of_tasks = {name: task.main for name, task in metrics.tasks.items() if task.support}
    return ReferenceScores(metrics.plan.main, of_tasks, main_draws(test, tasks, values).tolist())


def main_draws(test: Scores, tasks: Sequence[Task], thresholds: Mapping[str, float]) -> NDArray[np.float64]:
    """Return the main metric on R resamples of the test documents, [R]; empty if it is not one of sums."""
    if not_of_sums(tasks):
        return np.empty(0)
    return resample_scores(test, tasks, thresholds, document_weights(test.ids, test.groups)).main


def at_epoch(parts: Sequence[Scores], tasks: Sequence[Task], settings: EvaluationSettings) -> Metrics:
    """Return the metrics of a plan's models after one epoch, with thresholds fitted on the same scores."""
    scores = gather(parts)
    return evaluate_all(scores, tasks, _fit(scores, tasks, settings).values)
