"""Outline of a member, from what is known before data is read: plans as trees, and units."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtlv.formatting import list_first, many
from mtlv.plan import ModelSpec, Task, head_key, tree_lines
from mtlv.planning.plans import NO_PRIVATE, known_plan, lacks_private_layers
from mtlv.planning.sources import measures, named_by
from mtlv.planning.stages import budget_error, match, teachers
from mtlv.registries import ARCHITECTURES, FEATURES, GROUPINGS
from mtlv.seeding import content_key

if TYPE_CHECKING:
    from mtlv.settings import Member, Settings
    from mtlv.settings.schema import StageSettings


@dataclass(frozen=True)
class MemberOutline:
    """Description of a member's plans.

    Args:
        name: name of the member.
        lines: the plans as trees, or how they will be made.
        marks: a mark of each model to train over all folds and seeds, equal if two members share it; an upper
            bound with `k: auto`.
        learned: tasks of each model of the last stage; None if its groups are not known yet.
        warnings: warnings for the user before training.
    """

    name: str
    lines: tuple[str, ...]
    marks: frozenset[str]
    learned: tuple[tuple[str, ...], ...] | None = None
    warnings: tuple[str, ...] = ()

    @property
    def units(self) -> int:
        return len(self.marks)


@dataclass(frozen=True)
class _Sketch:
    """What a stage would train.

    Args:
        lines: its plan as a tree, or how it will be made.
        marks: a mark of each model; equal if two members share it.
        tasks: names of its tasks.
        models: its models; empty if their groups are not known yet.
        inner: a mark of each teacher that is trained on inner folds.
    """

    lines: tuple[str, ...]
    marks: tuple[str, ...]
    tasks: tuple[str, ...]
    models: tuple[ModelSpec, ...] = ()
    inner: tuple[str, ...] = ()


def outline(
    member: Member, tasks_of: Callable[[Settings], Sequence[Task]], members: Sequence[Member] = ()
) -> MemberOutline:
    """Return what a member would train.

    Args:
        member: the member.
        tasks_of: function that returns the tasks of settings.
        members: all members of the suite, from whose units groups may follow.

    Raises:
        PlanError: there is no model to start from, or several, or `training.budget` allows no epoch.
        GroupingError: groups follow from units that do not learn what the features need.
    """
    settings = member.settings
    sketches: dict[str, _Sketch] = {}
    lines: list[str] = []
    for stage, stage_settings in zip(settings.stages or (None,), settings.each_stage, strict=True):
        name = "" if stage is None else stage.name
        first = ""
        if measures(stage_settings):
            first = _what_comes_before(member, stage_settings, tasks_of, members, sketches)
        sketches[name] = _sketch_stage(stage, stage_settings, tasks_of(stage_settings), sketches, first)
        title = () if stage is None else (f"stage {name}{_learns_from(stage)}",)
        lines += [*title, *(f"{'  ' * len(title)}{line}" for line in sketches[name].lines)]
    trained = _trained_stages(settings.stages or ())
    of_models = [mark for name in trained for mark in (*sketches[name].marks, *sketches[name].inner)]
    children = [(fold, seed) for fold in range(settings.data.folds) for seed in settings.seeds]
    last = sketches[settings.stages[-1].name if settings.stages else ""]
    learned = tuple(model.tasks for model in last.models) or None
    marks = frozenset(f"{mark} {fold} {seed}" for mark in of_models for fold, seed in children)
    every = [sketch.models for sketch in sketches.values()]
    no_private = all(every) and lacks_private_layers(member, [model for models in every for model in models])
    return MemberOutline(member.name, tuple(lines), marks, learned, (NO_PRIVATE,) if no_private else ())


def _what_comes_before(
    member: Member,
    settings: Settings,
    tasks_of: Callable[[Settings], Sequence[Task]],
    members: Sequence[Member],
    sketches: Mapping[str, _Sketch],
) -> str:
    """Return the units that come before the groups of a stage, in words.

    Raises:
        GroupingError: they do not learn what its features need.
    """
    stages, others = named_by(member, settings, members)
    outlines = [outline(other, tasks_of, members) for other in others]
    groups = [model.tasks for name in stages for model in sketches[name].models]
    groups += [tasks for one in outlines for tasks in one.learned or ()]
    names = [task.name for task in tasks_of(settings)]
    cover = FEATURES[settings.grouping.features].cover
    known = all(sketches[name].models for name in stages) and all(one.learned for one in outlines)
    if cover is not None and known:
        cover(names, {frozenset(tasks) for tasks in groups if set(tasks) <= set(names)})
    runs = settings.data.folds * len(settings.seeds)
    units = sum(len(sketches[name].marks) for name in stages) * runs
    units += len(frozenset[str]().union(*(one.marks for one in outlines)))
    return f"after {many(units, 'unit')} of {list_first([*stages, *(o.name for o in others)])}"


def _trained_stages(stages: Sequence[StageSettings]) -> set[str]:
    """Return the names of the stages whose models are trained: the last, and those that it needs."""
    names = {stages[-1].name if stages else ""}
    for stage in reversed(stages):
        if stage.name in names:
            teach = stage.training.teach
            if stage.start is not None:
                names.add(stage.start.stage)
            if teach is not None and teach.crossfit is None:
                names.add(teach.stage)
            names |= {one.name for one in stages} & set(stage.grouping.sources or ())
    return names


def _learns_from(stage: StageSettings) -> str:
    """Return the stages that a stage starts from and is taught by, in words."""
    start, teach = stage.start, stage.training.teach
    text = "" if start is None else f", from stage {start.stage}"
    if teach is not None:
        text += f", taught by stage {teach.stage}"
        text += "" if teach.crossfit is None else f" on {teach.crossfit} inner folds"
    return text


def _sketch_stage(
    stage: StageSettings | None,
    settings: Settings,
    tasks: Sequence[Task],
    before: dict[str, _Sketch],
    first: str,
) -> _Sketch:
    content: list[object] = [
        settings.data.model_dump(mode="json"),
        settings.encoder.model_dump(),
        settings.heads.model_dump(),
    ]
    content.append(settings.training.model_dump(mode="json"))
    start = None if stage is None or stage.start is None else before[stage.start.stage]
    plan, names = known_plan(settings, tasks), tuple(task.name for task in tasks)
    taught_by = _teacher_marks(settings, names, before)
    content += [taught_by] if taught_by else []
    inner = taught_by if settings.training.teach and settings.training.teach.crossfit else ()
    if plan is None:
        lines, count = _describe_unknown(settings, tasks, first)
        content += [settings.architecture.model_dump(mode="json"), settings.grouping.model_dump(mode="json")]
        content += [start.marks if start else ()]
        marks = [content_key([*content, number]) for number in range(count)]
        return _Sketch(lines, tuple(marks), names, inner=inner)
    budget, models = settings.training.budget, len(plan.models)
    # several sources and missing labels are counted when they are read
    is_counted = [source.columns.missing_labels for source in settings.data.each_source] == ["error"]
    if budget is not None and budget < models and is_counted:
        raise budget_error(budget, models, models)
    marks = []
    for model in plan.models:
        start_mark = _start_mark(stage, model, start)
        marks.append(content_key([*content, list(map(head_key, model.heads)), start_mark]))
    return _Sketch(tuple(tree_lines(plan)), tuple(marks), names, plan.models, inner)


def _teacher_marks(settings: Settings, tasks: Sequence[str], before: dict[str, _Sketch]) -> tuple[str, ...]:
    """Return the marks of the models that teach a stage; empty without a teacher.

    Raises:
        PlanError: a task has no teacher.
    """
    teach = settings.training.teach
    if teach is None:
        return ()
    teacher = before[teach.stage]
    learned = [model.tasks for model in teacher.models] or [teacher.tasks]
    numbers = teachers(teach, tasks, learned)
    marks = tuple(teacher.marks[number] for number in numbers) if teacher.models else teacher.marks
    if teach.crossfit is None:
        return marks
    return tuple(f"{mark} {part} of {teach.crossfit}" for mark in marks for part in range(teach.crossfit))


def _start_mark(stage: StageSettings | None, model: ModelSpec, start: _Sketch | None) -> object:
    """Return the mark of the model to start from; the marks of all models if the plan is not known yet."""
    if stage is None or start is None or stage.start is None:
        return None
    if not start.models:
        return start.marks
    return start.marks[match(stage, model, start.models)], stage.start.carry


def _describe_unknown(settings: Settings, tasks: Sequence[Task], first: str) -> tuple[tuple[str, ...], int]:
    """Describe groups that are determined when the suite runs; return also the maximum number of models.

    Args:
        settings: settings of the stage.
        tasks: its tasks.
        first: the units from which groups follow, in words; empty for none.
    """
    section = settings.grouping
    method = GROUPINGS[section.method]
    if method.takes_k and section.k != "auto":
        k, words = section.k, f"{section.k} groups"
    else:
        by_elbow = method.takes_k and FEATURES[section.features].kind == "vectors"
        k = min(section.k_max, len(tasks)) if by_elbow else len(tasks)
        words = f"up to {k} groups"
    single = len(ARCHITECTURES[settings.architecture.name].build(["a", "b"], [["a"], ["b"]], 1).models) == 1
    shape = "1 model with a head per group" if single else "a model per group"
    how = f"{words} of {len(tasks)} tasks by {section.method} on {section.features}"
    how = f"{how}, found {first or 'when it runs'}"
    return (f"{shape}: {how}", *(f"    {task.name}" for task in tasks)), 1 if single else k
