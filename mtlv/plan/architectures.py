"""Architectures: functions of a few lines from task names and groups to a Plan.

A new one is one more function with `@architecture` and its line in `mtlv.registries`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mtlv.plan.tree import HeadSpec, ModelSpec, Plan

Groups = Sequence[Sequence[str]]
Build = Callable[[Sequence[str], Groups, int], Plan]


@dataclass(frozen=True)
class Architecture:
    """How tasks are laid out, and what the layout needs.

    Args:
        title: as written in prose.
        build: (task names, groups, layers per head) -> Plan.
        grouped: whether `build` reads the groups.
        head_layers: layers per head unless the config says otherwise.
    """

    title: str
    build: Build
    grouped: bool = False
    head_layers: int = 1


def architecture(
    title: str, *, grouped: bool = False, head_layers: int = 1
) -> Callable[[Build], Architecture]:
    """Turn the decorated function into an `Architecture`."""
    return lambda build: Architecture(title, build, grouped, head_layers)


@architecture("single-task learning")
def stl(tasks: Sequence[str], groups: Groups, layers: int) -> Plan:  # noqa: ARG001
    """One model per task."""
    return Plan(tuple(ModelSpec((HeadSpec((task,), layers),)) for task in tasks))


@architecture("multi-task learning")
def mtl(tasks: Sequence[str], groups: Groups, layers: int) -> Plan:  # noqa: ARG001
    """One model, one head for all tasks."""
    return Plan((ModelSpec((HeadSpec(tuple(tasks), layers),)),))


@architecture("grouped multi-task learning", grouped=True)
def gmtl(tasks: Sequence[str], groups: Groups, layers: int) -> Plan:  # noqa: ARG001
    """One model per group of tasks, one head each."""
    return Plan(tuple(ModelSpec((HeadSpec(tuple(group), layers),)) for group in groups))


# A linear GMHL head is MTL with reweighted labels, so by default its heads have a hidden layer.
@architecture("grouped multi-head learning", grouped=True, head_layers=2)
def gmhl(tasks: Sequence[str], groups: Groups, layers: int) -> Plan:  # noqa: ARG001
    """One model, one head per group of tasks."""
    return Plan((ModelSpec(tuple(HeadSpec(tuple(group), layers) for group in groups)),))
