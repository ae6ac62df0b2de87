"""Scores of finished units by the group of tasks that they learned, of several kinds and seeds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from mtlv.errors import GroupingError
from mtlv.plan import Task
from mtlv.plan.scores import TaskScores
from mtlv.planning.measured import group_score, measured

TASKS = (Task("a"), Task("b"), Task("c"), Task("d"))
NAMES = tuple(task.name for task in TASKS)


def view(*groups: str, other: str = "") -> Any:
    """Return finished units of groups of tasks, with random scores; a letter is a task."""
    rng = np.random.default_rng(0)

    def scores() -> TaskScores:
        targets = np.arange(30, dtype=np.int8) % 3 == 0
        return TaskScores(rng.random(30), targets.astype(np.int8), np.ones(30, bool))

    records = [
        SimpleNamespace(
            validation=SimpleNamespace(tasks={name: scores() for name in group}), train_seconds=1.0
        )
        for group in (*groups, *filter(None, [other]))
    ]
    return SimpleNamespace(corpus=SimpleNamespace(tasks=TASKS, names=NAMES), records=records)


def test_a_score_is_the_mean_over_units_of_what_needs_no_threshold() -> None:
    made = view("ab", "c", "ab", "bcd", "ba", other="abx")
    scores = measured(made)
    assert list(scores) == [frozenset("ab"), frozenset("c"), frozenset("bcd")]
    units = [made.records[n].validation.tasks for n in (0, 2, 4)]
    for name in "ab":
        known = [average_precision_score(unit[name].targets, unit[name].outputs) for unit in units]
        assert scores[frozenset("ab")][name] == pytest.approx(np.mean(known))


def test_measured_groups_need_every_task() -> None:
    with pytest.raises(GroupingError, match=r"got none with c, d\)"):
        group_score.compute(view("ab", "a", "b", other="cdx"))
    value = group_score.compute(view("ab", "cd", "d"))
    member = np.array([[True, True, False, False], [False, False, True, True], [True, True, True, False]])
    assert np.isfinite(value.of(member)).tolist() == [True, True, False]
