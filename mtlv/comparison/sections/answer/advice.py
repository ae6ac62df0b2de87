"""What a run learned, stage by stage, in words."""

from __future__ import annotations

from collections.abc import Sequence

from mtlv.comparison.parts import capital
from mtlv.evaluation.compared_runs import ComparedRun
from mtlv.evaluation.pairs import tasks_of
from mtlv.formatting import list_first, many
from mtlv.plan.shape import StageShape


def describe_advice(run: ComparedRun) -> str:
    """Return what a run learned in each of its stages, as advice without a full stop.

    Example:
        First learn all 5 tasks together, in one model; then keep the 5 tasks apart, in a model each, starting
        from that model
    """
    tasks = tasks_of(run)
    groups = len(run.groups.groups) if run.groups else 1
    last = _advice(sorted(tasks) if len(tasks) == 1 else (), len(tasks), len(run.plan), _part(run, groups))
    earlier = run.stages[:-1]
    if not earlier:
        return capital(last)
    parts = [*map(_of_stage, earlier, _names(run)), last]
    sources = [_source(run.stages, place) for place in range(len(parts))]
    return "First " + "; then ".join(f"{part}{source}" for part, source in zip(parts, sources, strict=True))


def _of_stage(shape: StageShape, names: Sequence[str]) -> str:
    if shape.has_text_only:
        return "learn from the texts alone"
    return _advice(names, shape.tasks, shape.models, "a head for each group" if shape.is_grouped else "")


def _names(run: ComparedRun) -> Sequence[Sequence[str]]:
    """Return the names of the tasks of each stage, where its settings name them; empty for all tasks."""
    return run.learned if len(run.learned) == len(run.stages) else [()] * len(run.stages)


def _source(stages: Sequence[StageShape], place: int) -> str:
    """Return from what a stage learns besides its documents."""
    shape = stages[place]
    parts = [
        f"{how} {_reference(stages, place, name)}"
        for how, name in (("starting from", shape.start), ("taught by", shape.teacher))
        if name
    ]
    if place and not shape.start and not shape.teacher:
        parts.append("starting from the published encoder")
    return f", {' and '.join(parts)}" if parts else ""


def _reference(stages: Sequence[StageShape], place: int, name: str) -> str:
    """Return how to refer to an earlier stage: as what was just learned, or by its name."""
    if not place or stages[place - 1].name != name:
        return f"stage “{name}”"
    return "that model" if stages[place - 1].models == 1 else "those models"


def _part(run: ComparedRun, groups: int) -> str:
    """Return the part of one model that each group of tasks has; empty without groups."""
    if groups == 1:
        return ""
    layers = int(run.params.get("architecture.private_layers", 0))
    kind = "adapters in " if run.params.get("architecture.private_kind") == "lora" else ""
    private = f"{kind}{many(layers, 'layer')} and " if layers else ""
    return f"{private}a head for each of {groups} groups"


def _advice(names: Sequence[str], tasks: int, models: int, part: str) -> str:
    """Return what to do with tasks.

    Args:
        names: names of the tasks, or of the data sets with all of their tasks; empty for all.
        tasks: number of the tasks.
        models: number of the models.
        part: the part of one model that each group of tasks has.
    """
    if tasks == 1:
        return f"learn {names[0] if names else 'the task'} in a model of its own"
    which = list_first(names) if len(names) > 1 else f"all {tasks} tasks"
    which += f" of {names[0]}" if len(names) == 1 else ""
    if models == 1:
        return f"learn {which} {f'in one model with {part}' if part else 'together, in one model'}"
    if models == tasks:
        return f"keep the {tasks} tasks apart, in a model each"
    return f"learn the tasks in {models} groups, with a model each"
