"""Runs to compare and their comparison, as plain data: what the page is built from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean, stdev

from mtlv.evaluation.learned import BAG_OF_WORDS, CONSTANT, OF_WORDS, Learning, learning, training_end
from mtlv.evaluation.reference import BesideWords
from mtlv.evaluation.significance import Interval
from mtlv.evaluation.tuning import Tried
from mtlv.plan import Scores, Task
from mtlv.plan.shape import StageShape
from mtlv.registries import GROUPINGS

SHOWN_AT_FIRST = 12  # runs switched on when the page opens; more lines are hard to distinguish

Curve = Sequence[tuple[int, float]]
"""(step, value) points, sorted by step."""

NOT_TRAINED = "not trained here"  # in place of the encoder of imported predictions
F1, SCORE = "test/f1_macro", "test/score"
"""Main score of a run: the first if all its tasks are yes/no, else the second."""


@dataclass(frozen=True)
class TaskInfo(Task):
    """A task of a comparison, with its size.

    Args:
        support: number of test documents of one child, out of `documents`, that its metrics are based on: the
            positive ones of a yes/no task, else those with a target.
        documents: number of documents in the test part that have a target for the task.
    """

    support: float = 0.0
    documents: int = 0

    @property
    def frequency(self) -> float:
        """Share of the test documents with the label; NaN if their number is unknown."""
        return self.support / self.documents if self.documents else float("nan")


@dataclass(frozen=True)
class ComparedGroups:
    """Groups of a run, and the reason for their number."""

    groups: tuple[tuple[str, ...], ...]  # task names of each group
    reason: str = ""
    # inertia and silhouette by k; empty if no elbow was computed
    elbow: Mapping[int, tuple[float, float | None]] = field(default_factory=dict)
    recommended: int | None = None  # the k that the elbow recommends
    tried: int | None = None  # the k at which the straight line of the elbow ends; None: the last
    of_k: Mapping[int, tuple[tuple[str, ...], ...]] = field(default_factory=dict)  # most central task first
    # position of each task on the map (first two principal components); empty if unknown
    points: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    # adjusted Rand index to the same grouping with one setting changed
    stability: Mapping[str, float] = field(default_factory=dict)
    medoids: tuple[str, ...] = ()  # the most central task of each group


@dataclass(frozen=True)
class ComparedFold:
    """One fold with one seed of a run.

    Args:
        run_id: run id in the store.
        fold, seed: identify the child; runs are paired by both.
        metrics: last values by key as tracked, such as `test/f1_macro` and `cost/parameters`.
        tasks: test metrics by task name: f1, precision, recall, average_precision, threshold for a yes/no
            task, otherwise those of its kind; support.
        curves: curves by tracked key, with names of tasks and heads: `train/loss`, `val/f1_macro` or
            `val/score`, `val.tasks.M/TASK`, `val.heads.f1_macro/HEAD`, `train.heads.loss/HEAD`.
        kept: validation scores by task name of the kept weights, by the metric that is logged per epoch.
        trained_on: devices of its models; empty if unknown.
        measured: whether a model of its groups was measured to choose them, with its seed.
        validation, test: raw scores; None if they were not read.
    """

    run_id: str
    fold: int
    seed: int
    metrics: Mapping[str, float]
    tasks: Mapping[str, Mapping[str, float]]
    curves: Mapping[str, Curve] = field(default_factory=dict)
    kept: Mapping[str, float] = field(default_factory=dict)
    trained_on: str = ""
    measured: bool = False
    validation: Scores | None = field(default=None, repr=False)
    test: Scores | None = field(default=None, repr=False)

    @property
    def pair(self) -> tuple[int, int]:
        return self.fold, self.seed

    @property
    def main(self) -> float | None:
        """Main score of the run; macro F1 if all tasks are yes/no."""
        return self.metrics.get(SCORE, self.metrics.get(F1))

    @property
    def main_curve(self) -> list[float]:
        """Main validation metric after each epoch; empty if unknown."""
        curves = (self.curves.get(key.replace("test/", "val/")) for key in (SCORE, F1))
        return [value for _, value in next(filter(None, curves), ())]


@dataclass(frozen=True)
class ComparedRun:
    """A suite member, read from a store."""

    key: str  # `r0`, `r1`, ...: its key on the page
    run_id: str  # run id in the store
    name: str
    architecture: str
    encoder: str
    dataset: str
    grouping: str
    status: str  # `FINISHED`, `RUNNING`, `FAILED` or `KILLED`
    # digest of documents, targets and splits; runs with different digests are not comparable
    data_digest: str
    params: Mapping[str, str]  # settings by dotted key
    children: tuple[ComparedFold, ...]  # one child per fold and seed, in order
    # models, each a tuple of heads, which are tuples of task names (first child)
    plan: tuple[tuple[tuple[str, ...], ...], ...] = ()
    groups: ComparedGroups | None = None  # None if the architecture has no groups
    elsewhere: bool = False  # whether other folds have different groups
    link: str | None = None  # address of the run's page, if the store has one
    version: str = ""  # version of mtlv that made the run; empty if unknown
    # names of the tasks or data sets of each stage; an empty tuple means all
    learned: tuple[tuple[str, ...], ...] = ()
    stages: tuple[StageShape, ...] = ()  # the stages that were needed, in order; empty in older runs
    # of its main score minus that of a bag of words, over resampled test documents; None if unknown
    words_interval: Interval | None = None
    # `figures` of `mtlv.reporting.plan_result.Ensemble`; empty if unknown
    ensemble: Mapping[str, float] = field(default_factory=dict)
    is_imported: bool = False  # whether its predictions were imported, and no model was trained

    @property
    def sizes(self) -> list[int]:
        """Sizes of the groups, smallest first; empty without groups."""
        return sorted(map(len, self.groups.groups)) if self.groups else []

    def values(self, key: str) -> list[float]:
        """Return the last value of a metric, one per child that has it."""
        return [child.metrics[key] for child in self.children if key in child.metrics]

    @property
    def seconds(self) -> list[float]:
        """Return the seconds of training, with those of earlier stages, one per child that has them."""
        of_stages = ("time/train_seconds", "time/earlier_stages_seconds")
        pairs = ([child.metrics.get(key) for key in of_stages] for child in self.children)
        return [last + (earlier or 0.0) for last, earlier in pairs if last is not None]

    @property
    def mains(self) -> list[float]:
        """Return the main scores, one per child that has one."""
        return [child.main for child in self.children if child.main is not None]

    def of_task(self, task: str, figure: str = "f1") -> list[float]:
        """Return a test metric of a task, one value per child that has it."""
        return [child.tasks[task][figure] for child in self.children if figure in child.tasks.get(task, {})]


@dataclass(frozen=True)
class Published:
    """A published number: `row` is its name in the paper, `measured` the key of the matching run."""

    row: str
    metric: str
    value: float
    spread: float | None = None
    measured: str | None = None
    note: str = ""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Runs to compare; equal to itself only, so that what is computed of it can be kept."""

    title: str
    runs: tuple[ComparedRun, ...]  # runs in display order, which determines their colours
    tasks: tuple[TaskInfo, ...]  # tasks of all runs, most frequent first
    baseline: str  # key of the run that differences refer to when the page opens
    # all documents of the baseline's corpus by id; empty if it is not available
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    # ids of the documents of each group, by column and name of the group (`data.columns.subgroups`)
    subgroups: Mapping[str, Mapping[str, frozenset[str]]] = field(default_factory=dict, repr=False)
    warnings: tuple[str, ...] = ()
    published: tuple[Published, ...] = ()
    created: str = ""  # date as text
    note: str = ""  # the user's own words, in Markdown
    tried: tuple[Tried, ...] = ()  # values tried for runs; only those that were chosen are among `runs`

    def run(self, key: str) -> ComparedRun:
        return next(run for run in self.runs if run.key == key)

    def learning(self, run: ComparedRun) -> Learning:
        """Return what is known of a run's training; nothing of a run of an earlier release."""
        return self._learnings[run.key]

    @cached_property
    def _learnings(self) -> dict[str, Learning]:
        return {run.key: self._learning(run) for run in self.runs}

    def _learning(self, run: ComparedRun) -> Learning:
        def scores(task: Task, other: str = CONSTANT) -> list[tuple[float, float]]:
            metrics = [child.tasks.get(task.name, {}) for child in run.children]
            needed = {other, task.main_metric}
            return [(row[task.main_metric], row[other]) for row in metrics if needed <= row.keys()]

        end = training_end(child.main_curve for child in run.children)
        mains = {
            child.pair: (child.main, child.metrics[BAG_OF_WORDS])
            for child in run.children
            if child.main is not None and BAG_OF_WORDS in child.metrics
        }
        of_tasks = {task.name: scores(task, OF_WORDS) for task in self.tasks}
        beside = BesideWords(mains, of_tasks, run.words_interval)
        return learning(end, self.tasks, scores, beside, lambda task: run.of_task(task, "average_precision"))

    @property
    def scored(self) -> bool:
        """Whether some run has tasks that are not yes/no, so that the main score is `score`."""
        return any(SCORE in child.metrics for run in self.runs for child in run.children)

    @property
    def shown(self) -> tuple[str, ...]:
        """Keys of the runs that are switched on when the page opens, and tested against each other."""
        return shown_at_first(self.runs, self.baseline)


def is_random(run: ComparedRun) -> bool:
    """Whether the groups of a run are random."""
    method = run.params.get("grouping.method", "")
    return run.groups is not None and method in GROUPINGS and GROUPINGS[method].random


def shown_at_first(runs: Sequence[ComparedRun], baseline: str) -> tuple[str, ...]:
    """Return the keys of the runs that are shown and tested first, in order of the runs.

    These are the baseline and the best run, then runs with random groups of the same sizes beside them, then
    the first of the others. Other random groups are shown only if there is room for all runs: the spread of
    their scores has a figure of its own.
    """
    if len(runs) <= SHOWN_AT_FIRST:
        return tuple(run.key for run in runs)
    scored = [run for run in runs if run.mains]
    best = max(scored, key=lambda run: (fmean(run.mains), not is_random(run)), default=None)
    ahead = {baseline, best and best.key}
    controls = [run.sizes for run in runs if is_random(run)]
    shown = [run for run in runs if run.key in ahead or not is_random(run)]
    shown.sort(key=lambda run: (run.key not in ahead, run.sizes not in controls))
    kept = {run.key for run in shown[:SHOWN_AT_FIRST]}
    return tuple(run.key for run in runs if run.key in kept)


def mean_and_sd(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Return the mean, and the standard deviation with ddof 1; None if there are too few values, or NaN."""
    if not values:
        return None, None
    mean = fmean(values)
    return mean, stdev(values) if len(values) > 1 and math.isfinite(mean) else None
