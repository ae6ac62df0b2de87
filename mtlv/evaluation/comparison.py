"""What `mtlv compare` lays side by side: runs read back from a store, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev

from mtlv.evaluation.mixed import yes_no_tasks
from mtlv.plan import Scores, Task

SHOWN_AT_FIRST = 12  # runs switched on when the page opens; more lines than this cannot be told apart

Curve = Sequence[tuple[int, float]]
"""(step, value), by step."""

F1, SCORE = "test/f1_macro", "test/score"
"""What a run is judged by: the first where all its tasks are yes/no, else the second."""


@dataclass(frozen=True)
class TaskInfo:
    """A task, and how it is judged.

    Args:
        name: unique within a comparison.
        support: test documents of one child, of `documents`, that its figures rest on: the positive ones of
            a yes/no task, else those that have a target.
        documents: of the test part.
        kind, main_metric, source, classes, negative: see `mtlv.plan.Task`.
    """

    name: str
    support: float
    documents: int = 0
    kind: str = "binary"
    main_metric: str = "f1"
    source: str = ""
    classes: tuple[str, ...] = ()
    negative: tuple[str, ...] = ()

    @property
    def task(self) -> Task:
        """What the evaluation takes."""
        how = {"source": self.source, "classes": self.classes, "negative": self.negative}
        return Task(self.name, self.kind, main_metric=self.main_metric, **how)  # type: ignore[arg-type]

    @property
    def yes_no(self) -> bool:
        return bool(yes_no_tasks([self.task]))

    @property
    def frequency(self) -> float:
        """Share of the test documents that have the label; NaN where their number is not known."""
        return self.support / self.documents if self.documents else float("nan")


@dataclass(frozen=True)
class ComparedGroups:
    """Which tasks a run grouped, and what the choice was made by.

    Args:
        groups: task names of each group.
        reason: why this many, in words.
        elbow: inertia and silhouette by k; empty where no elbow was computed.
        recommended: the k that the elbow recommends.
        points: each task's place on the map (first two principal components); empty where unknown.
        stability: adjusted Rand index against the same grouping with one thing changed.
        medoids: the most central task of each group.
    """

    groups: tuple[tuple[str, ...], ...]
    reason: str = ""
    elbow: Mapping[int, tuple[float, float | None]] = field(default_factory=dict)
    recommended: int | None = None
    points: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    stability: Mapping[str, float] = field(default_factory=dict)
    medoids: tuple[str, ...] = ()


@dataclass(frozen=True)
class ComparedFold:
    """One fold with one seed of a run.

    Args:
        run_id: of the store.
        fold, seed: what tells it from its siblings; runs are paired by both.
        metrics: last values by key as tracked, such as `test/f1_macro` and `cost/parameters`.
        tasks: test figures by task name: f1, precision, recall, average_precision, threshold of a yes/no
            task, those of its kind of another; support.
        curves: by key as tracked, tasks and heads by their names: `train/loss`, `val/f1_macro` or
            `val/score`, `val.tasks.M/TASK`, `val.heads.f1_macro/HEAD`, `train.heads.loss/HEAD`.
        validation, test: raw scores; nothing where they were not read.
    """

    run_id: str
    fold: int
    seed: int
    metrics: Mapping[str, float]
    tasks: Mapping[str, Mapping[str, float]]
    curves: Mapping[str, Curve] = field(default_factory=dict)
    validation: Scores | None = field(default=None, repr=False)
    test: Scores | None = field(default=None, repr=False)

    @property
    def pair(self) -> tuple[int, int]:
        return self.fold, self.seed

    @property
    def main(self) -> float | None:
        """What the run is judged by: the score, which is macro F1 where all tasks are yes/no."""
        return self.metrics.get(SCORE, self.metrics.get(F1))


@dataclass(frozen=True)
class ComparedRun:
    """A suite member as read from a store.

    Args:
        key: `r0`, `r1`, ...: how the page names it.
        run_id: of the store.
        name: shown; unique within a comparison.
        architecture, encoder, dataset, grouping: its tags.
        status: `FINISHED`, `RUNNING`, `FAILED` or `KILLED`.
        data_digest: of documents, targets and splits; runs with different digests may not be compared.
        params: settings by dotted key.
        children: a fold with a seed each, in their order.
        plan: models, each a tuple of heads, each a tuple of task names (of the first child).
        groups: nothing where the architecture has none.
        elsewhere: the groups of other folds differ from these.
        link: address of the run's page, where the store has one.
        version: of mtlv that made the run; empty where it is not known.
        learned: names of the tasks or data sets that each stage learned; an empty tuple is all.
    """

    key: str
    run_id: str
    name: str
    architecture: str
    encoder: str
    dataset: str
    grouping: str
    status: str
    data_digest: str
    params: Mapping[str, str]
    children: tuple[ComparedFold, ...]
    plan: tuple[tuple[tuple[str, ...], ...], ...] = ()
    groups: ComparedGroups | None = None
    elsewhere: bool = False
    link: str | None = None
    version: str = ""
    learned: tuple[tuple[str, ...], ...] = ()

    def values(self, key: str) -> list[float]:
        """The last value of a metric, one per child that has it."""
        return [child.metrics[key] for child in self.children if key in child.metrics]

    @property
    def mains(self) -> list[float]:
        """What the run is judged by, one value per child that has it."""
        return [child.main for child in self.children if child.main is not None]

    def of_task(self, task: str, figure: str = "f1") -> list[float]:
        """A test figure of a task, one per child that has it."""
        return [child.tasks[task][figure] for child in self.children if figure in child.tasks.get(task, {})]


@dataclass(frozen=True)
class Published:
    """A number of a paper: `row` names it there, `measured` is the key of the run it is laid beside."""

    row: str
    metric: str
    value: float
    spread: float | None = None
    measured: str | None = None
    note: str = ""


@dataclass(frozen=True)
class Comparison:
    """Runs side by side.

    Args:
        title: the page's.
        runs: in the order shown; colours go by it.
        tasks: of all runs, the most frequent first.
        baseline: key of the run that differences are taken to when the page opens.
        texts: documents by id, of the test part; empty where the corpus is not at hand.
        warnings: what a reader has to know first.
        published: numbers of a paper to lay beside.
        created: date as text.
    """

    title: str
    runs: tuple[ComparedRun, ...]
    tasks: tuple[TaskInfo, ...]
    baseline: str
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    warnings: tuple[str, ...] = ()
    published: tuple[Published, ...] = ()
    created: str = ""

    def run(self, key: str) -> ComparedRun:
        return next(run for run in self.runs if run.key == key)

    @property
    def scored(self) -> bool:
        """Whether some run has tasks of other kinds than yes/no, so that runs are judged by their score."""
        return any(SCORE in child.metrics for run in self.runs for child in run.children)

    @property
    def shown(self) -> tuple[str, ...]:
        """Keys of the runs that are switched on when the page opens; the baseline is always one."""
        return shown_at_first(self.runs, self.baseline)


def shown_at_first(runs: Sequence[ComparedRun], baseline: str) -> tuple[str, ...]:
    """Keys of the first runs and of the baseline."""
    first = [run.key for run in runs[:SHOWN_AT_FIRST]]
    return tuple(first if baseline in first else [*first[:-1], baseline])


def mean_and_sd(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Mean, and standard deviation with ddof 1; nothing where there are too few values."""
    if not values:
        return None, None
    return fmean(values), stdev(values) if len(values) > 1 else None
