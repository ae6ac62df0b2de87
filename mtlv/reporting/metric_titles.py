"""What runs and tasks are judged by, in words: F1 where all tasks are yes/no, else each task's own figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mtlv.evaluation.comparison import Comparison, TaskInfo

NAMES_OF_PERSONS = ("pearson", "spearman")
SEVERAL = "main figure"
APART = "The runs were tested on different tasks"
SCORE_SAID = (
    "The score is the mean, over the corpora that a run was tested on, of the figure that their tasks are "
    "judged by."
)


class TaskTitles(Protocol):
    """A task."""

    @property
    def main_metric(self) -> str: ...


def titled(figure: str) -> str:
    """Name of a figure for a person: `average precision`, `F1 macro`."""
    words = figure.replace("_", " ").replace("f1", "F1")
    return words.title() if words in NAMES_OF_PERSONS else words


def main_title(tasks: Sequence[TaskTitles]) -> str:
    """The figure that all tasks are judged by; `main figure` where each has its own."""
    names = {task.main_metric for task in tasks} or {"f1"}
    return titled(names.pop()) if len(names) == 1 else SEVERAL


def plan_title(comparison: Comparison) -> str:
    """What runs are judged by: `macro F1`, or `score`."""
    return "score" if comparison.scored else "macro F1"


def judged_words(tasks: Sequence[TaskInfo]) -> str:
    """Which task is judged by what, in a sentence; empty where all are by the same."""
    if main_title(tasks) != SEVERAL:
        return ""
    by: dict[str, list[str]] = {}
    for task in tasks:
        by.setdefault(titled(task.main_metric), []).append(task.name)
    few = (names if len(names) < 4 else [*names[:3], f"{len(names) - 3} more"] for names in by.values())
    parts = (f"{figure} ({', '.join(names)})" for figure, names in zip(by, few, strict=True))
    return f"The main figure is {'; '.join(parts)}."
