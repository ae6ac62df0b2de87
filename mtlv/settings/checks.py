"""Checks of several keys together: contradictory settings, and settings that nothing reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from mtlv.errors import mask_credentials
from mtlv.registries import ARCHITECTURES, BALANCERS, GROUPINGS, OBJECTIVES
from mtlv.settings.data_schema import KINDS_WITHOUT_TARGET, SOURCE_KEYS, ColumnSettings
from mtlv.settings.draft import defaults
from mtlv.settings.schema import FACTOR_RATE, Settings

GENERATED = "synthetic"  # the default of `data.name`
HUB = "huggingface"
TABLE_NAMES = ("table", HUB)
"""Data sets that use all of `data.columns`."""

CONLL_COLUMNS = ("words", "tags", "classes", "metric")
"""Keys of `data.columns` that CoNLL files use, too; columns are numbers or names."""

TARGET_COLUMNS = ("labels", "label_list", "target", "tags")
"""Columns of a table that have targets."""


@dataclass(frozen=True)
class Check:
    """A check for one contradiction."""

    keys: tuple[str, ...]  # dotted keys it reads; messages name the first one
    find: Callable[[Settings], str | int]  # returns what is wrong, or whether something is
    text: str = "{}"  # the problem; `{}` stands for what is wrong


def _find_repeated(names: Sequence[str] | None) -> str:
    return ", ".join(sorted(name for name, n in Counter(names or ()).items() if n > 1))


def _find_repeated_in_one(lists: Sequence[Sequence[str] | None]) -> str:
    """Return the names that one of these lists has twice."""
    return " ".join(map(_find_repeated, lists)).strip()


def _is_table(s: Settings) -> bool:
    return s.data.sources is None and s.data.name in TABLE_NAMES


def _readers(key: str) -> tuple[str, ...]:
    """Return the data sets that read a key of `data.columns`."""
    others = {"task": ("conll", "standoff"), "kind": ("standoff",)} | dict.fromkeys(CONLL_COLUMNS, ("conll",))
    return (*TABLE_NAMES, *others.get(key, ()))


def _only_of(key: str) -> str:
    hint = "; for part of another data set's labels use `data.labels`" if key == "labels" else ""
    return f"set, but only {' or '.join(f'`data.name: {name}`' for name in _readers(key))} reads it{hint}"


def _unread_column_of_a_source(s: Settings) -> str:
    for number, one in enumerate(s.data.sources or ()):
        for key in ColumnSettings.model_fields if one.columns else ():
            is_changed = getattr(one.columns, key) != getattr(s.data.columns, key)
            if is_changed and one.name not in _readers(key):
                return f"`data.sources[{number}].columns.{key}` is {_only_of(key)}"
    return ""


def _wide_overlap(s: Settings) -> str:
    window, overlap = s.data.window, s.data.window_overlap
    if window is not None and overlap is not None and overlap >= window:
        return f"as wide as a window, or wider (got {overlap}); take 0 to {window - 1}"
    most = (min(one.max_length for one in s.data.each_source) - 1) // 2
    pooled = s.data.window_pooling is not None and overlap is not None and overlap > most
    return f"half of `data.max_length` or more (got {overlap}); take 0 to {most}" if pooled else ""


def _wrong_step(s: Settings) -> str:
    grid = s.evaluation.grid
    if (grid.stop - grid.start) / grid.step > 1000:
        return f"so small that more than 1000 thresholds would be tried (got {grid.step:g})"
    wide = grid.stop > grid.start and grid.step > grid.stop - grid.start + 1e-9
    return f"wider than the grid from start to stop (got {grid.step:g})" if wide else ""


def _unknown_sources(s: Settings) -> str:
    vocabulary, known = s.encoder.vocabulary, [source.called for source in s.data.each_source]
    unknown = [name for name in (vocabulary and vocabulary.sources) or () if name not in known]
    return f"{', '.join(unknown)}; allowed: {', '.join(known)}" if unknown else ""


def _gradients_of_private_layers(s: Settings) -> str:
    name, layers = s.training.objective.name, s.architecture.private_layers
    if not layers or not BALANCERS[name].gradients:
        return ""
    others = ", ".join(other for other in BALANCERS if not BALANCERS[other].gradients)
    return (
        f"{name} compares gradients at the vectors that all heads read, and heads with "
        f"`architecture.private_layers` read different ones; set that to 0 (got {layers}), or take one of "
        f"{others}"
    )


CONTRADICTIONS = (
    Check(
        ("architecture.name", "predictions"),
        lambda s: not s.trains and s.predictions is None,
        "imported, but there is no file to read; set `predictions`, which implies this architecture",
    ),
    Check(("data.labels",), lambda s: _find_repeated(s.data.labels), "names a label twice: {}"),
    Check(
        ("seed",),
        lambda s: ", ".join(str(seed) for seed, n in Counter(s.seeds).items() if n > 1),
        "names a seed twice, and its models would be the same: {}",
    ),
    Check(
        ("training.masking.masked", "training.masking.random"),
        lambda s: (
            s.training.masking.masked + s.training.masking.random > 1
            and f"{s.training.masking.masked:g}, with `random` {s.training.masking.random:g}"
        ),
        "{}: these shares are together at most 1",
    ),
    Check(
        ("data.path", "data.name"),
        lambda s: s.data.sources is None and s.data.name == "table" and s.data.path is None,
        "not set, but `data.name: table` reads your own file; give its path",
    ),
    Check(
        ("data.columns.classes", "data.sources"),
        lambda s: _find_repeated_in_one([source.columns.classes for source in s.data.each_source]),
        "names a class twice: {}",
    ),
    Check(
        ("data.columns.labels", "data.sources"),
        lambda s: _find_repeated_in_one([source.columns.labels for source in s.data.each_source]),
        "names a column twice: {}",
    ),
    Check(
        ("data.columns.labels", "data.columns.label_list", "data.name"),
        lambda s: (
            _is_table(s)
            and s.data.columns.kind not in KINDS_WITHOUT_TARGET
            and not any(getattr(s.data.columns, key) for key in TARGET_COLUMNS)
        ),
        "no labels; give `data.columns.labels` (columns of 0 and 1) or `data.columns.label_list`, or for "
        "other kinds of task `data.columns.kind` and `target` or `tags`",
    ),
    Check(
        ("data.columns.labels", "data.columns.label_list", "data.name"),
        lambda s: (
            _is_table(s) and s.data.columns.labels is not None and s.data.columns.label_list is not None
        ),
        "given together with `data.columns.label_list`; keep one of them",
    ),
    Check(("data.window_overlap", "data.window", "data.max_length", "data.sources"), _wide_overlap),
    Check(
        ("data.scheme", "data.folds"),
        lambda s: s.data.scheme == "rotate_test" and s.data.folds == 1,
        "rotate_test needs `data.folds` of 2 or more (got 1)",
    ),
    Check(
        ("grouping.groups", "grouping.method"),
        lambda s: s.grouping.method == "given" and s.grouping.groups is None,
        "not set, but `grouping.method: given` takes the groups from here; list them",
    ),
    Check(
        ("grouping.k", "grouping.method"),
        lambda s: (
            (s.grouping.k == "auto" and GROUPINGS[s.grouping.method].takes_k)
            and GROUPINGS[s.grouping.method].of_names is not None
            and s.grouping.method
        ),
        "`grouping.method: {}` has no curve to choose it from; set a number",
    ),
    Check(
        ("grouping.groups",),
        lambda s: _find_repeated([name for group in s.grouping.groups or () for name in group]),
        "a label may stand in one group only; in several: {}",
    ),
    Check(
        ("grouping.metric", "grouping.features"),
        lambda s: s.grouping.metric == "cosine" and s.grouping.features == "label_count",
        "cosine cannot tell single counts apart; take euclidean with label_count",
    ),
    Check(
        ("grouping.linkage", "grouping.metric", "grouping.method"),
        lambda s: (
            (s.grouping.method, s.grouping.linkage, s.grouping.metric) == ("agglomerative", "ward", "cosine")
        ),
        "ward needs `grouping.metric: euclidean`; take average, complete or single for cosine",
    ),
    Check(
        ("grouping.features", "grouping.method"),
        lambda s: s.grouping.method == "kde" and s.grouping.features != "label_count" and s.grouping.features,
        "kde works on counts (got {}); take label_count",
    ),
    Check(
        ("training.teach", "stages"),
        lambda s: s.training.teach is not None and s.stages is None,
        "set, but only a stage has a teacher: an earlier stage; write `stages`",
    ),
    Check(
        ("training.head_weights", "training.head_loss"),
        lambda s: (
            OBJECTIVES[s.training.head_loss].weighted
            and s.training.head_weights is None
            and s.training.head_loss
        ),
        "not set, but `training.head_loss: {}` needs it; write size, rarity, or a mapping of task to weight",
    ),
    Check(
        ("training.head_weights",),
        lambda s: isinstance(s.training.head_weights, dict) and not any(s.training.head_weights.values()),
        "every weight is 0, so nothing would be learned",
    ),
    Check(
        ("evaluation.grid.stop", "evaluation.grid.start"),
        lambda s: s.evaluation.grid.stop < s.evaluation.grid.start and f"{s.evaluation.grid.start:g}",
        "below `evaluation.grid.start` ({})",
    ),
    Check(("evaluation.grid.step", "evaluation.grid.start", "evaluation.grid.stop"), _wrong_step),
    Check(("data.sources",), _unread_column_of_a_source),
    Check(
        ("store.uri",),
        lambda s: "://" in s.store.uri and mask_credentials(s.store.uri),
        "an address (got {}), but a store is a folder; copy finished units with `mtlv store push` and `mtlv "
        "store pull`, or train on several machines with `execution.engine: ray`",
    ),
    Check(
        ("architecture.private_kind", "architecture.private_layers", "encoder.lora"),
        lambda s: s.architecture.private_kind == "lora" and s.encoder.lora is None,
        "lora, but there are no adapters; set `encoder.lora: {rank: 8}`, or take layers",
    ),
    Check(
        ("architecture.private_kind", "architecture.private_layers", "encoder.lora"),
        lambda s: (
            s.architecture.private_kind == "layers"
            and s.architecture.private_layers > 0
            and s.encoder.lora is not None
        ),
        "layers, but with `encoder.lora` the layers' own weights are not a head's; take lora, or set "
        "`encoder.lora: null`",
    ),
    Check(("encoder.vocabulary", "data"), _unknown_sources, "`from` names no data set: {}"),
    Check(
        ("encoder.lora.frozen", "encoder.lora", "architecture.private_layers"),
        lambda s: (
            s.encoder.lora is not None and not s.encoder.lora.frozen and s.architecture.private_layers == 0
        ),
        "false, but only heads with `architecture.private_layers` have adapters beside trained weights; set "
        "it to true, or `architecture: {name: gmhl, private_layers: 2, private_kind: lora}`",
    ),
    Check(
        ("encoder.lora", "encoder.weights"),
        lambda s: s.encoder.lora is not None and s.encoder.lora.frozen and s.encoder.weights == "random",
        "set, but the frozen weights would be random; set `encoder.weights: published`, or this to null",
    ),
    Check(("training.objective.name", "architecture.private_layers"), _gradients_of_private_layers),
)


@dataclass(frozen=True)
class Unread:
    """A check for a key that was set but is not read by any member of the suite."""

    keys: tuple[str, ...]  # the key, followed by the keys that determine whether it is read
    is_set: Callable[[Settings], bool]  # whether the key is set in settings
    is_read: Callable[[Settings], bool]  # whether the key is used with these settings
    text: str  # advice for the user


@cache
def _default_columns() -> ColumnSettings:
    return ColumnSettings.model_validate(defaults()["data"]["columns"])


UNREAD = (
    *(
        Unread(
            (f"data.{key}", "data.sources"),
            lambda s, key=key: getattr(s.data, key) not in (None, False, GENERATED),  # type: ignore[misc]
            lambda s: s.data.sources is None,
            "set, but `data.sources` names the data sets; write it in the list",
        )
        for key in SOURCE_KEYS
    ),
    Unread(
        ("data.window_overlap", "data.window", "data.window_pooling"),
        lambda s: s.data.window_overlap is not None,
        lambda s: s.data.window is not None or s.data.window_pooling is not None,
        "set, but `data.window` or `data.window_pooling` cuts documents; set one of them, or leave it out",
    ),
    Unread(
        ("data.window_pooling", "encoder.features"),
        lambda s: s.data.window_pooling == "max",
        lambda s: s.encoder.features != "attention",
        "max, but with `encoder.features: attention` a label weighs the tokens of all windows; take mean",
    ),
    Unread(
        ("architecture.private_kind", "architecture.private_layers"),
        lambda s: s.architecture.private_kind == "lora",
        lambda s: s.architecture.private_layers > 0,
        "set, but no layer is a head's own; set `architecture.private_layers`",
    ),
    Unread(
        ("heads.start", "architecture.head_layers", "encoder.features"),
        lambda s: s.heads.start != "random",
        lambda s: (
            (s.architecture.head_layers or ARCHITECTURES[s.architecture.name].head_layers) == 1
            and s.encoder.features != "attention"
        ),
        "label_texts, but only heads of one layer that read a document's vector do that; set "
        "`architecture.head_layers: 1`, and other `encoder.features` than attention",
    ),
    Unread(
        ("grouping.groups", "grouping.method"),
        lambda s: s.grouping.groups is not None,
        lambda s: s.grouping.method == "given",
        "set, but only `grouping.method: given` reads it; set that method or leave the groups out",
    ),
    Unread(
        ("grouping.k", "grouping.method"),
        lambda s: s.grouping.k != "auto",
        lambda s: GROUPINGS[s.grouping.method].takes_k,
        "set, but `grouping.method` finds the number of groups itself; leave it out",
    ),
    Unread(
        ("training.head_weights", "training.head_loss"),
        lambda s: s.training.head_weights is not None,
        lambda s: OBJECTIVES[s.training.head_loss].weighted,
        "set, but only `training.head_loss` weighted_sum and weighted_mean read it",
    ),
    Unread(
        ("training.objective.learning_rate", "training.objective.name"),
        lambda s: s.training.objective.learning_rate != FACTOR_RATE,
        lambda s: BALANCERS[s.training.objective.name].learns,
        "set, but `training.objective.name` learns no factors; take uncertainty, or leave it out",
    ),
    Unread(
        ("training.temperature", "training.draw"),
        lambda s: isinstance(s.training.temperature, tuple),
        lambda s: s.training.draw == "temperature",
        "changes over the epochs, but only `training.draw: temperature` reads it",
    ),
    Unread(
        ("data.hub", "data.name"),
        lambda s: s.data.sources is None and s.data.hub is not None,
        lambda s: s.data.name == HUB and s.data.path is None,
        f"set, but only `data.name: {HUB}` without `data.path` reads it",
    ),
    *(
        Unread(
            (f"data.columns.{key}", "data.name", "data.sources"),
            lambda s, key=key: getattr(s.data.columns, key) != getattr(_default_columns(), key),  # type: ignore[misc]
            lambda s, key=key: any(one.name in _readers(key) for one in s.data.each_source),  # type: ignore[misc]
            _only_of(key),
        )
        for key in ColumnSettings.model_fields
    ),
)


def contradictions(settings: Settings, wrong: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (key, text) of each contradiction within a member; skip checks that read a `wrong` key."""
    for check in CONTRADICTIONS:
        details = None if touches(check.keys, wrong) else check.find(settings)
        if details:
            yield check.keys[0], check.text.replace("{}", str(details))


def unread(members: Sequence[Settings], wrong: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Yield (member, key, text) for each key that some members set but no member reads."""
    for rule in UNREAD:
        holders = [i for i, settings in enumerate(members) if rule.is_set(settings)]
        if holders and not touches(rule.keys, wrong) and not any(rule.is_read(members[i]) for i in holders):
            yield holders[0], rule.keys[0], rule.text


def touches(keys: Sequence[str], wrong: Sequence[str]) -> bool:
    """Return whether one of the `wrong` keys is one of `keys`, or above or below it."""
    return any(
        key == bad or key.startswith(f"{bad}.") or bad.startswith((f"{key}.", f"{key}["))
        for key in keys
        for bad in wrong
    )
