"""Metrics of tasks of any kinds together, on any number of sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from mtlv.evaluation.metrics import Metrics, TaskMetricValues, evaluate
from mtlv.evaluation.scoring import main_figure, task_figures, tasks_with_threshold
from mtlv.plan.scores import Scores
from mtlv.plan.task import Task


@dataclass(frozen=True)
class OtherMetrics:
    """Metrics of a task without a threshold."""

    figures: Mapping[str, float]  # metrics by name
    main: float  # main metric of the task's corpus
    support: int  # number of documents with a target

    def as_dict(self) -> dict[str, float]:
        return {**self.figures, "support": self.support}


@dataclass(frozen=True)
class MixedMetrics:
    """Metrics of a plan whose tasks are not all evaluated jointly."""

    # main metric of each source: the mean over its tasks, i.e. macro F1 for yes/no tasks
    sources: Mapping[str, float]

    @property
    def main(self) -> float:
        """Mean over the sources."""
        return fmean(self.sources.values())

    def as_dict(self) -> dict[str, float]:
        return {"score": self.main}  # metrics of some tasks could be mistaken for the plan's


def by_source(tasks: Sequence[Task]) -> dict[str, list[str]]:
    """Return the names of the tasks of each source, in order."""
    names: dict[str, list[str]] = {}
    for task in tasks:
        names.setdefault(task.source, []).append(task.name)
    return names


def evaluate_all(scores: Scores, tasks: Sequence[Task], thresholds: Mapping[str, float]) -> Metrics:
    """Return all metrics of tasks of any kinds; the same as `evaluate` if all need a threshold.

    Args:
        scores: scores of at least these tasks.
        tasks: the T tasks, in the desired order.
        thresholds: decision threshold by task that needs one.

    Raises:
        PlanError, TrainingError: see `evaluate` and `task_figures`.
    """
    names = tasks_with_threshold(tasks)
    joint = evaluate(scores, names, thresholds) if names else None
    if joint is not None and len(names) == len(tasks):
        return joint
    by_task: dict[str, TaskMetricValues] = {} if joint is None else dict(joint.tasks)
    for task in tasks:
        if task.name not in by_task:
            task_scores = scores.tasks[task.name]
            figures, support = task_figures(task, task_scores), int(task_scores.mask.sum())
            by_task[task.name] = OtherMetrics(figures, main_figure(task, figures), support)
    sources = {
        source: fmean(by_task[name].main for name in names) for source, names in by_source(tasks).items()
    }
    return Metrics(MixedMetrics(sources), {task.name: by_task[task.name] for task in tasks})
