"""From settings to units: for each fold a recipe becomes a Plan, and a Plan becomes jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mtlv.data.joined import begins
from mtlv.data.splits import folds_digest
from mtlv.errors import MtlvError
from mtlv.plan import ARCHITECTURES, ModelSpec, Plan, Task, Unit, with_own_heads
from mtlv.running.features import View
from mtlv.running.groups import TaskGroups, task_groups
from mtlv.running.job import Job
from mtlv.seeding import content_key

if TYPE_CHECKING:
    from mtlv.data.splits import Fold
    from mtlv.running.material import Material
    from mtlv.running.workbench import Workbench
    from mtlv.settings import Member, Settings

STAGE = "train"
# Raise it when the same settings come to give other weights, so that old units are not taken for new ones.
ARITHMETIC = 1

NOT_WEIGHTS = ("device", "precision", "auto_batch")
"""Training settings that are not part of a unit's key as written: precision enters as resolved."""

NOT_IDENTITY: dict[str, Any] = {
    "tracking": True,
    "store": True,
    "data": {"path"},
    "training": {"device", "auto_batch"},
}
"""Settings that say where things are: the same member elsewhere is the same member."""


@dataclass(frozen=True)
class Child:
    """One fold with one seed of a member: what becomes one run below the member's own."""

    fold: Fold
    seed: int
    plan: Plan
    groups: TaskGroups | None
    jobs: tuple[Job, ...]


@dataclass(frozen=True)
class Resolved:
    """A member, ready to be run.

    Args:
        member: its name and settings.
        children: one for each fold and seed.
        uid: key of the whole member: settings, data and encoder.
        data: digest of documents, targets and splits.
        known: all tasks, in the corpus's order.
    """

    member: Member
    children: tuple[Child, ...]
    uid: str
    data: str
    known: tuple[Task, ...]

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of all tasks."""
        return tuple(task.name for task in self.known)

    @property
    def name(self) -> str:
        """The member's name, with the number of groups that `auto` came to where all folds agree."""
        found = {child.groups.grouping.k for child in self.children if child.groups is not None}
        if len(found) != 1:
            return self.member.name
        return self.member.name.replace("k=auto", f"k={found.pop()} (auto)")

    @property
    def jobs(self) -> Iterator[Job]:
        return (job for child in self.children for job in child.jobs)


def settings_key(settings: Settings) -> str:
    """What a member asks for, wherever its data and stores lie; known before any data is read."""
    return content_key(settings.model_dump(mode="json", exclude=NOT_IDENTITY))


def head_layers(settings: Settings) -> int:
    """Layers per head: the user's, or the architecture's own."""
    own = ARCHITECTURES[settings.architecture.name].head_layers
    return own if settings.architecture.head_layers is None else settings.architecture.head_layers


def resolve_groups(bench: Workbench, settings: Settings, fold: Fold) -> TaskGroups:
    """The groups of a member's tasks on one fold."""
    return task_groups(View(bench, settings, fold, settings.grouping.special_tokens))


def resolve_all(bench: Workbench, members: Sequence[Member]) -> list[Resolved]:
    """Every member, or the problems of all of them.

    Raises:
        MtlvError: what a user can put right.
    """
    found, errors = [], []
    for member in members:
        try:
            found.append(resolve(bench, member))
        except MtlvError as error:
            errors.append(error)
    if errors:
        raise MtlvError.all_of(errors)
    return found


def resolve(bench: Workbench, member: Member) -> Resolved:
    """Read the data, group the tasks and lay out every unit of a member. Nothing is trained.

    Raises:
        MtlvError: whatever is wrong with data, encoder, groups or device.
    """
    settings = member.settings
    corpus, folds = bench.corpus(settings.data), bench.folds(settings.data)
    data = content_key([corpus.digest, folds_digest(corpus, folds)])
    start = bench.encoder(settings.encoder.name, settings.encoder.revision, settings.data).digest
    material = bench.material(settings)
    train = _what_shapes_weights(settings)
    children = []
    for fold in folds:
        plan, groups = _plan(bench, settings, fold)
        for seed in settings.seeds:
            units = (Unit(STAGE, model, fold.index, seed, start, data, train) for model in plan.models)
            where = _where(member, fold, seed)
            jobs = tuple(
                Job(unit, settings, fold, f"{where} · {unit.model.name}", _rows(material, unit.model, fold))
                for unit in units
            )
            children.append(Child(fold, seed, plan, groups, jobs))
    keys = [job.unit.key for child in children for job in child.jobs]
    uid = content_key([settings.model_dump(mode="json", exclude=NOT_IDENTITY), data, start, keys])
    return Resolved(member, tuple(children), uid, data, corpus.tasks)


def _rows(material: Material, model: ModelSpec, fold: Fold) -> int | None:
    """Training documents, or windows of them, of the sources that a model learns from.

    Nothing where there is one source, and no document is cut.
    """
    corpus, cuts = material.corpus, material.tokens.cuts
    if not corpus.members and cuts is None:
        return None
    sources = corpus.members or (corpus,)
    each = np.ones(len(corpus), np.int64) if cuts is None else cuts.counts
    counts, _ = np.histogram(fold.train, begins(sources), weights=each[fold.train])
    mine = [not set(model.tasks).isdisjoint(source.names) for source in sources]
    return int(counts[mine].sum())


def _where(member: Member, fold: Fold, seed: int) -> str:
    """The member, and its fold and seed where it has several."""
    settings = member.settings
    parts = [member.name]
    parts += [f"fold {fold.index}"] if settings.data.folds > 1 else []
    parts += [f"seed {seed}"] if len(settings.seeds) > 1 else []
    return " · ".join(parts)


def _plan(bench: Workbench, settings: Settings, fold: Fold) -> tuple[Plan, TaskGroups | None]:
    architecture = ARCHITECTURES[settings.architecture.name]
    tasks = bench.corpus(settings.data).tasks
    groups = resolve_groups(bench, settings, fold) if architecture.grouped else None
    names = [task.name for task in tasks]
    plan = architecture.build(names, groups.groups if groups else (), head_layers(settings))
    return with_own_heads(plan, tasks).check(tasks), groups


def _what_shapes_weights(settings: Settings) -> dict[str, object]:
    from mtlv.training.optim import resolve_device, resolve_precision

    training = settings.training.model_dump(mode="json")
    kept = {key: value for key, value in training.items() if key not in NOT_WEIGHTS}
    precision = resolve_precision(settings.training.precision, resolve_device(settings.training.device))
    return kept | {
        "arithmetic": ARITHMETIC,
        "precision": precision,
        "features": settings.encoder.features,
        "dropout": settings.encoder.dropout,
        "heads": settings.heads.model_dump(mode="json"),
        "max_length": settings.data.max_length,
        "mentions": settings.data.mentions,
        "window": [settings.data.window, settings.data.window_overlap],
    }
