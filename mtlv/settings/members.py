"""Names of a suite's members, and removal of repeated members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from mtlv.registries import ARCHITECTURES, GROUPINGS
from mtlv.seeding import content_key
from mtlv.settings.describe import flatten, short
from mtlv.settings.schema import Settings

# Keys already shown in the name, which are not repeated as key=value.
_SAID = ("stages", "architecture.name", "encoder.name", "grouping.method", "grouping.k", "grouping.features")


@dataclass(frozen=True)
class Member:
    """One set of settings in a suite.

    Args:
        name: readable, unique within the suite.
        settings: complete and checked.
        changes: values that differ from the common part of the config, by dotted key.
        places: where each key was written, such as `config.yml:12`; without keys at their default.
    """

    name: str
    settings: Settings
    changes: dict[str, Any]
    places: Mapping[str, str] = field(default_factory=dict)


def is_read(key: str, settings: Settings) -> bool:
    """Return whether a member uses a key: an ungrouped architecture does not use `grouping`."""
    return ARCHITECTURES[settings.architecture.name].grouped or not key.startswith("grouping.")


def identity(settings: Settings) -> str:
    """Return a key that is equal for members with the same work."""
    values = settings.model_dump(mode="json")
    if not ARCHITECTURES[settings.architecture.name].grouped:
        del values["grouping"]
    return content_key(values)


def collapse(members: Sequence[Member]) -> tuple[list[Member], list[str]]:
    """Return the members without repetitions of earlier ones, and a note about those left out."""
    first: dict[str, Member] = {}
    repeated: dict[str, Member] = {}
    for member in members:
        key = identity(member.settings)
        if key in first:
            repeated[key] = first[key]
        first.setdefault(key, member)
    if not repeated:
        return list(first.values()), []
    names = ", ".join(f"`{member.name}`" for member in repeated.values())
    ungrouped = any(not ARCHITECTURES[m.settings.architecture.name].grouped for m in repeated.values())
    why = " (`grouping` does not concern stl and mtl)" if ungrouped else ""
    left_out = len(members) - len(first)
    return list(first.values()), [f"{left_out} repeated members left out{why}; once each: {names}"]


def named(
    members: Sequence[tuple[str | None, Settings, Mapping[str, Any], Mapping[str, str]]],
) -> list[Member]:
    """Return members with their names: from the config, or made from the differing settings."""
    flats = [flatten(settings) for _, settings, *_ in members]
    changed = dict.fromkeys(key for _, _, changes, _ in members for key in changes)
    varied = [key for key in changed if len({str(flat.get(key)) for flat in flats}) > 1]
    out: list[Member] = []
    taken: dict[str, str] = {}
    for (given, settings, changes, places), flat in zip(members, flats, strict=True):
        kept = {key: value for key, value in changes.items() if is_read(key, settings)}
        name = given or " · ".join(_parts(settings, flat, [key for key in varied if key not in _SAID]))
        key = identity(settings)
        if taken.setdefault(name, key) != key:
            name = f"{name} · {content_key(key, 6)}"
            taken[name] = key
        out.append(Member(name, settings, kept, places))
    return out


def _parts(settings: Settings, flat: Mapping[str, Any], extra: Sequence[str]) -> list[str]:
    stages = [" > ".join(stage.name for stage in settings.stages)] if settings.stages else []
    parts: list[str] = [*stages, settings.architecture.name]
    if ARCHITECTURES[settings.architecture.name].grouped:
        parts += _grouping(settings)
    parts.append(PurePath(settings.encoder.name).name or settings.encoder.name)
    parts += [
        f"{key.removesuffix('.name')}={short(flat[key])}"
        for key in extra
        if key in flat and is_read(key, settings)
    ]
    return parts


def _grouping(settings: Settings) -> list[str]:
    grouping, method = settings.grouping, GROUPINGS[settings.grouping.method]
    parts: list[str] = [] if grouping.method == "kmedoids" else [grouping.method]
    if method.takes_k:
        parts.append(f"k={grouping.k}")
    return [*parts, grouping.features] if method.takes and not method.random else parts
