"""Conversion of settings to units: for each fold, settings become a Plan, and a Plan becomes jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from mtlv.errors import GroupingError, MtlvError
from mtlv.formatting import many
from mtlv.plan import Plan, Task
from mtlv.planning.groups import TaskGroups, plan_of, task_groups
from mtlv.planning.sources import measures, named_by
from mtlv.planning.stages import StageBuilder
from mtlv.planning.task_vectors import VectorSource
from mtlv.registries import ARCHITECTURES
from mtlv.seeding import content_key
from mtlv.settings.identity import IGNORED_KEYS
from mtlv.units.job import Job, each_once, with_needs

if TYPE_CHECKING:
    from mtlv.data.folds import Fold
    from mtlv.settings import Member, Settings
    from mtlv.store.records import UnitRecord
    from mtlv.units.input_cache import InputCache


@dataclass(frozen=True)
class FoldRun:
    """One fold with one seed of a member, tracked as one run below the run of the member.

    Args:
        fold, seed: the fold and seed, which identify it.
        plan, groups: those of the last stage.
        jobs: jobs of the last stage, one for each model of the plan.
        earlier: jobs of the earlier stages that the last needs, each once, in the order of training.
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
        tasks: those of the last stage, in the order of the corpus.
    """

    member: Member
    children: tuple[FoldRun, ...]
    uid: str
    data: str
    tasks: tuple[Task, ...]

    @property
    def settings(self) -> Settings:
        return self.member.settings

    @property
    def task_names(self) -> tuple[str, ...]:
        """Names of all tasks."""
        return tuple(task.name for task in self.tasks)

    @property
    def name(self) -> str:
        """Name of the member, with the number of groups that `auto` found if all folds agree."""
        counts = {fold_run.groups.grouping.k for fold_run in self.children if fold_run.groups is not None}
        return self.member.name_with_groups(counts.pop()) if len(counts) == 1 else self.member.name

    @property
    def jobs(self) -> Iterator[Job]:
        """Jobs of all stages, in the order of training."""
        return (job for fold_run in self.children for job in (*fold_run.earlier, *fold_run.jobs))

    @property
    def lacks_private_layers(self) -> bool:
        """Whether its settings ask for private layers, but none of its models has any."""
        asks = any(settings.architecture.private_layers for settings in self.settings.each_stage)
        return asks and not any(job.unit.model.private for job in self.jobs)


class UnfinishedError(GroupingError):
    """Groups of a member follow from units that are not finished yet.

    Args:
        name: name of the member.
        jobs: the units, and those that they need, in the order of training.
    """

    def __init__(self, name: str, jobs: Sequence[Job]) -> None:
        super().__init__(
            f"the groups of `{name}` follow from {many(len(jobs), 'unit')} not trained yet (`grouping.from`)",
            then="train them: `mtlv run CONFIG`",
        )
        self.jobs = tuple(jobs)


def resolve_groups(
    cache: InputCache, settings: Settings, fold: Fold, records: Sequence[UnitRecord] = ()
) -> TaskGroups:
    """Return the groups of a member's tasks on one fold.

    Args:
        cache: corpora and encoders.
        settings: settings of the member.
        fold: the fold.
        records: of the units in `grouping.from`, for features that are measured.

    Raises:
        GroupingError: the tasks cannot be grouped, or a measured feature has no units.
    """
    if measures(settings) and not records:
        raise GroupingError(
            "groups by `grouping.from` follow from trained units",
            then="train them: `mtlv run CONFIG`; the groups are in `grouping/groups.json` of its runs",
        )
    return task_groups(VectorSource(cache, settings, fold, settings.grouping.special_tokens, records))


def resolve_all(cache: InputCache, members: Sequence[Member]) -> list[ResolvedMember]:
    """Resolve every member of a suite, or raise the problems of all of them.

    Raises:
        MtlvError: there is a problem that a user can solve.
    """
    resolved, waiting = Resolver(cache, members).ready(members)
    if waiting:
        raise MtlvError.all_of(list(waiting.values()))
    return resolved


def resolve(cache: InputCache, member: Member) -> ResolvedMember:
    """Read the data, group the tasks and lay out every unit of a member. Does not train.

    Raises:
        MtlvError: data, encoder, groups or device are wrong.
    """
    return Resolver(cache, [member]).resolve(member)


@dataclass
class Resolver:
    """Resolves the members of a suite, each once.

    Args:
        cache: corpora and encoders, with the store of finished units.
        members: all members of the suite.
        reads: whether groups may follow from a finished unit, by its key; by default from all.
    """

    cache: InputCache
    members: Sequence[Member]
    reads: Callable[[str], bool] = lambda _: True
    _known: dict[str, ResolvedMember] = field(default_factory=dict)
    _read: dict[str, UnitRecord | None] = field(default_factory=dict)
    _path: list[str] = field(default_factory=list)  # members that are being resolved, each for the one before

    def ready(self, members: Sequence[Member]) -> tuple[list[ResolvedMember], dict[str, UnfinishedError]]:
        """Resolve members; return those that wait for units by name, with the units.

        Raises:
            MtlvError: there is another problem; contains those of all members.
        """
        resolved: list[ResolvedMember] = []
        waiting: dict[str, UnfinishedError] = {}
        errors: list[MtlvError] = []
        for member in members:
            try:
                resolved.append(self.resolve(member))
            except UnfinishedError as unfinished:
                waiting[member.name] = unfinished
            except MtlvError as error:
                errors.append(error)
        if errors:
            raise MtlvError.all_of(errors)
        return resolved, waiting

    def resolve(self, member: Member) -> ResolvedMember:
        """Resolve a member; see the function `resolve`.

        Raises:
            UnfinishedError: its groups follow from units that are not finished.
            MtlvError: data, encoder, groups or device are wrong.
        """
        if member.name not in self._known:
            if member.name in self._path:
                raise GroupingError(
                    "`grouping.from`: groups would follow from themselves",
                    got=" from ".join([*self._path, member.name]),
                    then="name members whose groups are known before",
                )
            self._path.append(member.name)
            try:
                self._known[member.name] = self._resolve(member)
            finally:
                self._path.pop()
        return self._known[member.name]

    def _resolve(self, member: Member) -> ResolvedMember:
        settings, cache = member.settings, self.cache
        corpus, folds = cache.corpus(settings.data), cache.folds(settings.data)
        # runs with other shares of the training part are tested on the same documents, and comparable
        data = content_key([corpus.digest, cache.folds_digest(settings.data.without_share)])
        start = cache.encoder(settings.encoder, settings.data).digest
        cache.inputs(settings)
        children: list[FoldRun] = []
        for fold in folds:
            builders = [StageBuilder(cache, member, fold, seed, start) for seed in settings.seeds]
            children += self._children(member, fold, builders)
        keys = [job.unit.key for fold_run in children for job in fold_run.jobs]
        tasks = cache.tasks(settings)
        hierarchy = [task.levels for task in tasks] if settings.data.parents else []
        content = [settings.model_dump(mode="json", exclude=IGNORED_KEYS), data, start, keys, *hierarchy]
        return ResolvedMember(member, tuple(children), content_key(content), data, tasks)

    def _children(self, member: Member, fold: Fold, builders: Sequence[StageBuilder]) -> Iterator[FoldRun]:
        plans: list[Plan] = []
        read: set[str] = set()  # keys of the units of earlier stages from which groups follow
        groups: TaskGroups | None = None
        sources: list[Job] = []
        for settings in member.settings.each_stage:
            sources = []
            if measures(settings):
                stage_jobs = [job for builder in builders for stage in builder.stages(plans) for job in stage]
                sources = self._sources(member, settings, fold, stage_jobs)
                read |= {job.unit.key for job in sources} & {job.unit.key for job in stage_jobs}
            plan, groups = self._plan(member, settings, fold, sources)
            plans.append(plan)
        for builder in builders:
            *before, jobs = builder.stages(plans)
            needed = [job for stage in before for job in stage if job.unit.key in read] + list(jobs)
            earlier = with_needs(needed)
            last = {job.unit.key for job in jobs}
            rest = tuple(job for job in earlier if job.unit.key not in last)
            measured = any(job.unit.key in last for job in sources)
            seed_groups = replace(groups, measured=measured) if groups else None
            yield FoldRun(fold, builder.seed, plans[-1], seed_groups, jobs, rest)

    def _sources(
        self, member: Member, settings: Settings, fold: Fold, stage_jobs: Sequence[Job]
    ) -> list[Job]:
        """Return the jobs of a fold that `grouping.from` names, of all seeds, each once."""
        stages, others = named_by(member, settings, self.members)
        jobs = [job for job in stage_jobs if job.unit.stage in stages]
        for other in others:
            children = self.resolve(other).children
            jobs += [job for run in children if run.fold.index == fold.index for job in run.jobs]
        return each_once(jobs)

    def _plan(
        self, member: Member, settings: Settings, fold: Fold, sources: Sequence[Job]
    ) -> tuple[Plan, TaskGroups | None]:
        """Return the plan of a stage, and its groups if its architecture has groups.

        Raises:
            UnfinishedError: they follow from units that are not finished.
        """
        tasks = self.cache.tasks(settings)
        if not ARCHITECTURES[settings.architecture.name].grouped:
            return plan_of(settings, tasks, ()), None
        records = {job.unit.key: self._record(job.unit.key) for job in sources}
        unfinished = [job for job in sources if records[job.unit.key] is None]
        if unfinished:
            raise UnfinishedError(member.name, with_needs(unfinished))
        known = [record for record in records.values() if record is not None]
        groups = resolve_groups(self.cache, settings, fold, known)
        return plan_of(settings, tasks, groups.groups), groups

    def _record(self, key: str) -> UnitRecord | None:
        store = self.cache.store
        if store is None or not self.reads(key) or not store.has(key):
            return None
        if key not in self._read:
            self._read[key] = store.read_or_set_aside(key, partial(store.load, key), self.cache.warn)
        return self._read[key]
