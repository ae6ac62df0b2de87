"""One choice of each kind that another package can add."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mtlv.comparison.blocks import Section, TextBlock
from mtlv.evaluation.compared_runs import Comparison
from mtlv.grouping.cluster import GroupLabels
from mtlv.grouping.methods import GroupingMethod, Space
from mtlv.plan.architectures import Groups, architecture
from mtlv.plan.objectives import Combine
from mtlv.plan.tree import HeadSpec, ModelSpec, Plan
from mtlv.planning.task_vectors import VectorSource, task_feature
from mtlv.tracking import NullTracker, RunSpec
from mtlv.tracking.tracker import Status
from mtlv.training.balancing import Balancer


@architecture("one model for each two neighbouring tasks")
def pairs(tasks: Sequence[str], groups: Groups, layers: int) -> Plan:
    """A model for tasks 1 and 2, one for tasks 3 and 4, and so on."""
    chosen = (tuple(tasks[n : n + 2]) for n in range(0, len(tasks), 2))
    return Plan(tuple(ModelSpec((HeadSpec(two, layers),)) for two in chosen))


@task_feature()
def initial(source: VectorSource) -> NDArray[np.float32]:
    """The number of the first letter of each task's name [T, 1]."""
    return np.array([[ord(name[0])] for name in source.corpus.names], np.float32)


def _equal_rows(space: Space, k: int | None) -> GroupLabels:
    return GroupLabels(np.unique(space.raw, axis=0, return_inverse=True)[1].reshape(-1), ("equal features",))


by_initial = GroupingMethod(_equal_rows)
sgd_with_momentum = partial(torch.optim.SGD, momentum=0.9)
halved = Combine(lambda _, weights: weights.new_full((len(weights),), 0.5))


class FirstDoubled(Balancer):
    """The first loss counts twice."""

    def factors(self, losses: Any) -> Any:
        factors = losses.new_ones(self.count)
        factors[0] = 2
        return factors


def first_letters(comparison: Comparison) -> Section | None:
    """A section with the first letters of all runs."""
    letters = ", ".join(run.name[0] for run in comparison.runs)
    return Section("first_letters", "First letters", "Of the runs.", [TextBlock(f"They are {letters}.")])


class Log(NullTracker):
    """Appends the name and the end of each run to a file."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def open_run(self, spec: RunSpec) -> str:
        self.names[spec.uid] = spec.name
        return spec.uid

    def close(self, run: str, status: Status = "FINISHED", ended_ms: int = 0) -> None:
        with Path("runs.log").open("a", encoding="utf-8") as file:
            file.write(f"{self.names[run]}: {status}\n")
