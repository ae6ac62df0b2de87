"""Names of members: what they train, and what differs within a suite; and equal names told apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import PurePath
from typing import Any

from mtlv.errors import shorten
from mtlv.foreign import parse_json
from mtlv.registries import ARCHITECTURES, GROUPINGS
from mtlv.settings.data_schema import DataSettings
from mtlv.settings.describe import Scalar, flatten, plain, short
from mtlv.settings.schema import Settings

ALWAYS_NAMED_KEYS = (
    "stages",
    "architecture.name",
    *(f"grouping.{key}" for key in ("method", "k", "features", "groups")),
)
"""Keys that are always in a name; all others are where they differ."""
GROUPS_MARK = "\0"  # the place of a number of groups that is known only when the member runs
MAX_VALUE_LETTERS = 40  # letters of a value
LETTERS_BEFORE_DIFFERENCE = 5  # letters before the first that differs
DEFAULT_METHOD = "kmedoids"

Flat = Mapping[str, Scalar]


def is_read(key: str, settings: Settings) -> bool:
    """Return whether a member uses a key: an ungrouped architecture does not use `grouping`."""
    return ARCHITECTURES[settings.architecture.name].grouped or not key.startswith("grouping.")


def make_names(members: Sequence[Settings], changes: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a name for each member that lists what it changes. Equal members have equal names.

    If the number of groups is not known before the run, the name has a mark in its place; see
    `with_number`.
    """
    flats = [flatten(settings) for settings in members]
    changed = dict.fromkeys(key for keys in changes for key in keys)
    varied = [key for key in changed if len({str(flat.get(key)) for flat in flats}) > 1]
    names = [
        ", ".join(_parts(settings, {key: flat.get(key, plain(x)) for key, x in changed_keys.items()}, varied))
        for settings, flat, changed_keys in zip(members, flats, changes, strict=True)
    ]
    read = zip(members, flats, strict=True)
    return distinguish(
        names, [{k: x for k, x in flat.items() if is_read(k, settings)} for settings, flat in read]
    )


def with_number(name: str, groups: int | None) -> str:
    """Replace the mark in a name by the number of groups, or remove it if the number is None."""
    return name.replace(GROUPS_MARK, "" if groups is None else f"{groups} ")


def distinguish(names: Sequence[str], values: Sequence[Flat]) -> list[str]:
    """Make equal names of different settings distinct by appending the settings that differ."""
    out = list(names)
    for name in dict.fromkeys(names):
        same = [number for number, other in enumerate(names) if other == name]
        different = list(_differing([values[number] for number in same]))
        for number, details in zip(same, _fewest(different), strict=False):
            out[number] = ", ".join([name, *details])
    return out


def _parts(settings: Settings, values: Flat, varied: Sequence[str]) -> Iterator[str]:
    """Yield the parts of a name: the architecture, the stages, and the `values` of `varied` keys."""
    yield settings.architecture.name.upper()
    if ARCHITECTURES[settings.architecture.name].grouped:
        yield _groups(settings, number_varies="grouping.k" in varied)
    if settings.stages:
        yield " then ".join(stage.name for stage in settings.stages)
    words = _words([key for key in varied if key not in ALWAYS_NAMED_KEYS])
    yield from (
        _phrase(key, words[key], values[key]) for key in words if key in values and is_read(key, settings)
    )


def _groups(settings: Settings, *, number_varies: bool) -> str:
    """Return for example `4 groups by description`, or `random groups`."""
    section, method = settings.grouping, GROUPINGS[settings.grouping.method]
    number = ""
    if method.takes_k:
        auto = "auto " if number_varies else ""
        number = f"{GROUPS_MARK}{auto}" if section.k == "auto" else f"{section.k} "
    elif section.groups is not None and method.of_names is not None:
        number = f"{len(section.groups)} "
    kind = "" if section.method == DEFAULT_METHOD else f"{section.method.replace('_', ' ')} "
    feature = section.features.removeprefix("label_").replace("_", " ")
    if section.features == "label_description" and _lacks_descriptions(settings.data):
        feature = "name"
    return f"{number}{kind}groups" + (f" by {feature}" if method.takes and not method.random else "")


def _lacks_descriptions(data: DataSettings) -> bool:
    """Whether labels are grouped by name, because the user's columns have no descriptions."""
    columns = data.columns
    return (
        bool(columns.labels or columns.label_list or columns.target or columns.tags) and not data.descriptions
    )


def _words(keys: Sequence[str]) -> dict[str, str]:
    """Return a phrase for each key: its last part, or as many parts as make it unique."""
    parts = {key: key.removesuffix(".name").split(".") for key in keys}

    def last(key: str, count: int) -> str:
        return " ".join(parts[key][-count:]).replace("_", " ")

    return {
        key: next(
            (
                words
                for count in range(1, len(parts[key]))
                if [last(other, count) for other in keys].count(words := last(key, count)) == 1
            ),
            last(key, len(parts[key])),
        )
        for key in keys
    }


def _phrase(key: str, words: str, value: Scalar) -> str:
    """Return a setting in words, such as `2 epochs`, `learning rate 0.001`, `no auto batch`."""
    if key == "encoder.name":
        return PurePath(str(value)).name or str(value)
    if key.startswith("training.rates."):  # a default is left out
        return f"{_text(1 if value == 'null' else value)}x rate of {words}"
    if value == "null" or value is False:
        return f"no {words}"
    if key.endswith(".path"):
        return f"{words} {PurePath(str(value)).name}"
    if value is True:
        return words
    if isinstance(value, int) and words.endswith("s"):
        return f"{value} {words if value != 1 else words[:-1]}"
    return f"{words} {shorten(_text(value), MAX_VALUE_LETTERS)}"


def _text(value: Scalar) -> str:
    """Return a value as text; a list, or a list of lists, without quotes and brackets."""
    try:
        items = parse_json(value) if isinstance(value, str) and value.startswith("[") else None
    except ValueError:  # shortened
        items = None
    if isinstance(items, list):
        lists = [item if isinstance(item, list) else [item] for item in items]
        return (" / " if any(isinstance(item, list) for item in items) else " + ").join(
            " + ".join(map(str, item)) for item in lists
        )
    return short(value) if isinstance(value, float) else str(value)


def _differing(values: Sequence[Flat]) -> Iterator[list[str]]:
    """Yield for each setting that differs N texts, without their common prefix."""
    keys = dict.fromkeys(key for flat in values for key in flat)
    differing = [key for key in keys if len({str(flat.get(key)) for flat in values}) > 1]
    differing.sort(key=lambda key: key.endswith(".path"))  # a name says more
    words = _words(differing)
    for key in differing:
        phrases = [_phrase(key, words[key], flat.get(key, "null")) for flat in values]
        texts = [_text(flat.get(key, "null")) for flat in values]
        if len(set(phrases)) == len(set(texts)):
            yield phrases
        else:  # long values, of which a part is said: take the part that differs
            same = sum(
                1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*texts, strict=False))
            )
            start = texts[0].rfind(" ", 0, max(0, same - LETTERS_BEFORE_DIFFERENCE)) + 1  # a whole word
            ellipsis = "…" if start > 0 else ""
            shown = [ellipsis + text[start:] for text in texts]
            yield [f"{words[key]} {shorten(text, MAX_VALUE_LETTERS)}" for text in shown]


def _fewest(different: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return for each of N the texts that distinguish it, from as few settings as possible."""
    if not different:
        return []
    count = len(set(zip(*different, strict=True)))
    alone = [texts for texts in different if len(set(texts)) == count]
    return list(zip(*(alone[:1] or different), strict=True))
