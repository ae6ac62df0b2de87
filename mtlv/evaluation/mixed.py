"""Metrics of tasks of any kinds together, on any number of sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from mtlv.evaluation.metrics import Metrics, MetricValues, TaskMetricValues, evaluate
from mtlv.evaluation.scoring import SCORING, main_figure, task_figures
from mtlv.plan.scores import Scores
from mtlv.plan.task import Task


@dataclass(frozen=True)
class OtherMetrics:
    """Metrics of a task without a threshold.

    Args:
        figures: metrics by name.
        main: main metric of the task's corpus.
        support: number of documents with a target.
    """

    figures: Mapping[str, float]
    main: float
    support: int

    def as_dict(self) -> dict[str, float]:
        return {**self.figures, "support": self.support}


@dataclass(frozen=True)
class MixedMetrics:
    """Metrics of a plan with tasks that are not yes/no, or of several kinds.

    Args:
        sources: main metric of each source: the mean over its tasks, i.e. macro F1 for yes/no
            tasks.
        yes_no: metrics of all yes/no tasks together; None if there are none.
    """

    sources: Mapping[str, float]
    yes_no: MetricValues | None = None

    @property
    def main(self) -> float:
        """Mean over the sources."""
        return fmean(self.sources.values())

    def as_dict(self) -> dict[str, float]:
        return {"score": self.main}  # metrics of some tasks could be mistaken for the plan's


def yes_no_tasks(tasks: Sequence[Task]) -> list[str]:
    """Return the names of the tasks that need a threshold."""
    return [task.name for task in tasks if task.kind not in SCORING]


def by_source(tasks: Sequence[Task]) -> dict[str, list[str]]:
    """Return the names of the tasks of each source, in order."""
    found: dict[str, list[str]] = {}
    for task in tasks:
        found.setdefault(task.source, []).append(task.name)
    return found


def evaluate_all(scores: Scores, tasks: Sequence[Task], thresholds: Mapping[str, float]) -> Metrics:
    """Return all metrics of tasks of any kinds; the same as `evaluate` if all are yes/no.

    Args:
        scores: scores of at least these tasks.
        tasks: the T tasks, in the desired order.
        thresholds: decision threshold by yes/no task.

    Raises:
        PlanError, TrainingError: see `evaluate` and `task_figures`.
    """
    together = yes_no_tasks(tasks)
    yes_no = evaluate(scores, together, thresholds) if together else None
    if yes_no is not None and len(together) == len(tasks):
        return yes_no
    found: dict[str, TaskMetricValues] = {} if yes_no is None else dict(yes_no.tasks)
    found |= {task.name: _other(task, scores) for task in tasks if task.kind in SCORING}
    sources = {
        source: fmean(found[name].main for name in names) for source, names in by_source(tasks).items()
    }
    plan = MixedMetrics(sources, None if yes_no is None else yes_no.plan)
    return Metrics(plan, {task.name: found[task.name] for task in tasks})


def _other(task: Task, scores: Scores) -> OtherMetrics:
    own = scores.tasks[task.name]
    figures = task_figures(task, own)
    return OtherMetrics(figures, main_figure(task, figures), int(own.mask.sum()))
