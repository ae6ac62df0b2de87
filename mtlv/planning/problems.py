"""Problems of settings that a run would meet, found before it: data, encoders, groups, objectives."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from mtlv.data.targets import TARGETS
from mtlv.errors import EncoderError, GroupingError, MtlvError, PlanError, nearest
from mtlv.grouping.engines import check_engine
from mtlv.models.causal import is_causal_by_config, need_seeing
from mtlv.models.layers import check_frozen, check_private, known_layers
from mtlv.models.lengths import known_longest, too_long
from mtlv.models.optional import check_layer, check_taught
from mtlv.plan import Task
from mtlv.planning.encoder_names import encoders_of, wrong_encoders
from mtlv.planning.known_data import READ_KEYS, KnownData
from mtlv.planning.plans import clusters, groups_of_names, heads_never_meet, learns_alone, several_sources
from mtlv.planning.sources import check_feature
from mtlv.registries import ARCHITECTURES, BALANCERS, GROUPINGS, OBJECTIVES
from mtlv.settings.checks import touches
from mtlv.settings.problems import Problem
from mtlv.tracking.address import check_kind
from mtlv.training.gramian import check_balancer
from mtlv.units.model import lora_of

if TYPE_CHECKING:
    from mtlv.settings import Settings


Prove = Callable[["Settings", Sequence[Task]], None]
"""Function of the settings of a stage and its tasks that raises an error if a run would fail."""


PROOFS: list[tuple[tuple[str, ...], bool, Prove]] = []
"""Checks, each with the keys that it reads, and whether it needs the tasks, unknown if no data can be read.

A check is left out if one of its keys is wrong by itself.
"""
GROUP_KEYS = ("architecture", "grouping", "stages")


def problems_of(settings: Settings, wrong: Sequence[str], data: KnownData) -> Iterator[Problem]:
    """Yield every problem of a member that can be found without training, PyTorch or a network.

    Args:
        settings: settings of the member, with defaults in place of `wrong` keys.
        wrong: dotted keys with values that are wrong by themselves; what follows from them is left out.
        data: what is known of the data of all members.
    """
    readable = not touches(READ_KEYS, wrong)
    if readable:
        yield from data.problems(settings.data, split=not touches(("data",), wrong))
    known = readable and data.readable(settings.data) and not touches(("tasks", "stages"), wrong)
    for number, stage in enumerate(settings.each_stage):
        within = f"stages[{number}]." if settings.stages else ""
        tasks: tuple[Task, ...] = ()
        try:
            tasks = data.tasks(stage) if known else ()
        except PlanError as error:
            yield from (Problem(line, within=within) for line in error.problems)
        for keys, needs_tasks, prove in PROOFS:
            if touches(keys, wrong) or (needs_tasks and not tasks):
                continue
            try:
                prove(stage, tasks)
            except MtlvError as error:
                yield from (Problem(line, within=within) for line in error.problems)


def _proof(*keys: str, tasks: bool = False) -> Callable[[Prove], Prove]:
    def register(prove: Prove) -> Prove:
        PROOFS.append((keys, tasks, prove))
        return prove

    return register


@_proof("encoder.name", "grouping.encoder")
def _prove_encoders(settings: Settings, tasks: Sequence[Task]) -> None:  # noqa: ARG001
    """Check folders only; the names on a hub are not known here."""
    wrong = [EncoderError(text) for text in wrong_encoders(settings)]
    for key, name in encoders_of(settings).items():
        folder = name is not None and name.startswith((".", "~", "/"))
        if folder and not os.path.isdir(os.path.expanduser(str(name))):
            wrong.append(
                EncoderError(f"`{key}`: there is no folder with an encoder", got=name, then="check the path")
            )
    if wrong:
        raise EncoderError.all_of(wrong)


@_proof("encoder.name", "data.max_length", "data.sources")
def _prove_length(settings: Settings, tasks: Sequence[Task]) -> None:  # noqa: ARG001
    name, data = settings.encoder.name, settings.data
    by_key = {f"data.sources[{n}].max_length": one.max_length for n, one in enumerate(data.sources or ())}
    lengths = {key: length for key, length in by_key.items() if length is not None}
    if len(lengths) < len(data.each_source):  # a source has no length of its own
        lengths["data.max_length"] = data.max_length
    longest = known_longest(name)
    wrong = [
        too_long(length, longest, name, key)
        for key, length in lengths.items()
        if longest is not None and length > longest
    ]
    if wrong:
        raise EncoderError.all_of(wrong)


@_proof("encoder", "architecture")
def _prove_layers(settings: Settings, tasks: Sequence[Task]) -> None:  # noqa: ARG001
    if settings.encoder.frozen_layers:
        name = settings.encoder.name
        check_frozen(settings.encoder.frozen_layers, known_layers(name), name)
    if settings.architecture.private_layers:
        name, frozen = settings.encoder.name, settings.encoder.frozen_layers
        check_private(settings.architecture.private_layers, frozen, known_layers(name), name)
    lora = lora_of(settings.encoder)
    if lora is not None:  # imports PyTorch, which takes a second
        from mtlv.models.lora import check_modules

        check_modules(settings.encoder.name, lora, settings.encoder.frozen_layers)


@_proof("encoder")
def _prove_read(settings: Settings, tasks: Sequence[Task]) -> None:
    """Check the features of an encoder; imports PyTorch (seconds) for a user's encoder and first tokens."""
    try:
        tagged = any(TARGETS[task.kind].by_word for task in tasks)
        hidden = any(not TARGETS[task.kind].has_targets for task in tasks)
        features = settings.encoder.features
        need_seeing(settings.encoder.name, features=features, tagged=tagged, hidden=hidden)
    except EncoderError:
        if is_causal_by_config(settings.encoder.name):
            raise


@_proof("tracking.uri")
def _prove_tracking(settings: Settings, tasks: Sequence[Task]) -> None:  # noqa: ARG001
    if settings.tracking.uri is not None:
        check_kind(settings.tracking.uri)


@_proof(*GROUP_KEYS, tasks=True)
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


@_proof(*GROUP_KEYS, tasks=True)
def _prove_features(settings: Settings, tasks: Sequence[Task]) -> None:
    if ARCHITECTURES[settings.architecture.name].grouped:
        check_feature(settings, tasks)


@_proof(*GROUP_KEYS, tasks=True)
def _prove_engine(settings: Settings, tasks: Sequence[Task]) -> None:  # noqa: ARG001
    if clusters(settings) and settings.grouping.method == "kmedoids":
        check_engine(settings.grouping.engine)


@_proof(*GROUP_KEYS, tasks=True)
def _prove_groups(settings: Settings, tasks: Sequence[Task]) -> None:
    if ARCHITECTURES[settings.architecture.name].grouped:
        groups_of_names(settings, tasks)


@_proof("training", "stages", tasks=True)
def _prove_weights(settings: Settings, tasks: Sequence[Task]) -> None:
    names = [task.name for task in tasks]
    _prove_names("head_weights", settings.training.head_weights, names)
    sources = [one.called for one in settings.data.each_source]
    _prove_names("task_weights", settings.training.task_weights, list(dict.fromkeys([*names, *sources])))


@_proof("training", "stages", tasks=True)
def _prove_class_weights(settings: Settings, tasks: Sequence[Task]) -> None:
    chosen = settings.training.class_weights
    if chosen is not None and not any(TARGETS[task.kind].by_class for task in tasks):
        raise PlanError(
            "`training.class_weights` would change nothing: no task has yes/no labels or classes",
            got=chosen,
            allowed="null",
        )


@_proof(*GROUP_KEYS, "training", tasks=True)
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


@_proof(*GROUP_KEYS, "training", "encoder", tasks=True)
def _prove_objective(settings: Settings, tasks: Sequence[Task]) -> None:
    name, encoder = settings.training.objective.name, settings.encoder
    check_balancer(name, BALANCERS[name])
    frozen = encoder.features != "pooler" and encoder.frozen_layers == known_layers(encoder.name)
    if BALANCERS[name].gradients and frozen and not learns_alone(settings, tasks):
        raise PlanError(
            "`training.objective.name` compares gradients at the vectors that heads read, and nothing below "
            "them is trained",
            got=f"{name} with `encoder.frozen_layers: {encoder.frozen_layers}`, all of `{encoder.name}`",
            allowed=", ".join(other for other in BALANCERS if not BALANCERS[other].gradients),
            then="or lower `encoder.frozen_layers`",
        )
    if not several_sources(settings, tasks):
        return
    if BALANCERS[name].gradients:
        raise PlanError(
            "`training.objective.name` compares gradients of losses at the same documents, and a model "
            "learns from several data sets, which have none in common",
            got=name,
            allowed=", ".join(other for other in BALANCERS if not BALANCERS[other].gradients),
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


@_proof("heads.tagging_layer")
def _prove_layer(settings: Settings, tasks: Sequence[Task]) -> None:  # noqa: ARG001
    check_layer(settings.heads.tagging_layer)


@_proof("heads", "training", "stages", tasks=True)
def _prove_teaching(settings: Settings, tasks: Sequence[Task]) -> None:
    if settings.training.teach is None:
        return
    if any(TARGETS[task.kind].by_word for task in tasks):
        check_taught(settings.heads.tagging_layer)
    texts = [task.name for task in tasks if not TARGETS[task.kind].has_targets]
    if texts:
        raise PlanError(
            "`training.teach`: masked words have no teacher, because they differ in every epoch",
            got=", ".join(texts),
            then="leave the task out of `tasks` of the stage",
        )
