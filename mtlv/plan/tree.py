"""Plans: the tasks of each model and head, as two nested partitions of the task names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from mtlv.errors import PlanError, nearest
from mtlv.formatting import many
from mtlv.plan.names import group_name, group_title
from mtlv.plan.task import Task


@dataclass(frozen=True)
class HeadSpec:
    """Tasks that share one head, in the order of its output columns.

    Args:
        tasks: task names, at least one.
        layers: 1 is one linear layer; each further one adds a hidden layer of the encoder's width.
        private: number of the encoder's top layers of which the head has its own copy; 0 shares all.
    """

    tasks: tuple[str, ...]
    layers: int = 1
    private: int = 0

    def __post_init__(self) -> None:
        if not self.tasks:
            raise PlanError("a head has no task", then="give each head at least one task")
        if self.layers < 1:
            raise PlanError("`layers` of a head", got=self.layers, allowed="1 or more")
        if self.private < 0:
            raise PlanError("`private` layers of a head", got=self.private, allowed="0 or more")

    @property
    def name(self) -> str:
        """Name that depends on the tasks, never on the position."""
        return group_name(self.tasks)


@dataclass(frozen=True)
class ModelSpec:
    """Heads that share one encoder."""

    heads: tuple[HeadSpec, ...]

    def __post_init__(self) -> None:
        if not self.heads:
            raise PlanError("a model has no head", then="give each model at least one head")
        if len({head.private for head in self.heads}) > 1:
            raise PlanError("heads of one model differ in `private` layers", then="give all the same number")

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        return tuple(task for head in self.heads for task in head.tasks)

    @property
    def name(self) -> str:
        return group_name(self.tasks)

    @property
    def private(self) -> int:
        """Number of the encoder's top layers of which each head has its own copy."""
        return self.heads[0].private


@dataclass(frozen=True)
class Plan:
    """Models, their heads and their tasks; `check` ensures that no task is missing, repeated or misplaced."""

    models: tuple[ModelSpec, ...]

    def __post_init__(self) -> None:
        if not self.models:
            raise PlanError("the plan has no model", then="give it at least one task")

    @property
    def heads(self) -> Iterator[HeadSpec]:
        return (head for model in self.models for head in model.heads)

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        return tuple(task for model in self.models for task in model.tasks)

    def check(self, tasks: Sequence[Task]) -> Plan:
        """Return the plan if it covers `tasks` exactly once and no head mixes kinds or sources.

        Raises:
            PlanError: a task is missing, unknown or in two heads, or a head is mixed.
        """
        known = {task.name: task for task in tasks}
        counts = Counter(self.tasks)
        for name in counts:
            if name not in known:
                raise PlanError(f"the plan has an unknown task `{name}`", then=nearest(name, known))
        doubled = sorted(name for name, count in counts.items() if count > 1)
        if doubled:
            raise PlanError("a task may stand in one head only", got=f"in several: {', '.join(doubled)}")
        missing = [name for name in known if name not in counts]
        if missing:
            raise PlanError("the plan leaves tasks out", got=", ".join(missing), then="give each a head")
        for head in self.heads:
            if len({(known[name].kind, known[name].source) for name in head.tasks}) > 1:
                raise PlanError(f"head `{head.name}` mixes kinds or sources of tasks", then="split it")
        return self


def with_separate_heads(plan: Plan, tasks: Sequence[Task]) -> Plan:
    """Return the plan with each head split as its tasks require.

    There is one head per kind and source, and one per task with classes, because its columns are its own.
    Heads that need no split are unchanged.
    """
    known = {task.name: task for task in tasks}

    def divided(head: HeadSpec) -> list[HeadSpec]:
        groups: dict[object, list[str]] = {}
        for name in head.tasks:
            task = known[name]
            groups.setdefault((task.kind, task.source, name if task.classes else ""), []).append(name)
        return [HeadSpec(tuple(names), head.layers) for names in groups.values()]

    return Plan(tuple(ModelSpec(tuple(h for head in m.heads for h in divided(head))) for m in plan.models))


def with_private_layers(plan: Plan, count: int) -> Plan:
    """Return the plan with `count` private layers for the heads of each model that has several."""
    models = (
        ModelSpec(tuple(replace(head, private=count if len(model.heads) > 1 else 0) for head in model.heads))
        for model in plan.models
    )
    return Plan(tuple(models))


def as_json(plan: Plan) -> list[dict]:
    """Return the plan as plain lists and dicts, for `plan.json` and for keys."""
    return [
        {
            "name": model.name,
            "heads": [
                {"name": h.name, "layers": h.layers, "tasks": list(h.tasks)}
                | ({"private": h.private} if h.private else {})
                for h in model.heads
            ],
        }
        for model in plan.models
    ]


def from_json(content: Sequence[Mapping[str, Any]]) -> Plan:
    """Return the plan from the result of `as_json`.

    Raises:
        PlanError: a part is missing or empty.
    """
    try:
        return Plan(tuple(ModelSpec(tuple(map(_head, model["heads"]))) for model in content))
    except (KeyError, TypeError) as error:
        raise PlanError("this is no plan", got=error) from error


def _head(content: Mapping[str, Any]) -> HeadSpec:
    return HeadSpec(tuple(content["tasks"]), content["layers"], content.get("private", 0))


def tree_lines(plan: Plan) -> list[str]:
    """Return the plan as an indented tree of models, heads and tasks, one per line."""
    lines = []
    for model in plan.models:
        lines.append(f"model {group_title(model.tasks)}")
        for head in model.heads:
            private = f", {head.private} of the encoder its own" if head.private else ""
            lines.append(f"  head {group_title(head.tasks)} ({many(head.layers, 'layer')}{private})")
            lines += [f"    {task}" for task in head.tasks]
    return lines
