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
from mtlv.formatting import enumerated
from mtlv.grouping import GroupValue, ListedValues
from mtlv.grouping.surrogate import fit_surrogate
from mtlv.plan import Task, TaskScores
from mtlv.planning.task_vectors import VectorSource, task_feature

FEWEST = 3
"""Different groups of a task that a surrogate needs."""
Measured = dict[frozenset[str], dict[str, float]]


def measured(view: VectorSource) -> Measured:
    """Return the validation score of each task, by the group of tasks that a unit learned together.

    A score is the metric that is logged per epoch, which needs no threshold (average precision for yes/no
    labels), of the kept weights; the mean over all units of a group, such as those of several seeds. Units
    that also learned other tasks are left out.
    """
    known = {task.name: task for task in view.corpus.tasks}
    found: dict[frozenset[str], list[dict[str, float]]] = {}
    for record in view.records:
        scores = record.validation.tasks
        if scores.keys() <= known.keys():
            each = {name: _score(known[name], scores[name]) for name in scores}
            found.setdefault(frozenset(scores), []).append(each)
    return {
        group: {name: fmean(each[name] for each in scores) for name in group}
        for group, scores in found.items()
    }


def _score(task: Task, scores: TaskScores) -> float:
    return task_figures(task, scores)[SCORING[task.kind].watched(task)]


def _pairs_covered(names: Sequence[str], groups: Collection[frozenset[str]]) -> None:
    needed = [frozenset((name,)) for name in names] + [frozenset(pair) for pair in combinations(names, 2)]
    missing = [
        " with ".join(name for name in names if name in group) for group in needed if group not in groups
    ]
    if missing:
        raise GroupingError(
            "`grouping.features: pair_gain` needs a model of each task alone and one of each two tasks",
            got=f"none of {enumerated(missing)}",
            then="name members that learn them in `grouping.from` (`tasks: [A, B]`), or set "
            "`grouping.features: group_score`",
        )


def _tasks_covered(names: Sequence[str], groups: Collection[frozenset[str]]) -> None:
    missing = [name for name in names if not any(name in group for group in groups)]
    if missing:
        raise GroupingError(
            "`grouping.features: group_score` needs models of groups that together hold every task",
            got=f"none with {enumerated(missing)}",
            then="name more members in `grouping.from`, of the same `tasks`",
        )


@task_feature(kind="affinity", cover=_pairs_covered)
def pair_gain(view: VectorSource) -> NDArray[np.float64]:
    """Return what each task gains with each other [T, T]: its validation score with it, minus that alone.

    Rows receive, columns give. Source: Standley et al., "Which tasks should be learned together in multi-task
    learning?" (ICML 2020).

    Raises:
        GroupingError: a pair, or a task alone, was not learned.
    """
    scores, names = measured(view), view.corpus.names
    _pairs_covered(names, scores)
    alone = [scores[frozenset((name,))][name] for name in names]
    together = [[scores[frozenset((to, by))][to] for by in names] for to in names]
    return np.array(together) - np.array(alone)[:, None]


@task_feature(kind="group values", cover=_tasks_covered)
def group_score(view: VectorSource) -> ListedValues:
    """Return the value of each group that was learned: the sum of its tasks' validation scores.

    The scores of all tasks alone are the same in each partition, so gains would give the same groups.

    Raises:
        GroupingError: a task is in no group.
    """
    scores, names = measured(view), view.corpus.names
    _tasks_covered(names, scores)
    numbers = {name: number for number, name in enumerate(names)}
    values: dict[Sequence[int], float] = {
        tuple(sorted(numbers[name] for name in group)): fsum(each.values()) for group, each in scores.items()
    }
    return ListedValues(values, len(names))


def _pairs_met(names: Sequence[str], groups: Collection[frozenset[str]]) -> None:
    few = [name for name in names if sum(name in group for group in groups) < FEWEST]
    if few:
        raise GroupingError(
            f"`grouping.features: surrogate` needs {FEWEST} different groups or more of each task",
            got=f"fewer of {enumerated(few)}",
            then="raise `explore.partitions`, or name more members in `grouping.from`",
        )
    pairs = list(combinations(names, 2))
    apart = [pair for pair in pairs if not any(set(pair) <= group for group in groups)]
    if apart:
        raise GroupingError(
            "`grouping.features: surrogate` needs every two tasks together in one group at least",
            got=f"{len(apart)} of {len(pairs)} pairs were never together, such as {' with '.join(apart[0])}",
            then="raise `explore.partitions`, or set a smaller `explore.k` or another `explore.seed`",
        )


@task_feature(kind="group values", cover=_pairs_met)
def surrogate(view: VectorSource) -> GroupValue:
    """Return the predicted value of any group, from groups that were learned (`mtlv.grouping.surrogate`).

    Raises:
        GroupingError: a task is in too few groups, or two tasks were never learned together.
    """
    scores, names = measured(view), view.corpus.names
    _pairs_met(names, scores)
    member = np.array([[name in group for name in names] for group in scores])
    table = np.array([[each.get(name, np.nan) for name in names] for each in scores.values()])
    fitted = fit_surrogate(member, table)
    together = member.astype(int).T @ member
    met = together[~np.eye(len(names), dtype=bool)].min()
    hours = sum(record.train_seconds for record in view.records) / 3600
    fitted.value.note = (
        f"predicted from {len(scores)} measured groups, which took {hours:.1f} h to train; every two tasks "
        f"were together in {met} of them or more; of a task's variance over groups left out in turn, "
        f"{max(fitted.skill, 0):.0%} is predicted"
    )
    return fitted.value
