"""Drafts of settings: the defaults with changes applied, and the origin of each value."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from mtlv.settings.text import KeyPath, YamlDocument, parse

SUITE_KEYS = ("matrix", "runs", "transfer", "search", "tune")
SUITE_SECTIONS = ("transfer", "search")  # those of them with keys of their own, such as `search.over`
SHORTHAND_KEYS = ("data", "encoder", "architecture", "training.objective")


@dataclass(frozen=True)
class Origin:
    """The place where a value was written."""

    # function of a path below the value that returns a text such as `config.yml:12`
    place: Callable[[KeyPath], str]
    folder: Path  # folder of relative paths in the value

    def below(self, *keys: str | int) -> Origin:
        """Return the origin of a part of the value."""
        return Origin(lambda path: self.place((*keys, *path)), self.folder)


@dataclass(frozen=True)
class Change:
    """A value to set at a dotted key."""

    key: str
    value: Any
    origin: Origin


@dataclass(frozen=True)
class Variant:
    """The definition of one member of a suite: its changes, and its name if the config sets one.

    Args:
        axes: values of each key to try, see `tune`; None if it has no `tune` of its own.
        tuned: number of the member for which this one tries values; None if it has no others.
    """

    changes: tuple[Change, ...]
    name: str | None = None
    place: str = ""
    axes: tuple[tuple[Change, ...], ...] | None = None
    tuned: int | None = None


@cache
def _defaults() -> YamlDocument:
    text = files("mtlv.settings").joinpath("defaults.yml").read_text(encoding="utf-8")
    return parse(text, "defaults.yml", fast=True)


def defaults() -> dict[str, Any]:
    """Return a new copy of all defaults, with the keys of a suite."""
    return copy.deepcopy(_defaults().value)


def is_section(path: KeyPath) -> bool:
    """Return whether `path` has known keys below it (a mapping such as `data.descriptions` does not)."""
    value: Any = _defaults().value
    for part in path:
        if not isinstance(value, Mapping) or part not in value:
            return False
        value = value[part]
    return isinstance(value, Mapping) and bool(value)


@cache
def known_keys() -> tuple[str, ...]:
    """Return the dotted keys of all values in order, without those of a suite."""
    return tuple(key for key in _leaves(_defaults().value, ()) if key not in SUITE_KEYS)


def _leaves(values: Mapping[str, Any], path: KeyPath) -> Iterator[str]:
    for key, value in values.items():
        here = (*path, key)
        if is_section(here):
            yield from _leaves(value, here)
        else:
            yield dotted_key(here)


def dotted_key(path: KeyPath) -> str:
    """Return for example `data.labels[0]` for ("data", "labels", 0)."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def split(key: str) -> tuple[str, ...]:
    """Split a dotted key into a path; anything after the last known section or value is not split.

    For example, `data.descriptions.St. John` becomes ("data", "descriptions", "St. John"), and
    `search.over.training.epochs` becomes ("search", "over", "training.epochs").
    """
    parts = key.split(".")
    path: tuple[str, ...] = ()
    for i, part in enumerate(parts):
        if not is_section((*path, part)):
            known = dotted_key((*path, part)) in (*known_keys(), *SUITE_KEYS)
            rest = ".".join(parts[i + 1 :])
            if known:
                # The values of mappings may be by dotted key.
                below = rest.split(".", 1) if part in SUITE_SECTIONS else [rest]
                return (*path, part, *below) if rest else (*path, part)
            return (*path, ".".join(parts[i:]))
        path = (*path, part)
    return path


def full_key(key: str, value: Any) -> str:
    """Return `key` without shorthand: `architecture` with a plain value becomes `architecture.name`."""
    return (
        f"{key}.name" if key in SHORTHAND_KEYS and value is not None and not isinstance(value, dict) else key
    )


def _copy(value: Any) -> Any:
    """Copy plain values, mappings and lists; `copy.deepcopy` takes several times as long."""
    if isinstance(value, dict):
        return {key: _copy(inner) for key, inner in value.items()}
    return [_copy(inner) for inner in value] if isinstance(value, list) else value


def _paths(value: Any) -> Iterator[KeyPath]:
    """Yield the paths of all values in a mapping, including mappings in lists such as stages."""
    parts: Iterable[tuple[str | int, Any]] = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        parts = [(number, item) for number, item in enumerate(value) if isinstance(item, dict)]
    for key, inner in parts:
        yield (key,)
        yield from ((key, *path) for path in _paths(inner))


class Draft:
    """Values by section, and the origin of each value that is not a default."""

    def __init__(self) -> None:
        self.values = defaults()
        self.origins: dict[KeyPath, Origin] = {}

    def copy(self) -> Draft:
        new = Draft.__new__(Draft)
        # What all members of a suite have in common is not copied for each of them.
        new.values = {k: v if k in SUITE_KEYS else _copy(v) for k, v in self.values.items()}
        new.origins = dict(self.origins)
        return new

    def apply(self, change: Change) -> None:
        """Apply a change; mappings of known sections are merged, other values are replaced."""
        self._put(split(full_key(change.key, change.value)), change.value, change.origin)

    def apply_file(self, values: Mapping[str, Any], origin: Origin) -> None:
        """Apply the mapping of a file."""
        for key, value in values.items():
            path = (key, "name") if full_key(key, value) != key else (key,)
            # In the file, the shorthand's value is at the section's own key.
            self._put(path, value, origin.below(key))

    def _put(self, path: KeyPath, value: Any, origin: Origin) -> None:
        if is_section(path) and (isinstance(value, dict) or value is None):
            for key, inner in (value or {}).items():
                self._put((*path, key), inner, origin.below(key))
            return
        if dotted_key(path) in SHORTHAND_KEYS and is_section(path):  # within its section, such as `training`
            path = (*path, "name")
        holder: dict[Any, Any] = self.values
        for depth, part in enumerate(path[:-1], 1):
            if not isinstance(holder.get(part), dict):
                if is_section(path[:depth]):
                    return  # a scalar instead of a section, which is reported separately
                holder[part] = {}
            holder = holder[part]
        overwritten = holder.get(path[-1])
        holder[path[-1]] = value
        if isinstance(overwritten, dict):  # values that were set below it are overwritten
            for old in [p for p in self.origins if p[: len(path)] == path]:
                del self.origins[old]
        self.origins[path] = origin

    def get(self, path: KeyPath) -> Any:
        """Return the value at `path`, or None."""
        value: Any = self.values
        for part in path:
            try:
                value = value[part]
            except (KeyError, IndexError, TypeError):
                return None
        return value

    def place(self, path: KeyPath, otherwise: str) -> str:
        """Return where the value at `path` was written; `otherwise` for a default."""
        origin, depth = self.origin(path)
        return origin.place(path[depth:]) if origin else otherwise

    def places(self) -> dict[str, str]:
        """Return where each value that is not a default was written, by dotted key; also within lists."""
        return {
            dotted_key((*path, *below)): origin.place(below)
            for path, origin in self.origins.items()
            for below in ((), *_paths(self.get(path)))
        }

    def origin(self, path: KeyPath) -> tuple[Origin | None, int]:
        """Return the origin of the value at `path` and the length of the path at which it was set."""
        for depth in range(len(path), 0, -1):
            if path[:depth] in self.origins:
                return self.origins[path[:depth]], depth
        return None, 0
