"""Architectures: short functions that return a Plan for task names and groups.

To add one, write a function with `@architecture` and add its line to `mtlv.registries`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mtlv.plan.tree import HeadSpec, ModelSpec, Plan

Groups = Sequence[Sequence[str]]
Build = Callable[[Sequence[str], Groups, int], Plan]


@dataclass(frozen=True)
class Architecture:
    """A layout of tasks, and its requirements.

    Args:
        title: the name in text for users, and what it trains: `NAME: LAYOUT`.
        build: function of (task names, groups, layers per head) that returns a Plan.
        grouped: whether `build` uses the groups.
        head_layers: default number of layers per head.
        trains: whether its models are trained; if not, `predictions` are read in their place.
    """

    title: str
    build: Build
    grouped: bool = False
    head_layers: int = 1
    trains: bool = True


def architecture(
    title: str, *, grouped: bool = False, head_layers: int = 1
) -> Callable[[Build], Architecture]:
    """Convert the decorated function to an `Architecture`."""
    return lambda build: Architecture(title, build, grouped, head_layers)


@architecture("single-task learning: one model for each task")
def stl(tasks: Sequence[str], groups: Groups, layers: int) -> Plan:  # noqa: ARG001
    """Lay out one model per task."""
    return Plan(tuple(ModelSpec((HeadSpec((task,), layers),)) for task in tasks))


@architecture("multi-task learning: one model, one head for all tasks")
def mtl(tasks: Sequence[str], groups: Groups, layers: int) -> Plan:  # noqa: ARG001
    """Lay out one model with one head for all tasks."""
    return Plan((ModelSpec((HeadSpec(tuple(tasks), layers),)),))


imported = Architecture(
    "predictions of another model: read from a file, not trained here", mtl.build, trains=False
)


@architecture("grouped multi-task learning: one model for each group of tasks", grouped=True)
def gmtl(tasks: Sequence[str], groups: Groups, layers: int) -> Plan:  # noqa: ARG001
    """Lay out one model per group of tasks, with one head each."""
    return Plan(tuple(ModelSpec((HeadSpec(tuple(group), layers),)) for group in groups))


# A linear GMHL head is equivalent to MTL with reweighted labels, so its heads have a hidden layer by default.
@architecture(
    "grouped multi-head learning: one model with one head for each group of tasks",
    grouped=True,
    head_layers=2,
)
def gmhl(tasks: Sequence[str], groups: Groups, layers: int) -> Plan:  # noqa: ARG001
    """Lay out one model with one head per group of tasks."""
    return Plan((ModelSpec(tuple(HeadSpec(tuple(group), layers) for group in groups)),))
