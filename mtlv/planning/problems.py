"""Problems of settings that a run would meet, found before it: data, encoders, groups, objectives."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from mtlv.data.targets import TARGETS
from mtlv.errors import EncoderError, GroupingError, MtlvError, PlanError, nearest
from mtlv.grouping.engines import check_engine
from mtlv.models.aliases import known_names
from mtlv.models.causal import is_causal_by_config, need_seeing
from mtlv.models.layers import check_frozen, check_private, known_layers
from mtlv.models.lengths import known_longest, too_long
from mtlv.models.optional import check_layer, check_taught
from mtlv.plan import Task
from mtlv.planning.groups import clusters, extreme_models, known_plan
from mtlv.planning.known_data import READ_KEYS, KnownData
from mtlv.planning.sources import check_feature
from mtlv.registries import BALANCERS, GROUPINGS, OBJECTIVES
from mtlv.settings.checks import touches
from mtlv.settings.problems import Problem
from mtlv.tracking.address import check_kind
from mtlv.training.gramian import check_balancer
from mtlv.units.model import lora_of
from mtlv.units.predictions import read_predictions

if TYPE_CHECKING:
    from mtlv.settings import Settings


MISSPELT = 0.85  # likeness to an alias: `minilmm` and `biobrt` are above, hub ids as `bert-base-cased` below


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
    known = readable and not any(data.problems(settings.data, split=False))
    known = known and not touches(("tasks", "stages"), wrong)
    for number, stage in enumerate(settings.each_stage):
        within = f"stages[{number}]." if settings.stages else ""
        tasks: tuple[Task, ...] = ()
        try:
            tasks = data.tasks(stage) if known else ()
        except PlanError as error:
            yield from (Problem(line, within=within) for line in error.problems)
        for keys, needs_tasks, check in CHECKS:
            if touches(keys, wrong) or (needs_tasks and not tasks):
                continue
            try:
                check(stage, tasks)
            except MtlvError as error:
                yield from (Problem(line, within=within) for line in error.problems)
    tags = [task.name for task in tasks if TARGETS[task.kind].by_word]  # of the last stage
    if tags and settings.tracking.models == "ensemble":
        what = "`tracking.models`: tags have no probabilities to average"
        yield Problem(str(PlanError(what, got=", ".join(tags), allowed="all, best or none")))


def nearest_encoder(name: str) -> str:
    """Return which alias is nearest to the name of an encoder that is none, and is no address of a hub."""
    known = known_names()
    is_known = name in known or "/" in name or name.startswith("~") or os.path.isdir(name)
    return "" if is_known else nearest(name, known)


def _check_encoders(settings: Settings) -> None:
    """Check folders and misspelt aliases; ids of a hub have an owner, but for a few old ones."""
    wrong = []
    names = {"encoder.name": settings.encoder.name, "grouping.encoder": settings.grouping.encoder or ""}
    for key, name in names.items():
        near = nearest_encoder(name)
        if near and get_close_matches(name, known_names(), n=1, cutoff=MISSPELT):
            how = "Else write the id of a hub as `owner/name`, or a folder as `./name`."
            wrong.append(EncoderError(f"`{key}`: `{name}` is no known encoder, {near} {how}"))
        if name.startswith((".", "~", "/")) and not os.path.isdir(os.path.expanduser(name)):
            text = f"`{key}`: there is no folder with an encoder"
            wrong.append(EncoderError(text, got=name, then="check the path"))
    if wrong:
        raise EncoderError.all_of(wrong)


def _check_length(settings: Settings) -> None:
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


def _check_layers(settings: Settings) -> None:
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


def _check_read(settings: Settings, tasks: Sequence[Task]) -> None:
    """Check the features of an encoder; imports PyTorch (seconds) for a user's encoder and first tokens."""
    try:
        tagged = any(TARGETS[task.kind].by_word for task in tasks)
        hidden = any(not TARGETS[task.kind].has_targets for task in tasks)
        features = settings.encoder.features
        need_seeing(settings.encoder.name, features=features, tagged=tagged, hidden=hidden)
    except EncoderError:
        if is_causal_by_config(settings.encoder.name):
            raise


def _check_k(settings: Settings, tasks: Sequence[Task]) -> None:
    section = settings.grouping
    takes_k = clusters(settings) and GROUPINGS[section.method].takes_k
    if takes_k and section.k != "auto" and section.k > len(tasks):
        raise GroupingError(
            "`grouping.k` is above the number of tasks",
            got=section.k,
            allowed=f"auto, or 1 to {len(tasks)}, the tasks of corpus `{settings.data.title}`",
        )


def _check_weights(settings: Settings, tasks: Sequence[Task]) -> None:
    names = [task.name for task in tasks]
    _check_names("head_weights", settings.training.head_weights, names)
    sources = [one.called for one in settings.data.each_source]
    _check_names("task_weights", settings.training.task_weights, list(dict.fromkeys([*names, *sources])))


def _check_class_weights(settings: Settings, tasks: Sequence[Task]) -> None:
    chosen = settings.training.class_weights
    if chosen is not None and not any(TARGETS[task.kind].by_class for task in tasks):
        raise PlanError(
            "`training.class_weights` would change nothing: no task has yes/no labels or classes",
            got=chosen,
            allowed="null",
        )


def _check_head_loss(settings: Settings, tasks: Sequence[Task]) -> None:
    training = settings.training
    if not OBJECTIVES[training.head_loss].normed or training.draw == "rounds":
        return
    models, source = extreme_models(settings, tasks), {task.name: task.source for task in tasks}
    has_several = any(len(model.heads) > 1 for model in models)
    counts = (Counter(source[head.tasks[0]] for head in model.heads) for model in models)
    if not has_several or any(max(count.values()) > 1 for count in counts):  # two of a source meet in a batch
        return
    raise PlanError(
        "`training.head_loss` would change nothing: each batch is of one data set, which has one head",
        got=training.head_loss,
        allowed="sum, weighted_sum, or any with `training.draw: rounds`",
        then="to have data sets count more or less set `training.task_weights`",
    )


def _check_objective(settings: Settings, tasks: Sequence[Task]) -> None:
    name, encoder = settings.training.objective.name, settings.encoder
    check_balancer(name, BALANCERS[name])
    if not BALANCERS[name].gradients:
        return
    models, source = extreme_models(settings, tasks), {task.name: task.source for task in tasks}
    others = ", ".join(other for other in BALANCERS if not BALANCERS[other].gradients)
    frozen = encoder.features != "pooler" and encoder.frozen_layers == known_layers(encoder.name)
    if frozen and any(len(model.tasks) > 1 for model in models):
        raise PlanError(
            "`training.objective.name` compares gradients at the vectors that heads read, and nothing below "
            "them is trained",
            got=f"{name} with `encoder.frozen_layers: {encoder.frozen_layers}`, all of `{encoder.name}`",
            allowed=others,
            then="or lower `encoder.frozen_layers`",
        )
    if any(len({source[task] for task in model.tasks}) > 1 for model in models):
        raise PlanError(
            "`training.objective.name` compares gradients of losses at the same documents, and a model "
            "learns from several data sets, which have none in common",
            got=name,
            allowed=others,
            then="or give each data set models of its own: `architecture: stl`, or groups of one data set",
        )


def _check_names(key: str, weights: object, names: Sequence[str]) -> None:
    unknown = [name for name in weights if name not in names] if isinstance(weights, dict) else []
    if unknown:
        raise PlanError(
            f"`training.{key}` names no task: {', '.join(f'`{name}`' for name in unknown)}",
            allowed=", ".join(names),
            then=" ".join(hint for name in unknown if (hint := nearest(name, names))),
        )


def _check_teaching(settings: Settings, tasks: Sequence[Task]) -> None:
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


def _is_kmedoids(settings: Settings) -> bool:
    return clusters(settings) and settings.grouping.method == "kmedoids"


GROUP_KEYS = ("architecture", "grouping", "stages")
CHECKS: tuple[tuple[tuple[str, ...], bool, Callable[[Settings, Sequence[Task]], object]], ...] = (
    (("encoder.name", "grouping.encoder"), False, lambda s, _: _check_encoders(s)),
    (("encoder.name", "data.max_length", "data.sources"), False, lambda s, _: _check_length(s)),
    (("encoder", "architecture"), False, lambda s, _: _check_layers(s)),
    (("encoder",), False, _check_read),
    (("tracking.uri",), False, lambda s, _: None if s.tracking.uri is None else check_kind(s.tracking.uri)),
    (("predictions", "tasks"), True, lambda s, tasks: s.predictions and read_predictions(s, tasks)),
    (GROUP_KEYS, True, _check_k),
    (GROUP_KEYS, True, check_feature),
    (GROUP_KEYS, True, lambda s, _: check_engine(s.grouping.engine) if _is_kmedoids(s) else None),
    (GROUP_KEYS, True, known_plan),
    (("training", "stages"), True, _check_weights),
    (("training", "stages"), True, _check_class_weights),
    ((*GROUP_KEYS, "training"), True, _check_head_loss),
    ((*GROUP_KEYS, "training", "encoder"), True, _check_objective),
    (("heads.tagging_layer",), False, lambda s, _: check_layer(s.heads.tagging_layer)),
    (("heads", "training", "stages"), True, _check_teaching),
)
"""Functions of the settings of a stage and its tasks that raise an error if a run would fail.

Each has the keys that it reads, and whether it needs the tasks, unknown if no data can be read. It is left
out if one of its keys is wrong by itself.
"""
