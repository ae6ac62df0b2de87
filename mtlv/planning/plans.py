"""Plans of stages, from settings and groups, and what they imply whatever the groups are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mtlv.plan import ModelSpec, Plan, Task, with_own_heads, with_private_layers
from mtlv.planning.groups import grouping_spec
from mtlv.registries import ARCHITECTURES, GROUPINGS

if TYPE_CHECKING:
    from mtlv.settings import Settings

NO_PRIVATE = "`architecture.private_layers` has no effect, because no model has several heads"


def clusters(settings: Settings) -> bool:
    """Return whether groups are determined when the suite runs."""
    grouped = ARCHITECTURES[settings.architecture.name].grouped
    return grouped and GROUPINGS[settings.grouping.method].of_names is None


def layers(settings: Settings) -> int:
    """Return the layers of each head: the user's number, or the architecture's default."""
    return settings.architecture.head_layers or ARCHITECTURES[settings.architecture.name].head_layers


def plan_of(settings: Settings, tasks: Sequence[Task], groups: Sequence[Sequence[str]]) -> Plan:
    """Return the plan of a stage with known groups (an empty sequence if its architecture has none).

    Raises:
        PlanError: see `Plan.check`.
    """
    names = [task.name for task in tasks]
    section = settings.architecture
    plan = with_own_heads(ARCHITECTURES[section.name].build(names, groups, layers(settings)), tasks)
    return with_private_layers(plan, section.private_layers).check(tasks)


def known_plan(settings: Settings, tasks: Sequence[Task]) -> Plan | None:
    """Return the plan, or None if its groups are determined when the suite runs."""
    if clusters(settings):
        return None
    grouped = ARCHITECTURES[settings.architecture.name].grouped
    return plan_of(settings, tasks, groups_of_names(settings, tasks) if grouped else ())


def groups_of_names(settings: Settings, tasks: Sequence[Task]) -> list[list[str]]:
    """Return groups that need no features; [] for other methods.

    Raises:
        GroupingError: the settings do not give every task exactly one group.
    """
    names, method = [task.name for task in tasks], GROUPINGS[settings.grouping.method]
    if method.of_names is None:
        return []
    grouping = method.of_names(grouping_spec(settings), names)
    return [[names[i] for i in members] for members in grouping.groups()]


def extreme_models(settings: Settings, tasks: Sequence[Task]) -> list[ModelSpec]:
    """Return the models of a plan; of the coarsest and the finest groups if they are not known yet.

    No other groups have more heads of a source, or more sources in a model.
    """
    names, plan = [task.name for task in tasks], known_plan(settings, tasks)
    plans = [plan] if plan else [plan_of(settings, tasks, g) for g in ([names], [[name] for name in names])]
    return [model for plan in plans for model in plan.models]
