"""Units that a suite would train, planned from what is known before data and encoders are read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from mtlv.data.folds import Fold
from mtlv.formatting import list_first, many
from mtlv.plan import ModelSpec, Plan, tree_lines
from mtlv.planning.groups import clusters, known_plan, plan_of
from mtlv.planning.resolve import ResolvedMember, Resolver
from mtlv.planning.sources import measures, named_by
from mtlv.planning.stages import StageBuilder
from mtlv.registries import ARCHITECTURES, FEATURES, GROUPINGS
from mtlv.units.job import Job, with_needs

if TYPE_CHECKING:
    from mtlv.settings import Member, Settings
    from mtlv.settings.schema import StageSettings


class _OutlineBuilder(StageBuilder):
    """Builds the jobs of stages with settings in place of digests of what is not read yet."""

    def _counts(self, settings: Settings, plan: Plan) -> tuple[int, int] | None:
        # several sources and missing labels are counted when they are read
        is_known = [source.columns.missing_labels for source in settings.data.each_source] == ["error"]
        return (1, len(plan.models)) if is_known and not clusters(settings) else None

    def _start(
        self, stage: StageSettings, settings: Settings, model: ModelSpec, earlier: Sequence[Job]
    ) -> Job:
        if clusters(settings) or clusters(earlier[0].settings):  # each may be the one, and is needed
            return replace(earlier[0], teachers=(*earlier[0].teachers, *earlier[1:]))
        return super()._start(stage, settings, model, earlier)

    def _data(self, model: ModelSpec) -> str:
        return ""

    def _train(self, settings: Settings, model: ModelSpec) -> dict[str, object]:
        groups_follow_from = {"architecture", "grouping"} if clusters(settings) else set()
        sections = {"data", "encoder", "heads", "training", "predictions"} | groups_follow_from
        return settings.model_dump(mode="json", include=sections)

    def _rows(self, settings: Settings, model: ModelSpec, fold: Fold) -> int | None:
        return None


@dataclass
class Outliner(Resolver):
    """Resolves members without reading: on one fold with one seed, and as one model if groups are unknown.

    Args:
        blocks: for each member, the plans of its stages as trees, or how they will be made.
    """

    blocks: dict[str, list[list[str]]] = field(default_factory=dict)

    def _resolve(self, member: Member) -> ResolvedMember:
        self.blocks[member.name] = []
        none = np.empty(0, np.int64)
        fold = Fold(0, none, none, none)
        builder = _OutlineBuilder(self.cache, member, fold, seed=0, encoder="")
        return ResolvedMember(member, tuple(self._children(member, fold, [builder])), "", "", ())

    def _plan(
        self, member: Member, settings: Settings, fold: Fold, sources: Sequence[Job]
    ) -> tuple[Plan, None]:
        tasks, blocks = self.cache.tasks(settings), self.blocks[member.name]
        names, when = [task.name for task in tasks], "when it runs"
        if measures(settings):
            cover = FEATURES[settings.grouping.features].cover
            if cover is not None and not any(clusters(job.settings) for job in sources):
                groups = {frozenset(job.unit.model.tasks) for job in sources}
                cover(names, {group for group in groups if group <= set(names)})
            stages, others = named_by(member, settings, self.members)
            units = many(len(unit_marks(with_needs(sources))), "unit")
            when = f"after {units} of {list_first([*stages, *(other.name for other in others)])}"
        plan = known_plan(settings, tasks)
        lines = tree_lines(plan) if plan else _describe(settings, names, when)
        if not settings.trains:
            lines = [f"predictions in {settings.predictions}, not trained here"]
        if member.settings.stages:
            lines = [_title(member.settings.stages[len(blocks)]), *(f"  {line}" for line in lines)]
        blocks.append(lines)
        return plan or plan_of(settings, tasks, [names]), None


def unit_marks(jobs: Iterable[Job]) -> frozenset[str]:
    """Return a mark of each trained unit of jobs over all folds and seeds; the most if groups are unknown."""
    marks: set[str] = set()
    for job in jobs:
        settings, of_groups = job.settings, clusters(job.settings) and not _has_one_model(job.settings)
        models = _most_groups(settings, len(job.unit.model.tasks))[0] if of_groups else 1
        places = product(range(settings.data.folds), settings.seeds, range(models))
        if settings.trains:
            marks |= {f"{job.unit.key} {fold} {seed} {model}" for fold, seed, model in places}
    return frozenset(marks)


def _has_one_model(settings: Settings) -> bool:
    return len(ARCHITECTURES[settings.architecture.name].build(["a", "b"], [["a"], ["b"]], 1).models) == 1


def _most_groups(settings: Settings, tasks: int) -> tuple[int, str]:
    """Return the number of groups of `tasks` tasks, or the most that can be found; also in words."""
    section, method = settings.grouping, GROUPINGS[settings.grouping.method]
    if method.takes_k and section.k != "auto":
        return section.k, f"{section.k} groups"
    by_elbow = method.takes_k and FEATURES[section.features].kind == "vectors"
    most = min(section.k_max, tasks) if by_elbow else tasks
    return most, f"up to {most} groups"


def _describe(settings: Settings, tasks: Sequence[str], when: str) -> list[str]:
    """Describe groups that are not known yet, with `when` they are found."""
    section, (_, groups) = settings.grouping, _most_groups(settings, len(tasks))
    shape = "1 model with a head per group" if _has_one_model(settings) else "a model per group"
    how = f"{groups} of {len(tasks)} tasks by {section.method} on {section.features}, found {when}"
    return [f"{shape}: {how}", *(f"    {task}" for task in tasks)]


def _title(stage: StageSettings) -> str:
    """Return the name of a stage, and those that it starts from and is taught by."""
    start, teach = stage.start, stage.training.teach
    text = f"stage {stage.name}" + ("" if start is None else f", from stage {start.stage}")
    if teach is not None:
        text += f", taught by stage {teach.stage}"
    return text
