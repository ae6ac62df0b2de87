"""Scores of one or several runs, pooled over folds and seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mtlv.comparison.output_readers import READINGS
from mtlv.evaluation.compared_runs import ComparedRun
from mtlv.plan import Scores, Task, TaskScores


@dataclass(frozen=True)
class PooledTask:
    """Mean outputs [D, ...] for D documents, their targets [D], a mask of those with a target [D], and of how
    many outputs each is the mean [D].
    """

    outputs: NDArray
    targets: NDArray
    known: NDArray[np.bool_]
    counts: NDArray[np.int64]

    def rows(self, chosen: NDArray[np.int64]) -> PooledTask:
        """Return those of some documents, in this order."""
        return PooledTask(self.outputs[chosen], self.targets[chosen], self.known[chosen], self.counts[chosen])


@dataclass(frozen=True)
class PooledScores:
    """Outputs by document."""

    ids: tuple[str, ...]  # ids of the D documents, sorted
    tasks: Mapping[str, PooledTask]  # outputs by task name


def one_after_the_other(run: ComparedRun, split: str) -> Scores | None:
    """Concatenate the children's scores of `validation` or `test`; a document may occur several times.

    Only tasks scored by all of them are kept; None if no child has scores.
    """
    scores = [child.validation if split == "validation" else child.test for child in run.children]
    parts = [part for part in scores if part is not None and part.ids]
    if not parts:
        return None
    names = [name for name in parts[0].tasks if all(name in part.tasks for part in parts)]
    tasks = {name: _below([part.tasks[name] for part in parts]) for name in names}
    units = tuple(unit for part in parts for unit in part.units)
    return Scores(units, split, tuple(i for part in parts for i in part.ids), tasks)


def _below(parts: Sequence[TaskScores]) -> TaskScores:
    return TaskScores(
        np.concatenate([part.outputs for part in parts]),
        np.concatenate([part.targets for part in parts]),
        np.concatenate([part.mask for part in parts]).astype(bool),
    )


def by_document(parts: Sequence[Scores], tasks: Sequence[Task]) -> PooledScores:
    """Pool the outputs of those of `tasks` that have any, by document."""
    ids = sorted({id_ for part in parts for id_ in part.ids})
    at = {id_: row for row, id_ in enumerate(ids)}
    pooled = {}
    for task in tasks:
        scored = [part for part in parts if task.name in part.tasks]
        if scored:
            place = np.array([at[id_] for part in scored for id_ in part.ids], np.int64)
            scores = _below([part.tasks[task.name] for part in scored])
            pooled[task.name] = _of_task(task, scores, place, len(ids))
    return PooledScores(tuple(ids), pooled)


def _of_task(task: Task, scores: TaskScores, place: NDArray[np.int64], documents: int) -> PooledTask:
    outputs = READINGS[task.kind].combine(scores.outputs, place, documents)
    known = np.zeros(documents, bool)
    known[place[scores.mask]] = True
    targets = np.empty(documents, scores.targets.dtype)
    targets[place[scores.mask]] = scores.targets[scores.mask]  # the same in all parts
    return PooledTask(outputs, targets, known, np.bincount(place, minlength=documents))
