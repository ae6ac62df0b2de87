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

    @property
    def is_decided(self) -> bool:
        """Whether all outputs are 0 or 1: decisions, which no threshold changes."""
        return bool(np.isin(self.outputs[self.mask], (0, 1)).all())


@dataclass(frozen=True)
class Scores:
    """Outputs of one or several units on one part.

    Args:
        units: keys of the units that produced them.
        part: `validation` or `test`.
        ids: document ids [N].
        tasks: scores by task name.
        groups: group of each document [N], see `mtlv.data.splits.units_of`; None if unknown.
    """

    units: tuple[str, ...]
    part: str
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


def mean_outputs(of_models: Sequence[NDArray]) -> NDArray[np.float64]:
    """Return the mean probabilities or numbers of several models for the same documents, [N] or [N, C]."""
    return np.mean(of_models, axis=0, dtype=np.float64)


def mean_scores(of_models: Sequence[Scores]) -> Scores:
    """Return the scores of the mean of several models; of no documents if they scored different ones."""
    first = of_models[0]
    if any(scores.ids != first.ids for scores in of_models):
        none = {n: TaskScores(s.outputs[:0], s.targets[:0], s.mask[:0]) for n, s in first.tasks.items()}
        return replace(first, ids=(), groups=None, tasks=none)
    return first.with_outputs(
        {name: mean_outputs([scores.tasks[name].outputs for scores in of_models]) for name in first.tasks}
    )


def gather(of_models: Sequence[Scores]) -> Scores:
    """Combine the scores of a plan's models, which all scored the same documents.

    Raises:
        PlanError: they are of different parts or documents, or have a task in common.
    """
    first = of_models[0]
    tasks: dict[str, TaskScores] = {}
    for scores in of_models:
        if scores.part != first.part or scores.ids != first.ids:
            raise PlanError(
                f"units {', '.join((*first.units, *scores.units))} of one run scored different documents",
                got=_difference(first, scores),
                then="train them again: `mtlv run CONFIG --if-exists rerun`",
            )
        doubled = tasks.keys() & scores.tasks.keys()
        if doubled:
            raise PlanError("a task was scored by two models", got=", ".join(sorted(doubled)))
        tasks.update(scores.tasks)
    units = tuple(u for scores in of_models for u in scores.units)
    groups = next((scores.groups for scores in of_models if scores.groups), None)
    return Scores(units, first.part, first.ids, tasks, groups)


def _difference(one: Scores, other: Scores) -> str:
    """Describe the difference between the documents of two scores."""
    if one.part != other.part:
        return f"the parts {one.part} and {other.part}"
    lone = [*(set(one.ids) ^ set(other.ids))]
    counts = f"{len(one.ids)} and {len(other.ids)} documents of the {one.part} part"
    return f"{counts}, of which one alone has `{min(lone)}`" if lone else f"{counts} in another order"
