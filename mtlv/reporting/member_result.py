"""Results of a member's children: rows of the table, means, spreads and mean curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import nan
from statistics import fmean, stdev

import numpy as np

from mtlv.evaluation.bootstrap import document_interval
from mtlv.evaluation.compared_runs import mean_and_sd
from mtlv.evaluation.learned import GAIN_HIGH, GAIN_LOW, Learning, learning, training_end
from mtlv.evaluation.reference import BesideWords, ReferenceScores
from mtlv.evaluation.scoring import all_need_thresholds
from mtlv.evaluation.significance import Interval
from mtlv.plan import Task, slugs
from mtlv.plan.splitting import Splitting
from mtlv.planning.groups import TaskGroups
from mtlv.planning.resolve import FoldRun, ResolvedMember
from mtlv.reporting.metrics import MetricNames, constant_metrics, last_timestamp, reference_metrics
from mtlv.reporting.plan_result import ENSEMBLE, Ensemble, PlanResult, average_plans, main_draws
from mtlv.reporting.suite_table import SuiteMember
from mtlv.tracking import Metric

NO_FIGURES = ("support", "threshold")
FACTORS = ("train.tasks.factor/", "train.heads.factor/")
CURVES = (
    "train/",
    "val/",
    "train.heads.loss/",
    *FACTORS,
    "val.heads.",
    "val.tasks.",
    "train.texts.",
    "val.texts.",
)
"""Prefixes of metrics with a value per epoch."""


@dataclass(frozen=True)
class FoldResult:
    """Results of a fold with a seed."""

    member: str  # name of its member
    name: str  # name of its run
    fold_run: FoldRun  # its fold, seed, groups and plan
    names: MetricNames  # names of the plan's heads and tasks
    outcome: PlanResult
    points: tuple[Metric, ...]  # every metric logged
    # main test metric of each task's constant answer, see `mtlv.evaluation.learned`
    constants: Mapping[str, float]
    reference: ReferenceScores | None = None  # scores of a bag of words, where they are known


@dataclass(frozen=True)
class MemberResult:
    """A member and the results of its children."""

    resolved: ResolvedMember
    children: tuple[FoldResult, ...]
    generated: bool  # whether its documents are generated
    # words with their pieces, if the encoder has a vocabulary of its own
    splittings: tuple[Splitting, ...] = ()

    @property
    def outcomes(self) -> tuple[PlanResult, ...]:
        return tuple(fold_result.outcome for fold_result in self.children)

    @property
    def name(self) -> str:
        return self.resolved.name

    @property
    def title(self) -> str:
        """Return name and data set, and whether the data is generated."""
        data = self.resolved.settings.data.title
        return f"{self.name} on {data}{' (generated reports)' if self.generated else ''}"

    @property
    def timestamp_ms(self) -> int:
        """Return the end of the last epoch in milliseconds."""
        return max(last_timestamp(outcome) for outcome in self.outcomes)

    def of_task(self, task: str, figure: str) -> list[float]:
        """Return a test metric of a task, one value per fold run that has it."""
        values = (outcome.metrics.tasks[task].as_dict() for outcome in self.outcomes)
        return [of_fold[figure] for of_fold in values if figure in of_fold]

    def of_plan(self, figure: str) -> list[float]:
        """Return a test metric of the plan, one value per fold run that has it."""
        values = (outcome.metrics.plan.as_dict() for outcome in self.outcomes)
        return [of_fold[figure] for of_fold in values if figure in of_fold]

    def main(self, task: str) -> list[float]:
        """Return the main test metric of a task, one value per fold run."""
        return [outcome.metrics.tasks[task].main for outcome in self.outcomes]

    @cached_property
    def learning(self) -> Learning:
        """Return what is known of its training."""

        def scores(task: Task) -> list[tuple[float, float]]:
            values = zip(self.main(task.name), self.children, strict=True)
            return [(value, c.constants[task.name]) for value, c in values if task.name in c.constants]

        curves = ([metrics.plan.main for metrics in outcome.curve] for outcome in self.outcomes)
        known = self.resolved.tasks
        precisions = partial(self.of_task, figure="average_precision")
        return learning(training_end(curves), known, scores, self.beside, precisions)

    @cached_property
    def beside(self) -> BesideWords:
        """Return its scores and those of a bag of words, of the children that have both."""
        both = [(result, result.reference) for result in self.children if result.reference is not None]
        mains = {
            (result.fold_run.fold.index, result.fold_run.seed): (result.outcome.metrics.plan.main, words.main)
            for result, words in both
        }
        tasks = {
            task: [(c.outcome.metrics.tasks[task].main, w.tasks[task]) for c, w in both if task in w.tasks]
            for task in self.resolved.task_names
        }
        return BesideWords(mains, tasks, self._words_interval([words for _, words in both]))

    def _words_interval(self, references: Sequence[ReferenceScores]) -> Interval | None:
        """Return the interval of its gain over test documents; None unless all children can be resampled."""
        if len(references) < len(self.children):
            return None
        known, outcomes = self.resolved.tasks, self.outcomes
        run_draws = [main_draws(outcome.test, known, outcome.thresholds.values) for outcome in outcomes]
        words_draws = [np.asarray(reference.draws) for reference in references]
        if not all(draws.size for draws in (*run_draws, *words_draws)):
            return None
        groups = min(len(set(outcome.test.groups or outcome.test.ids)) for outcome in outcomes)
        return document_interval(run_draws, words_draws, groups=groups)

    def figures(self, task: str) -> list[str]:
        """Return the names of a task's test metrics."""
        values = self.outcomes[0].metrics.tasks[task].as_dict()
        return [name for name in values if name not in NO_FIGURES]

    @cached_property
    def ensemble(self) -> Ensemble | None:
        """Return the mean of its folds and seeds; None if the settings do not ask for it."""
        settings, is_trained = self.resolved.settings, self.resolved.settings.predictions is None
        if settings.tracking.models == "ensemble" and is_trained and len(self.children) > 1:
            return average_plans(self.outcomes, self.resolved.tasks, settings.evaluation)
        return None

    @property
    def joint(self) -> bool:
        """Whether its tasks are evaluated jointly."""
        return all_need_thresholds(self.resolved.tasks)


def as_members(results: Sequence[MemberResult]) -> list[SuiteMember]:
    """Return names and metrics for the suite's table."""
    return [SuiteMember(result.name, tuple(map(_figures, result.outcomes))) for result in results]


def error_bars(values: Sequence[Sequence[float]]) -> list[float]:
    """Return the standard deviation of each; NaN, which draws no bar, for one value."""
    return [nan if (sd := mean_and_sd(scores)[1]) is None else sd for scores in values]


def _figures(outcome: PlanResult) -> dict[str, float]:
    costs = {key.split("/")[1]: value for key, value in outcome.costs.items()}
    return outcome.metrics.plan.as_dict() | costs


def member_metrics(result: MemberResult) -> list[Metric]:
    """Return means and spreads over the children, and the elbow curve with k as the step; see `LiveMember`
    for the means of their curves.
    """
    at = result.timestamp_ms
    out = []
    for name in result.outcomes[0].metrics.plan.as_dict():
        values = result.of_plan(name)
        out.append(Metric(f"test/{name}", fmean(values), 0, at))
        if len(values) > 1:
            out.append(Metric(f"test/{name}_std", stdev(values), 0, at))
    slug_of = slugs(result.resolved.task_names)
    for task, slug in slug_of.items():
        out += [
            Metric(f"test.tasks.{figure}/{slug}", fmean(result.of_task(task, figure)), 0, at)
            for figure in result.figures(task)
        ]
    if result.ensemble is not None:
        out += [Metric(f"{ENSEMBLE}{name}", value, 0, at) for name, value in result.ensemble.figures.items()]
    costs = [outcome.costs for outcome in result.outcomes]
    out += [Metric(key, fmean(cost[key] for cost in costs), 0, at) for key in costs[0]]
    out += constant_metrics(_constants(result), slug_of, at)
    out += _reference_metrics(result, slug_of, at)
    groups = result.resolved.children[0].groups
    return out if groups is None else out + _group_metrics(groups, at)


def _constants(result: MemberResult) -> dict[str, float]:
    """Return the mean metric of each task's constant answer."""
    metrics = {
        task: [one.constants[task] for one in result.children if task in one.constants]
        for task in result.resolved.task_names
    }
    return {task: fmean(values) for task, values in metrics.items() if values}


def _reference_metrics(result: MemberResult, slug_of: Mapping[str, str], at: int) -> list[Metric]:
    """Return the mean metrics of a bag of words, and the interval of the gain over it."""
    beside = result.beside
    if beside.means is None:
        return []
    of_tasks = {task: fmean(words for _, words in pairs) for task, pairs in beside.tasks.items() if pairs}
    metrics = reference_metrics(ReferenceScores(beside.means[1], of_tasks), slug_of, at)
    if beside.interval:
        metrics += [
            Metric(GAIN_LOW, beside.interval.low, 0, at),
            Metric(GAIN_HIGH, beside.interval.high, 0, at),
        ]
    return metrics


def _group_metrics(groups: TaskGroups, at: int) -> list[Metric]:
    out = [Metric(f"grouping.stability/{name}", value, 0, at) for name, value in groups.stability.items()]
    if groups.elbow is not None:
        rows = zip(groups.elbow.k, groups.elbow.inertia, groups.elbow.silhouette, strict=True)
        for k, inertia, silhouette in rows:
            out.append(Metric("elbow/inertia", inertia, k, at))
            if silhouette is not None:
                out.append(Metric("elbow/silhouette", silhouette, k, at))
    return out
