"""Features of tasks that are measured: the validation scores of finished units. Test scores are not read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations
from math import fsum
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from mtlv.errors import GroupingError
from mtlv.evaluation.scoring import SCORING, task_figures
from mtlv.formatting import list_first
from mtlv.grouping import ListedValues
from mtlv.plan import Task, TaskScores
from mtlv.planning.task_vectors import VectorSource, task_feature

Measured = dict[frozenset[str], dict[str, float]]


def measured(view: VectorSource) -> Measured:
    """Return the validation score of each task, by the group of tasks that a unit learned together.

    A score is the metric that is logged per epoch, which needs no threshold (average precision for yes/no
    labels), of the kept weights; the mean over all units of a group, such as those of several seeds. Units
    that also learned other tasks are left out.
    """
    known = {task.name: task for task in view.corpus.tasks}
    units: dict[frozenset[str], list[dict[str, float]]] = {}
    for record in view.records:
        scores = record.validation.tasks
        if scores.keys() <= known.keys():
            unit_scores = {name: validation_score(known[name], scores[name]) for name in scores}
            units.setdefault(frozenset(scores), []).append(unit_scores)
    return {
        group: {name: fmean(unit_scores[name] for unit_scores in scores) for name in group}
        for group, scores in units.items()
    }


def validation_score(task: Task, scores: TaskScores) -> float:
    """Return the metric that is logged per epoch, which needs no threshold."""
    return task_figures(task, scores)[SCORING[task.kind].epoch_metric(task)]


def _need_pairs(names: Sequence[str], groups: Collection[frozenset[str]]) -> None:
    needed = [frozenset((name,)) for name in names] + [frozenset(pair) for pair in combinations(names, 2)]
    missing = [
        " with ".join(name for name in names if name in group) for group in needed if group not in groups
    ]
    if missing:
        raise GroupingError(
            "`grouping.features: pair_gain` needs a model of each task alone and one of each two tasks",
            got=f"none of {list_first(missing)}",
            then="name members that learn them in `grouping.from` (`tasks: [A, B]`), or set "
            "`grouping.features: group_score`",
        )


def _need_tasks(names: Sequence[str], groups: Collection[frozenset[str]]) -> None:
    missing = [name for name in names if not any(name in group for group in groups)]
    if missing:
        raise GroupingError(
            "`grouping.features: group_score` needs models of groups that together hold every task",
            got=f"none with {list_first(missing)}",
            then="name more members in `grouping.from`, of the same `tasks`",
        )


@task_feature(kind="affinity", cover=_need_pairs)
def pair_gain(view: VectorSource) -> NDArray[np.float64]:
    """Return what each task gains with each other [T, T]: its validation score with it, minus that alone.

    Rows receive, columns give. Source: Standley et al., "Which tasks should be learned together in multi-task
    learning?" (ICML 2020).

    Raises:
        GroupingError: a pair, or a task alone, was not learned.
    """
    scores, names = measured(view), view.corpus.names
    _need_pairs(names, scores)
    alone = [scores[frozenset((name,))][name] for name in names]
    together = [[scores[frozenset((to, by))][to] for by in names] for to in names]
    return np.array(together) - np.array(alone)[:, None]


@task_feature(kind="group values", cover=_need_tasks)
def group_score(view: VectorSource) -> ListedValues:
    """Return the value of each group that was learned: the sum of its tasks' validation scores.

    The scores of all tasks alone are the same in each partition, so gains would give the same groups.

    Raises:
        GroupingError: a task is in no group.
    """
    scores, names = measured(view), view.corpus.names
    _need_tasks(names, scores)
    numbers = {name: number for number, name in enumerate(names)}
    values: dict[Sequence[int], float] = {
        tuple(sorted(numbers[name] for name in group)): fsum(row.values()) for group, row in scores.items()
    }
    return ListedValues(values, len(names))
