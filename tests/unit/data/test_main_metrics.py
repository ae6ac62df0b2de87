"""What the catalog says of its tasks is what can be scored."""

from __future__ import annotations

import numpy as np
import pytest

from mtlv.data import catalog
from mtlv.data.targets import TARGETS, spans_column
from mtlv.evaluation.mixed import evaluate_all
from mtlv.plan import Scores, Task, TaskScores

OTHERS = [task for name in catalog.names() for task in catalog.card(name).other_tasks]
MADE = {
    "binary": lambda _: (np.array([0.4, 0.6]), np.array([0, 1])),
    "multiclass": lambda task: (np.eye(len(task.classes)), np.arange(len(task.classes))),
    "regression": lambda _: (np.array([0.0, 1.0]), np.array([1.0, 2.0])),
    "tagging": lambda _: (spans_column([[], []]), spans_column([[], []])),
    "mlm": lambda _: (np.ones((2, 6)), np.zeros(2)),
}


@pytest.mark.parametrize("task", OTHERS, ids=lambda task: task.name)
def test_the_main_metric_is_one_of_the_kinds_figures(task: Task) -> None:
    assert task.kind in TARGETS
    outputs, targets = MADE[task.kind](task)
    own = TaskScores(outputs, targets, np.ones(len(targets), bool))
    scores = Scores(("u",), "test", tuple(map(str, targets)), {task.name: own})
    found = evaluate_all(scores, [task], {task.name: 0.5}).tasks[task.name]
    assert 0 <= found.main <= 1
    assert found.as_dict()[task.main_metric] == found.main


def test_names_of_tasks_are_unique_over_the_catalog() -> None:
    names = [task.name for task in OTHERS]
    assert len(set(names)) == len(names)
