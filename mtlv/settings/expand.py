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
from mtlv.settings.draft import (
    SUITE_KEYS,
    Change,
    Draft,
    Origin,
    Variant,
    defaults,
    dotted_key,
    full_key,
    known_keys,
    split,
)
from mtlv.settings.problems import from_validation, sentence
from mtlv.settings.schema import ExecutionSettings, Settings
from mtlv.settings.suite_schema import SuiteSettings
from mtlv.settings.text import KeyPath
from mtlv.settings.transfer import from_transfer

MAX_MEMBERS = 1000
Axis = tuple[Change, ...]
"""The values of one key."""
# All members use one store and the same rule for choosing epochs, so that their comparison is fair.
SUITE_WIDE_KEYS = (
    "experiment",
    "tracking.uri",
    "store.uri",
    *(f"execution.{name}" for name in ExecutionSettings.model_fields),
    "training.select",
    "training.select_per",
    "training.select_by",
)


def suite_keys(draft: Draft, file: str) -> tuple[SuiteSettings, list[str]]:
    """Return the sections of a suite such as `search`, empty if there are problems, and the problems."""
    try:
        keys = {key: draft.values.get(key) for key in SuiteSettings.model_fields}
        return SuiteSettings.model_validate(keys), []
    except ValidationError as error:
        return SuiteSettings(), from_validation(error, draft, file, SuiteSettings)[0]


def variants(
    draft: Draft, keys: SuiteSettings, file: str, winning: Collection[str] = ()
) -> tuple[list[Variant], list[str]]:
    """Return the members of a suite, and problems. A suite without such keys has one member.

    Args:
        draft: the whole config.
        keys: the checked keys of a suite; keys with problems are None, and describe no member.
        file: the config's name in messages.
        winning: keys set on the command line; their values are not varied.
    """
    used_keys = [key for key in SUITE_KEYS if draft.values.get(key) is not None]
    if not used_keys:
        return [Variant(())], []
    key, *others = used_keys
    made = _Expansion(draft, file)
    if others and tuple(used_keys) not in COMBINED_SUITE_KEYS:
        made.problem((others[-1],), then=f"given together with `{key}`; keep one of them")
        return [Variant(())], made.problems
    bases = [base for base in used_keys if base != "tune"]
    members = [member for base in bases for member in made.members(base, keys)] if bases else [Variant(())]
    if "tune" in used_keys:
        axes = made.axes_to_try(draft.values["tune"], ("tune",), set())
        members, unused = _with_axes(members, axes)
        place = draft.place(("tune",), file)
        then = "every run has a value of its own; leave one of them out"
        made.problems += [sentence(place, f"tune.{key}", then=then) for key in unused]
    members = [trial for number, member in enumerate(members) for trial in _vary(member, number, winning)]
    if len(members) > MAX_MEMBERS:
        place, allowed = draft.place((key,), file), f"at most {MAX_MEMBERS} members"
        return [Variant(())], [sentence(place, key, got=len(members), allowed=allowed)]
    return members or [Variant(())], [*made.problems, *_same_names(members)]


class _Expansion:
    """Convert the keys of a suite in `draft` to members, and collect the problems of these keys."""

    def __init__(self, draft: Draft, file: str) -> None:
        self.draft, self.file = draft, file
        self.problems: list[str] = []

    def problem(self, path: KeyPath, *, got: Any = ..., allowed: str = "", then: str = "") -> None:
        """Add a problem of the value at `path`."""
        place = self.draft.place(path, self.file)
        self.problems.append(sentence(place, dotted_key(path), got=got, allowed=allowed, then=then))

    def members(self, key: str, keys: SuiteSettings) -> list[Variant]:
        """Return the members of one key."""
        if key == "matrix":
            return self._grid(self.draft.values[key], (key,), set())
        if key == "runs":
            return self._runs(self.draft.values[key])
        if keys.search and key == "search":
            return self._grid(keys.search.over, ("search", "over"), set())
        place, (origin, _) = self.draft.place((key,), self.file), self.draft.origin((key,))
        here = Origin(lambda _: place, origin.folder if origin else Path())
        members: list[Variant] = []
        problems: list[str] = []
        if keys.transfer and key == "transfer":
            members, problems = from_transfer(keys.transfer, self.draft, here)
        self.problems += problems
        return members

    def _grid(self, matrix: Any, path: KeyPath, seen: set[str]) -> list[Variant]:
        """Return every combination of the values at `path`."""
        return [Variant(changes) for changes in itertools.product(*self._axes(matrix, path, seen))]

    def _axes(self, matrix: Any, path: KeyPath, seen: set[str]) -> tuple[Axis, ...]:
        """Return the values of each key at `path`; adds the keys to those `seen` before."""
        if not isinstance(matrix, dict) or not matrix:
            self.problem(path, got=matrix, allowed="a mapping of keys to lists of values")
            return ()
        axes: list[Axis] = []
        for key, values in matrix.items():
            here = (*path, key)
            if not isinstance(values, list) or not values:
                self.problem(here, got=values, allowed="a list of values, at least one")
                continue
            self._check_key(here, seen)
            origin = self._origin(here)
            axes.append(tuple(Change(key, value, origin.below(i)) for i, value in enumerate(values)))
        size = math.prod(len(axis) for axis in axes)
        if size > MAX_MEMBERS:
            self.problem(path, got=size, allowed=f"at most {MAX_MEMBERS} combinations")
            return ()
        return tuple(axes)

    def axes_to_try(self, tune: Any, path: KeyPath, seen: set[str]) -> tuple[Axis, ...]:
        """Return the values to try for each key at `path`; adds the keys to those `seen` before."""
        axes = self._axes(tune, path, seen)
        then = "changes what is validated, so its values cannot be compared; write it in `matrix`"
        for key in (axis[0].key for axis in axes):
            if full_key(key, "").partition(".")[0] in UNTUNABLE_KEYS:
                self.problem((*path, key), then=then)
        return axes

    def _runs(self, runs: Any) -> list[Variant]:
        if not isinstance(runs, list) or not runs or len(runs) > MAX_MEMBERS:
            allowed = f"a list of changes, at least one, at most {MAX_MEMBERS}"
            got = f"{len(runs)} items" if isinstance(runs, list) and runs else runs
            self.problem(("runs",), got=got, allowed=allowed)
            return [Variant(())]
        return [one for i, run in enumerate(runs) for one in self._run(run, ("runs", i))] or [Variant(())]

    def _run(self, run: Any, path: KeyPath) -> list[Variant]:
        """Return the members of an item of `runs`: one, or each combination of its own `matrix`."""
        if not isinstance(run, dict):
            self.problem(path, got=run, allowed="a mapping of keys to values")
            return []
        name = run.get("name")
        if name is not None and (not isinstance(name, str) or not name.strip()):
            self.problem((*path, "name"), got=name, allowed="text")
            name = None
        origin, seen = self._origin(path), set[str]()
        keys = [key for key in run if key not in ("name", "matrix", "tune")]
        for key in keys:
            self._check_key((*path, key), seen)
        changes = tuple(Change(key, run[key], origin.below(key)) for key in keys)
        varied = self._grid(run["matrix"], (*path, "matrix"), seen) if "matrix" in run else [Variant(())]
        axes: tuple[Axis, ...] | None = None if "tune" not in run else ()
        if run.get("tune") is not None:
            axes = self.axes_to_try(run["tune"], (*path, "tune"), seen)
        out = []
        for combination in varied:
            words = [name.strip(), *(short(change.value) for change in combination.changes)] if name else []
            place = self.draft.place(path, self.file)
            out.append(Variant((*changes, *combination.changes), " ".join(words) or None, place, axes=axes))
        return out

    def _check_key(self, path: KeyPath, seen: set[str]) -> None:
        """Report a key that must not vary or that is repeated (`encoder` is `encoder.name`)."""
        full = dotted_key(split(full_key(str(path[-1]), "")))
        if full in seen:
            self.problem(path, then=f"the same as `{full}` above; keep one of them")
        elif full.partition(".")[0] in SUITE_KEYS:
            self.problem(path, then="cannot stand inside a suite")
        elif full in SUITE_WIDE_KEYS:
            self.problem(path, then="is the same for a whole suite; write it at the top of the file")
        seen.add(full)

    def _origin(self, path: KeyPath) -> Origin:
        """Return the origin of the value at `path`, inside a key of a suite."""
        origin, depth = self.draft.origin(path)
        assert origin is not None, path
        return origin.below(*path[depth:])


def _with_axes(members: Sequence[Variant], axes: Sequence[Axis]) -> tuple[list[Variant], list[str]]:
    """Add the values to try to each member; also return the keys that no member tries.

    A member with a `tune` of its own keeps it. A key that a member sets is not varied for it.
    """
    used: set[str] = set()
    out = []
    for member in members:
        if member.axes is not None:
            out.append(member)
            continue
        changed = flat_changes(member.changes).keys()
        new = tuple(axis for axis in axes if not _keys_of(axis) & changed)
        used |= {axis[0].key for axis in new}
        out.append(replace(member, axes=new))
    return out, [axis[0].key for axis in axes if axis[0].key not in used]


def _keys_of(axis: Axis) -> set[str]:
    return {key for change in axis for key in flat_changes([change])}


def _vary(member: Variant, number: int, winning: Collection[str]) -> Iterator[Variant]:
    """Yield a member for each combination of the values to try, or the member itself."""
    axes = [axis for axis in member.axes or () if not _keys_of(axis) <= set(winning)]
    for values in itertools.product(*axes):
        words = [member.name, *(short(change.value) for change in values)] if member.name else []
        yield replace(
            member,
            changes=(*member.changes, *values),
            name=", ".join(words) or None,
            tuned=number if axes else None,
        )


COMBINED_SUITE_KEYS = (
    ("runs", "transfer"),  # the members of both
    *(("matrix", "tune"), ("runs", "tune")),  # values to try for each member
)
"""Keys of a suite that stand together."""
UNTUNABLE_KEYS = ("seed", "data", "tasks")
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


def flat_changes(changes: Sequence[Change]) -> Mapping[str, Any]:
    """Return changes as full dotted keys and values; the mapping of a section becomes several keys."""
    out: dict[str, Any] = {}
    for change in changes:
        out |= _spread(split(full_key(change.key, change.value)), change.value)
    return out


def value_at(settings: Settings, key: str) -> Any:
    """Return the value of settings at a key in a suite, such as `architecture` or `training.epochs`."""
    value: Any = settings.model_dump(mode="json")
    default: Any = defaults()
    for part in split(full_key(key, "")):
        default = default.get(part) if isinstance(default, dict) else None
        value = value.get(part, default)  # a dump leaves out keys in `later` at their defaults
    return value


def _spread(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    key = dotted_key(path)
    if isinstance(value, dict) and key not in known_keys():
        return {k: v for name, inner in value.items() for k, v in _spread((*path, name), inner).items()}
    return {key: value}
