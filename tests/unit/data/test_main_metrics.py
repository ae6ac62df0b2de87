"""What the catalog says of its tasks is what can be scored."""

from __future__ import annotations

import numpy as np
import pytest

from mtlv.data import catalog
from mtlv.data.targets import TARGETS, spans_column
from mtlv.evaluation.scoring import SCORING, main_figure, task_figures
from mtlv.plan import Task, TaskScores

OTHERS = [task for name in catalog.names() for task in catalog.card(name).other_tasks]
MADE = {
    "multiclass": lambda task: (np.eye(len(task.classes)), np.arange(len(task.classes))),
    "regression": lambda _: (np.array([0.0, 1.0]), np.array([1.0, 2.0])),
    "tagging": lambda _: (spans_column([[], []]), spans_column([[], []])),
}


@pytest.mark.parametrize("task", OTHERS, ids=lambda task: task.name)
def test_the_main_metric_is_one_of_the_kinds_figures(task: Task) -> None:
    assert task.kind in TARGETS
    if task.kind in SCORING:
        outputs, targets = MADE[task.kind](task)
        figures = task_figures(task, TaskScores(outputs, targets, np.ones(len(targets), bool)))
        assert 0 <= main_figure(task, figures) <= 1


def test_names_of_tasks_are_unique_over_the_catalog() -> None:
    names = [task.name for task in OTHERS]
    assert len(set(names)) == len(names)
