"""Conversion of settings to units: for each fold, settings become a Plan, and a Plan becomes jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtlv.errors import MtlvError
from mtlv.plan import Plan, Task
from mtlv.planning.groups import TaskGroups, task_groups
from mtlv.planning.outline import plan_of
from mtlv.planning.stages import StageBuilder
from mtlv.planning.task_vectors import VectorSource
from mtlv.registries import ARCHITECTURES
from mtlv.seeding import content_key
from mtlv.settings.identity import NOT_IDENTITY
from mtlv.units.job import Job

if TYPE_CHECKING:
    from mtlv.data.splits import Fold
    from mtlv.settings import Member, Settings
    from mtlv.units.input_cache import InputCache


@dataclass(frozen=True)
class FoldRun:
    """One fold with one seed of a member, tracked as one run below the run of the member.

    Args:
        fold, seed: the fold and seed, which identify it.
        plan, groups: those of the last stage.
        jobs: jobs of the last stage, one for each model of the plan.
        earlier: jobs of the earlier stages, each once, in the order of training.
    """

    fold: Fold
    seed: int
    plan: Plan
    groups: TaskGroups | None
    jobs: tuple[Job, ...]
    earlier: tuple[Job, ...] = ()


@dataclass(frozen=True)
class ResolvedMember:
    """A member that is ready to run.

    Args:
        member: its name and settings.
        children: one for each fold and seed.
        uid: key of the whole member: settings, data and encoder.
        data: digest of documents, targets and splits.
        known: the tasks of the last stage, in the order of the corpus.
    """

    member: Member
    children: tuple[FoldRun, ...]
    uid: str
    data: str
    known: tuple[Task, ...]

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of all tasks."""
        return tuple(task.name for task in self.known)

    @property
    def name(self) -> str:
        """Name of the member, with the number of groups found by `auto` if all folds agree."""
        found = {child.groups.grouping.k for child in self.children if child.groups is not None}
        if len(found) != 1:
            return self.member.name
        return self.member.name.replace("k=auto", f"k={found.pop()} (auto)")

    @property
    def jobs(self) -> Iterator[Job]:
        """Jobs of all stages, in the order of training."""
        return (job for child in self.children for job in (*child.earlier, *child.jobs))


def resolve_groups(cache: InputCache, settings: Settings, fold: Fold) -> TaskGroups:
    """Return the groups of a member's tasks on one fold."""
    return task_groups(VectorSource(cache, settings, fold, settings.grouping.special_tokens))


def resolve_all(cache: InputCache, members: Sequence[Member]) -> list[ResolvedMember]:
    """Resolve every member, or raise the problems of all of them.

    Raises:
        MtlvError: there is a problem that a user can solve.
    """
    found, errors = [], []
    for member in members:
        try:
            found.append(resolve(cache, member))
        except MtlvError as error:
            errors.append(error)
    if errors:
        raise MtlvError.all_of(errors)
    return found


def resolve(cache: InputCache, member: Member) -> ResolvedMember:
    """Read the data, group the tasks and lay out every unit of a member. Does not train.

    Raises:
        MtlvError: data, encoder, groups or device are wrong.
    """
    settings = member.settings
    corpus, folds = cache.corpus(settings.data), cache.folds(settings.data)
    data = content_key([corpus.digest, cache.folds_digest(settings.data)])
    start = cache.encoder(settings.encoder, settings.data).digest
    cache.inputs(settings)
    children = []
    for fold in folds:
        plans = [_plan(cache, own, fold) for own in settings.each_stage]
        for seed in settings.seeds:
            stages = StageBuilder(cache, member, fold, seed, start).stages([plan for plan, _ in plans])
            (plan, groups), jobs = plans[-1], stages[-1]
            earlier = {before.unit.key: before for job in jobs for before in job.before}
            children.append(FoldRun(fold, seed, plan, groups, jobs, tuple(earlier.values())))
    keys = [job.unit.key for child in children for job in child.jobs]
    uid = content_key([settings.model_dump(mode="json", exclude=NOT_IDENTITY), data, start, keys])
    return ResolvedMember(member, tuple(children), uid, data, cache.tasks(settings))


def _plan(cache: InputCache, settings: Settings, fold: Fold) -> tuple[Plan, TaskGroups | None]:
    grouped = ARCHITECTURES[settings.architecture.name].grouped
    groups = resolve_groups(cache, settings, fold) if grouped else None
    return plan_of(settings, cache.tasks(settings), groups.groups if groups else ()), groups
