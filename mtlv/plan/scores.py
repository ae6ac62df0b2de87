"""Scores: raw outputs with their targets, from which all metrics can be recomputed."""

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
        outputs: values before any threshold: [N] (`binary`: probabilities; `regression`), [N, C]
            probabilities (`multiclass`), or an array of N tuples of `Span` in words (`tagging`, which has no
            threshold).
        targets: [N], or N tuples of `Span`.
        mask: [N], false for documents without a target for the task.
    """

    outputs: NDArray
    targets: NDArray
    mask: NDArray[np.bool_]


@dataclass(frozen=True)
class Scores:
    """Outputs of one or several units on one split.

    Args:
        units: keys of the units that produced them.
        split: `validation` or `test`.
        ids: document ids [N].
        tasks: scores by task name.
        groups: group of each document [N], see `mtlv.data.splits.units_of`; None if unknown.
    """

    units: tuple[str, ...]
    split: str
    ids: tuple[str, ...]
    tasks: dict[str, TaskScores]
    groups: tuple[str, ...] | None = None

    @property
    def outputs(self) -> dict[str, NDArray]:
        """Outputs by task name."""
        return {name: task.outputs for name, task in self.tasks.items()}

    def with_outputs(self, outputs: Mapping[str, NDArray]) -> Scores:
        """Return a copy with other outputs for the same documents."""
        tasks = {name: replace(task, outputs=outputs[name]) for name, task in self.tasks.items()}
        return replace(self, tasks=tasks)

    def matrix(self, names: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
        """Return outputs and targets of tasks with one output each, both [N, T], in the order of `names`."""
        outputs = np.stack([self.tasks[name].outputs for name in names], axis=1).astype(np.float64)
        targets = np.stack([self.tasks[name].targets for name in names], axis=1).astype(np.int8)
        return outputs, targets


def gather(parts: Sequence[Scores]) -> Scores:
    """Combine the scores of a plan's models, which all scored the same documents.

    Raises:
        PlanError: the parts are of different splits or documents, or have a task in common.
    """
    first = parts[0]
    tasks: dict[str, TaskScores] = {}
    for part in parts:
        if part.split != first.split or part.ids != first.ids:
            raise PlanError(
                f"units {', '.join((*first.units, *part.units))} of one run scored different documents",
                got=_difference(first, part),
                then="train them again: `mtlv run CONFIG --if-exists rerun`",
            )
        doubled = tasks.keys() & part.tasks.keys()
        if doubled:
            raise PlanError("a task was scored by two models", got=", ".join(sorted(doubled)))
        tasks.update(part.tasks)
    units = tuple(u for part in parts for u in part.units)
    groups = next((part.groups for part in parts if part.groups), None)
    return Scores(units, first.split, first.ids, tasks, groups)


def _difference(one: Scores, other: Scores) -> str:
    """Describe the difference between the documents of two scores."""
    if one.split != other.split:
        return f"the parts {one.split} and {other.split}"
    lone = [*(set(one.ids) ^ set(other.ids))]
    counts = f"{len(one.ids)} and {len(other.ids)} documents of the {one.split} part"
    return f"{counts}, of which one alone has `{min(lone)}`" if lone else f"{counts} in another order"
