"""Titles of the metrics of runs and tasks: F1 if all tasks are yes/no, else each task's main metric."""

from __future__ import annotations

from collections.abc import Sequence

from mtlv.evaluation.compared_runs import Comparison
from mtlv.evaluation.scoring import SCORING
from mtlv.plan import Task

NAMES_OF_PERSONS = ("pearson", "spearman")
SEVERAL = "main metric"
DIFFERENT_TASKS = "The runs were tested on different tasks"
HOW_SCORE = (
    "The score is the mean, over the corpora on which a run was tested, of the main metric of their tasks."
)


def metric_title(figure: str) -> str:
    """Return the readable name of a metric: `average precision`, `F1 macro`."""
    words = figure.replace("_", " ").replace("roc auc", "AUROC")
    words = words.replace("f1", "F1").replace("hamming", "Hamming")
    return words.title() if words in NAMES_OF_PERSONS else words


def main_title(tasks: Sequence[Task]) -> str:
    """Return the main metric of all tasks, or `main metric` if they differ."""
    names = {task.main_metric for task in tasks} or {"f1"}
    return metric_title(names.pop()) if len(names) == 1 else SEVERAL


def describe_support(tasks: Sequence[Task], documents: str = "documents") -> str:
    """Name the documents that the support of the tasks counts."""
    return f"positive {documents}" if all(SCORING[task.kind].counts_positive for task in tasks) else documents


def plan_title(comparison: Comparison) -> str:
    """Return the title of the main score of runs: `macro F1`, or `score`."""
    return "score" if comparison.scored else "macro F1"


def describe_main_metrics(tasks: Sequence[Task]) -> str:
    """Return a sentence on the main metric of each task; empty if they all have the same one."""
    if main_title(tasks) != SEVERAL:
        return ""
    by: dict[str, list[str]] = {}
    for task in tasks:
        by.setdefault(metric_title(task.main_metric), []).append(task.name)
    few = (names if len(names) < 4 else [*names[:3], f"{len(names) - 3} more"] for names in by.values())
    parts = (f"{figure} ({', '.join(names)})" for figure, names in zip(by, few, strict=True))
    return f"The main metric is {'; '.join(parts)}."
