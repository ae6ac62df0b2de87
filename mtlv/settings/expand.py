"""Conversion of a suite's keys, such as `matrix` and `runs`, to the changes of each member."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mtlv.settings.describe import short
from mtlv.settings.draft import SUITE_KEYS, Change, Draft, Origin, dotted, full_key, known_keys, split
from mtlv.settings.explore import from_explore
from mtlv.settings.problems import from_validation, sentence
from mtlv.settings.schema import ExecutionSettings, Settings
from mtlv.settings.suite_schema import SuiteSettings
from mtlv.settings.text import KeyPath
from mtlv.settings.transfer import from_transfer
from mtlv.settings.variant import Variant

MAX_MEMBERS = 1000
Axis = tuple[Change, ...]
"""The values of one key."""
# All members use one store and the same rule for choosing epochs, so that their comparison is fair.
OF_THE_SUITE = (
    "experiment",
    "tracking.uri",
    "store.uri",
    "store.cache",
    "store.cache_gb",
    *(f"execution.{name}" for name in ExecutionSettings.model_fields),
    "training.select",
    "training.select_per",
    "training.select_by",
)


def suite_keys(draft: Draft, file: str) -> tuple[SuiteSettings, list[str]]:
    """Return the keys of a suite that have keys below them, none if there are problems, and the problems."""
    try:
        keys = {key: draft.values.get(key) for key in SuiteSettings.model_fields}
        return SuiteSettings.model_validate(keys), []
    except ValidationError as error:
        return SuiteSettings(), from_validation(error, draft, file, SuiteSettings)[0]


def variants(
    draft: Draft, keys: SuiteSettings, file: str, winning: Collection[str] = ()
) -> tuple[list[Variant], list[str]]:
    """Return the members that a suite's key describes (one without changes if it has none), and problems.

    Args:
        draft: the whole config.
        keys: its keys of a suite; those without, because they are wrong, describe no member.
        file: the config's name in messages.
        winning: keys of the command line, whose values replace those to try.
    """
    given = [key for key in SUITE_KEYS if draft.values.get(key) is not None]
    if not given:
        return [Variant(())], []
    key, *others = given
    if others and tuple(given) not in TOGETHER:
        wrong = others[-1]
        text = f"given together with `{key}`; keep one of them"
        return [Variant(())], [sentence(draft.place((wrong,), file), wrong, then=text)]
    formed = [_formed(each, draft, keys, file) for each in given if each != "tune"] or [([Variant(())], [])]
    found, problems = ([one for each in part for one in each] for part in zip(*formed, strict=True))
    if "tune" in given:
        axes, more = _to_try(draft.values["tune"], draft, ("tune",), file, set())
        found, unused = _with_axes(found, axes)
        place = draft.place(("tune",), file)
        then = "every run has a value of its own; leave one of them out"
        problems += [*more, *(sentence(place, f"tune.{key}", then=then) for key in unused)]
    found = [one for number, each in enumerate(found) for one in _tried(each, number, winning)]
    if len(found) > MAX_MEMBERS:
        place, allowed = draft.place((key,), file), f"at most {MAX_MEMBERS} members"
        return [Variant(())], [sentence(place, key, got=len(found), allowed=allowed)]
    return found or [Variant(())], [*problems, *_same_names(found)]


def _formed(key: str, draft: Draft, keys: SuiteSettings, file: str) -> tuple[list[Variant], list[str]]:
    """Return the members of one key, and problems."""
    if key == "matrix":
        return _grid(draft.values[key], draft, (key,), file)
    if key == "runs":
        return _from_runs(draft.values[key], draft, file)
    place, (origin, _) = draft.place((key,), file), draft.origin((key,))
    here = Origin(lambda _: place, origin.folder if origin else Path())
    if keys.explore and key == "explore":
        return from_explore(keys.explore, draft, here)
    if keys.transfer and key == "transfer":
        return from_transfer(keys.transfer, draft, here)
    if keys.search and key == "search":
        return _grid(keys.search.over, draft, ("search", "over"), file)
    return [], []


def _grid(
    matrix: Any, draft: Draft, path: KeyPath, file: str, seen: set[str] | None = None
) -> tuple[list[Variant], list[str]]:
    """Return every combination of the values at `path`, and problems, also with keys `seen` before."""
    axes, problems = _axes(matrix, draft, path, file, set() if seen is None else seen)
    return [Variant(changes) for changes in itertools.product(*axes)], problems


def _axes(
    matrix: Any, draft: Draft, path: KeyPath, file: str, seen: set[str]
) -> tuple[tuple[Axis, ...], list[str]]:
    """Return the values of each key at `path`, and problems; adds the keys to those `seen` before."""
    place, name = draft.place(path, file), dotted(path)
    if not isinstance(matrix, dict) or not matrix:
        allowed = "a mapping of keys to lists of values"
        return (), [sentence(place, name, got=matrix, allowed=allowed)]
    problems, axes = [], []
    for key, values in matrix.items():
        here = draft.place((*path, key), file)
        if not isinstance(values, list) or not values:
            problems.append(
                sentence(here, f"{name}.{key}", got=values, allowed="a list of values, at least one")
            )
            continue
        problems += _key_problems(key, f"{name}.{key}", here, seen)
        origin = _origin(draft, (*path, key))
        axes.append(tuple(Change(key, value, origin.below(i)) for i, value in enumerate(values)))
    size = math.prod(len(axis) for axis in axes)
    if size > MAX_MEMBERS:
        return (), [
            *problems,
            sentence(place, name, got=size, allowed=f"at most {MAX_MEMBERS} combinations"),
        ]
    return tuple(axes), problems


def _to_try(
    tune: Any, draft: Draft, path: KeyPath, file: str, seen: set[str]
) -> tuple[tuple[Axis, ...], list[str]]:
    """Return the values to try for each key at `path`, and problems, as `_axes`."""
    axes, problems = _axes(tune, draft, path, file, seen)
    then = "changes what is validated, so its values cannot be compared; write it in `matrix`"
    for key in (axis[0].key for axis in axes):
        if full_key(key, "").partition(".")[0] in NOT_TUNED:
            problems.append(sentence(draft.place((*path, key), file), f"{dotted(path)}.{key}", then=then))
    return axes, problems


def _with_axes(found: Sequence[Variant], axes: Sequence[Axis]) -> tuple[list[Variant], list[str]]:
    """Return members that try the values of `axes`, and keys that no member tries.

    A member with its own `tune` keeps that; a key that it sets itself is not tried.
    """
    used: set[str] = set()
    out = []
    for each in found:
        if each.axes is not None:
            out.append(each)
            continue
        own = flat_changes(each.changes).keys()
        new = tuple(axis for axis in axes if not _keys_of(axis) & own)
        used |= {axis[0].key for axis in new}
        out.append(replace(each, axes=new))
    return out, [axis[0].key for axis in axes if axis[0].key not in used]


def _keys_of(axis: Axis) -> set[str]:
    return {key for change in axis for key in flat_changes([change])}


def _tried(member: Variant, number: int, winning: Collection[str]) -> Iterator[Variant]:
    """Yield a member for each combination of the values to try, or the member itself."""
    axes = [axis for axis in member.axes or () if not _keys_of(axis) <= set(winning)]
    for values in itertools.product(*axes):
        told = [member.name, *(short(change.value) for change in values)] if member.name else []
        yield replace(
            member,
            changes=(*member.changes, *values),
            name=", ".join(told) or None,
            tuned=number if axes else None,
        )


def _from_runs(runs: Any, draft: Draft, file: str) -> tuple[list[Variant], list[str]]:
    place = draft.place(("runs",), file)
    if not isinstance(runs, list) or not runs or len(runs) > MAX_MEMBERS:
        allowed = f"a list of changes, at least one, at most {MAX_MEMBERS}"
        got = f"{len(runs)} items" if isinstance(runs, list) and runs else runs
        return [Variant(())], [sentence(place, "runs", got=got, allowed=allowed)]
    problems: list[str] = []
    out = []
    for i, run in enumerate(runs):
        here = draft.place(("runs", i), file)
        if not isinstance(run, dict):
            problems.append(sentence(here, f"runs[{i}]", got=run, allowed="a mapping of keys to values"))
            continue
        name = run.get("name")
        if name is not None and (not isinstance(name, str) or not name.strip()):
            there = draft.place(("runs", i, "name"), file)
            problems.append(sentence(there, f"runs[{i}].name", got=name, allowed="text"))
            name = None
        origin, seen = _origin(draft, ("runs", i)), set[str]()
        own = [key for key in run if key not in ("name", "matrix", "tune")]
        for key in own:
            problems += _key_problems(key, f"runs[{i}].{key}", draft.place(("runs", i, key), file), seen)
        changes = tuple(Change(key, run[key], origin.below(key)) for key in own)
        varied: list[Variant] = [Variant(())]
        axes: tuple[Axis, ...] | None = None if "tune" not in run else ()
        if "matrix" in run:
            varied, found = _grid(run["matrix"], draft, ("runs", i, "matrix"), file, seen)
            problems += found
        if run.get("tune") is not None:
            axes, found = _to_try(run["tune"], draft, ("runs", i, "tune"), file, seen)
            problems += found
        for each in varied:
            told = [name.strip(), *(short(change.value) for change in each.changes)] if name else []
            out.append(Variant((*changes, *each.changes), " ".join(told) or None, here, axes=axes))
    return out or [Variant(())], problems


TOGETHER = (
    *(("matrix", "explore"), ("runs", "explore"), ("runs", "transfer")),  # the members of both
    *(("matrix", "tune"), ("runs", "tune")),  # values to try for each member
)
"""Keys of a suite that stand together."""
NOT_TUNED = ("seed", "data", "tasks")
"""First parts of keys whose values are validated on other documents or tasks."""


def _same_names(members: Sequence[Variant]) -> Iterator[str]:
    first: dict[str, str] = {}
    for member in members:
        if member.name is None:
            continue
        if member.name in first:
            then = f"the name is taken by the run at {first[member.name]}; give each its own"
            yield sentence(member.place, "name", got=member.name, then=then)
        first.setdefault(member.name, member.place)


def _key_problems(key: str, shown: str, place: str, seen: set[str]) -> list[str]:
    """Return problems of a key that may not vary, or that is repeated (`encoder` is `encoder.name`)."""
    full = dotted(split(full_key(key, "")))
    if full in seen:
        return [sentence(place, shown, then=f"the same as `{full}` above; keep one of them")]
    seen.add(full)
    if full.partition(".")[0] in SUITE_KEYS:
        return [sentence(place, shown, then="cannot stand inside a suite")]
    if full in OF_THE_SUITE:
        return [sentence(place, shown, then="is the same for a whole suite; write it at the top of the file")]
    return []


def _origin(draft: Draft, path: tuple[str | int, ...]) -> Origin:
    """Return the origin of the value at `path`, inside a key of a suite."""
    origin, depth = draft.origin(path)
    assert origin is not None, path
    return origin.below(*path[depth:])


def flat_changes(changes: Sequence[Change]) -> Mapping[str, Any]:
    """Return changes as full dotted keys and values; the mapping of a section becomes several keys."""
    out: dict[str, Any] = {}
    for change in changes:
        out |= _spread(split(full_key(change.key, change.value)), change.value)
    return out


def value_at(settings: Settings, key: str) -> Any:
    """Return the value of settings at a key in a suite, such as `architecture` or `training.epochs`."""
    found: Any = settings.model_dump(mode="json")
    for part in split(full_key(key, "")):
        found = found[part]
    return found


def _spread(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    key = dotted(path)
    if isinstance(value, dict) and key not in known_keys():
        return {k: v for name, inner in value.items() for k, v in _spread((*path, name), inner).items()}
    return {key: value}
