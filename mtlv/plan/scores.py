"""Scores: raw outputs with their targets, from which every figure can be computed again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mtlv.errors import PlanError


@dataclass(frozen=True)
class TaskScores:
    """Raw outputs of one task.

    Args:
        outputs: before any threshold: [N] (`binary`: probabilities; `regression`), [N, C] probabilities
            (`multiclass`), or an array of N tuples of `Span` in words (`tagging`, which has no threshold).
        targets: [N], or likewise N tuples of `Span`.
        mask: [N], false where the task has no target.
    """

    outputs: NDArray
    targets: NDArray
    mask: NDArray[np.bool_]


@dataclass(frozen=True)
class Scores:
    """Outputs of one or several units on one split.

    Args:
        units: keys of the units that made them.
        split: `validation` or `test`.
        ids: document ids [N].
        tasks: scores by task name.
        groups: what each document is part of [N], see `mtlv.data.splits.wholes`; nothing where not known.
    """

    units: tuple[str, ...]
    split: str
    ids: tuple[str, ...]
    tasks: dict[str, TaskScores]
    groups: tuple[str, ...] | None = None

    @property
    def outputs(self) -> dict[str, NDArray]:
        """By task name."""
        return {name: task.outputs for name, task in self.tasks.items()}

    def with_outputs(self, outputs: Mapping[str, NDArray]) -> Scores:
        """Other outputs for the same documents."""
        tasks = {name: replace(task, outputs=outputs[name]) for name, task in self.tasks.items()}
        return replace(self, tasks=tasks)

    def matrix(self, names: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
        """Outputs and targets of tasks with one output each, both [N, T], in the order of `names`."""
        outputs = np.stack([self.tasks[name].outputs for name in names], axis=1).astype(np.float64)
        targets = np.stack([self.tasks[name].targets for name in names], axis=1).astype(np.int8)
        return outputs, targets


def gather(parts: Sequence[Scores]) -> Scores:
    """One Scores of a plan's models, which all scored the same documents.

    Raises:
        PlanError: the parts are of different splits or documents, or share a task.
    """
    first = parts[0]
    tasks: dict[str, TaskScores] = {}
    for part in parts:
        if part.split != first.split or part.ids != first.ids:
            raise PlanError("scores of different documents cannot be gathered", got=part.units)
        doubled = tasks.keys() & part.tasks.keys()
        if doubled:
            raise PlanError("a task was scored by two models", got=", ".join(sorted(doubled)))
        tasks.update(part.tasks)
    units = tuple(u for part in parts for u in part.units)
    groups = next((part.groups for part in parts if part.groups), None)
    return Scores(units, first.split, first.ids, tasks, groups)
