"""Checks of several keys together: contradictory settings, and settings that nothing reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from mtlv.registries import BALANCERS, GROUPINGS, OBJECTIVES
from mtlv.settings.data_schema import OF_A_SOURCE, WITHOUT_TARGET
from mtlv.settings.model_checks import MODEL_CHECKS
from mtlv.settings.rules import Check, Unread, register
from mtlv.settings.schema import FACTOR_RATE, Settings

GENERATED = "synthetic"  # the default of `data.name`
HUB = "huggingface"
TABLES = ("table", HUB)
"""Data sets that use `data.columns`."""

CHECKS: list[Check] = []
_check = partial(register, CHECKS)


def _repeated(names: Sequence[str] | None) -> str:
    return ", ".join(sorted(name for name, n in Counter(names or ()).items() if n > 1))


@_check("data.labels")
def _labels_repeat(s: Settings) -> str:
    doubled = _repeated(s.data.labels)
    return f"names a label twice: {doubled}" if doubled else ""


@_check("seed")
def _seeds_repeat(s: Settings) -> str:
    doubled = ", ".join(str(seed) for seed, n in Counter(s.seeds).items() if n > 1)
    return f"names a seed twice, and its models would be the same: {doubled}" if doubled else ""


@_check("training.masking.masked", "training.masking.random")
def _masked_shares(s: Settings) -> str:
    masking = s.training.masking
    above = masking.masked + masking.random > 1
    return (
        f"{masking.masked:g}, with `random` {masking.random:g}: these shares are together at most 1" * above
    )


@_check("data.path", "data.name")
def _table_path(s: Settings) -> str:
    missing = s.data.sources is None and s.data.name == "table" and s.data.path is None
    return "not set, but `data.name: table` reads your own file; give its path" if missing else ""


@_check("data.columns.classes", "data.sources")
def _classes_repeat(s: Settings) -> str:
    return _twice("class", [each.columns.classes for each in s.data.each])


@_check("data.columns.labels", "data.sources")
def _columns_repeat(s: Settings) -> str:
    return _twice("column", [each.columns.labels for each in s.data.each])


def _twice(what: str, names: Sequence[Sequence[str] | None]) -> str:
    """Return a problem if one of these lists has a name twice."""
    doubled = " ".join(map(_repeated, names)).strip()
    return f"names a {what} twice: {doubled}" if doubled else ""


@_check("data.columns.labels", "data.columns.label_list", "data.name")
def _table_labels(s: Settings) -> str:
    if s.data.sources is not None or s.data.name not in TABLES:
        return ""
    columns = s.data.columns
    targets = (columns.labels, columns.label_list, columns.target, columns.tags)
    if columns.kind not in WITHOUT_TARGET and not any(targets):
        return (
            "no labels; give `data.columns.labels` (columns of 0 and 1) or `data.columns.label_list`, or for "
            "other kinds of task `data.columns.kind` and `target` or `tags`"
        )
    if columns.labels is not None and columns.label_list is not None:
        return "given together with `data.columns.label_list`; keep one of them"
    return ""


@_check("data.window_overlap", "data.window")
def _overlap(s: Settings) -> str:
    window, overlap = s.data.window, s.data.window_overlap
    wide = window is not None and overlap is not None and overlap >= window
    return f"as wide as a window, or wider (got {overlap}); take 0 to {window - 1}" if wide and window else ""


@_check("data.scheme", "data.folds")
def _rotation(s: Settings) -> str:
    few = s.data.scheme == "rotate_test" and s.data.folds < 2
    return f"rotate_test needs `data.folds` of 2 or more (got {s.data.folds})" if few else ""


@_check("grouping.groups", "grouping.method")
def _given_without_groups(s: Settings) -> str:
    missing = s.grouping.method == "given" and s.grouping.groups is None
    return "not set, but `grouping.method: given` takes the groups from here; list them" if missing else ""


@_check("grouping.k", "grouping.method")
def _k_without_curve(s: Settings) -> str:
    method = GROUPINGS[s.grouping.method]
    if s.grouping.k != "auto" or not method.takes_k or method.of_names is None:
        return ""
    return f"`grouping.method: {s.grouping.method}` has no curve to choose it from; set a number"


@_check("grouping.groups")
def _groups_repeat(s: Settings) -> str:
    doubled = _repeated([name for group in s.grouping.groups or () for name in group])
    return f"a label may stand in one group only; in several: {doubled}" if doubled else ""


@_check("grouping.metric", "grouping.features")
def _cosine_counts(s: Settings) -> str:
    wrong = s.grouping.metric == "cosine" and s.grouping.features == "label_count"
    return "cosine cannot tell single counts apart; take euclidean with label_count" if wrong else ""


@_check("grouping.linkage", "grouping.metric", "grouping.method")
def _ward(s: Settings) -> str:
    g = s.grouping
    wrong = g.method == "agglomerative" and g.linkage == "ward" and g.metric == "cosine"
    return (
        "ward needs `grouping.metric: euclidean`; take average, complete or single for cosine"
        if wrong
        else ""
    )


@_check("grouping.features", "grouping.method")
def _kde_counts(s: Settings) -> str:
    wrong = s.grouping.method == "kde" and s.grouping.features != "label_count"
    return f"kde works on counts (got {s.grouping.features}); take label_count" if wrong else ""


@_check("training.auto_batch", "execution.devices_per_unit")
def _pieces_of_ranks(s: Settings) -> str:
    wrong = s.training.auto_batch and s.execution.devices_per_unit > 1
    return (
        "a device that cuts a batch into pieces would leave the others waiting; set it to false, or "
        "`execution.devices_per_unit: 1`"
        if wrong
        else ""
    )


@_check("training.teach", "stages")
def _teacher_without_stages(s: Settings) -> str:
    alone = s.training.teach is not None and s.stages is None
    return "set, but only a stage has a teacher: an earlier stage; write `stages`" if alone else ""


@_check("training.pace.by", "training.teach")
def _loss_without_teachers(s: Settings) -> str:
    pace, teach = s.training.pace, s.training.teach
    missing = pace is not None and pace.by == "loss" and (teach is None or teach.crossfit is None)
    return (
        "loss is that of teachers that did not learn the document; give the stage cross-fitted ones, such as "
        "`teach: {from: STAGE, crossfit: 5, gold: 1}`, where `gold: 1` learns nothing else from them"
        if missing
        else ""
    )


@_check("training.head_weights", "training.head_loss")
def _weights_missing(s: Settings) -> str:
    t = s.training
    missing = t.head_loss.startswith("weighted") and t.head_weights is None
    then = "write size, or a mapping of task name to weight"
    return f"not set, but `training.head_loss: {t.head_loss}` needs it; {then}" if missing else ""


@_check("training.head_weights")
def _weights_zero(s: Settings) -> str:
    weights = s.training.head_weights
    zero = isinstance(weights, dict) and not any(weights.values())
    return "every weight is 0, so nothing would be learned" if zero else ""


@_check("evaluation.grid.stop", "evaluation.grid.start")
def _grid_order(s: Settings) -> str:
    grid = s.evaluation.grid
    return f"below `evaluation.grid.start` ({grid.start:g})" if grid.stop < grid.start else ""


@_check("evaluation.grid.step", "evaluation.grid.start", "evaluation.grid.stop")
def _grid_step(s: Settings) -> str:
    grid = s.evaluation.grid
    if (grid.stop - grid.start) / grid.step > 1000:
        return f"so small that more than 1000 thresholds would be tried (got {grid.step:g})"
    wide = grid.stop > grid.start and grid.step > grid.stop - grid.start + 1e-9
    return f"wider than the grid from start to stop (got {grid.step:g})" if wide else ""


def _beside_sources(key: str, s: Settings) -> bool:
    return getattr(s.data, key) not in (None, False, GENERATED)


def _has_column(key: str, s: Settings) -> bool:
    return getattr(s.data.columns, key) is not None


COLUMNS = {
    "labels": "; for part of another data set's labels use `data.labels`",
    **dict.fromkeys(("label_list", "target", "tags", "text_pair", "words", "mentions", "group"), ""),
}
"""Columns, with a hint about what a user may have meant."""

UNREAD = (
    *(
        Unread(
            (f"data.{key}", "data.sources"),
            partial(_beside_sources, key),
            lambda s: s.data.sources is None,
            "set, but `data.sources` names the data sets; write it in the list",
        )
        for key in OF_A_SOURCE
    ),
    Unread(
        ("data.window_overlap", "data.window"),
        lambda s: s.data.window_overlap is not None,
        lambda s: s.data.window is not None,
        "set, but no document is cut without `data.window`; set that, or leave it out",
    ),
    Unread(
        ("architecture.private_kind", "architecture.private_layers"),
        lambda s: s.architecture.private_kind == "lora",
        lambda s: s.architecture.private_layers > 0,
        "set, but no layer is a head's own; set `architecture.private_layers`",
    ),
    Unread(
        ("grouping.groups", "grouping.method"),
        lambda s: s.grouping.groups is not None,
        lambda s: s.grouping.method == "given",
        "set, but only `grouping.method: given` reads it; set that method or leave the groups out",
    ),
    Unread(
        ("grouping.place", "grouping.method", "grouping.features"),
        lambda s: s.grouping.place != 1,
        lambda s: s.grouping.method == "best" and s.grouping.features == "group_score",
        "set, but only `grouping.method: best` with `features: group_score` reads it",
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
        "set, but `training.objective.name` learns no factors; take uncertainty or famo, or leave it out",
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
            partial(_has_column, key),
            lambda s: any(one.name in TABLES for one in s.data.each),
            f"set, but only {' or '.join(f'`data.name: {name}`' for name in TABLES)} reads it{hint}",
        )
        for key, hint in COLUMNS.items()
    ),
)


def contradictions(settings: Settings, wrong: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (key, text) of each contradiction within a member; skip checks that read a `wrong` key."""
    for check in (*CHECKS, *MODEL_CHECKS):
        text = "" if touches(check.keys, wrong) else check.find(settings)
        if text:
            yield check.keys[0], text


def unread(members: Sequence[Settings], wrong: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Yield (member, key, text) of each key that is set in some members and not read in any of them."""
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
