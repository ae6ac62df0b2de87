"""Problems as lines for the user: place, key, value, allowed values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from mtlv.errors import nearest, shorten
from mtlv.settings.draft import Draft, dotted_key, known_keys
from mtlv.settings.schema import Settings
from mtlv.settings.text import KeyPath
from mtlv.settings.values import OneOf

KEY = re.compile(r"`([a-z_]+(?:\[\d+\])?(?:\.[a-z_]+(?:\[\d+\])?)*)\b")
NAME = re.compile(r"`([^`]+)`")
MAX_PROBLEMS = (
    50  # lines per member; finding the nearest correct names for thousands of wrong ones takes minutes
)


@dataclass(frozen=True)
class Problem:
    """A problem of settings that are correct each by itself."""

    text: str  # the problem, with keys in backticks
    keys: tuple[str, ...] = ()  # keys at whose place it is, if it names none that was written
    within: str = ""  # what its keys are below, such as `stages[0].`

    def line(self, places: Mapping[str, str], file: str) -> str:
        """Return the problem with its place: the first of its keys that was written, otherwise the file.

        A name in the problem may be below a key, such as a label in `data.descriptions`.
        """
        named = [part for key in KEY.findall(self.text) for part in (f"{self.within}{key}", key)]
        below = [f"{key}.{name}" for key in named for name in NAME.findall(self.text)]
        place = next((places[key] for key in (*below, *named, *self.keys) if key in places), file)
        return f"{place}: {self.text}"


def show(value: Any) -> str:
    """Return a short YAML form of a value: 'ten', 10, true, null."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return shorten(f"'{value}'", 80)
    return shorten(repr(value), 80)


def sentence(place: str, key: str, *, got: Any = ..., allowed: str = "", then: str = "") -> str:
    """Return one problem as one line."""
    parts = []
    if got is not ...:
        parts.append(f"got {show(got)}")
    if allowed:
        parts.append(f"allowed: {allowed}")
    if then:
        parts.append(then)
    return f"{place}: `{shorten(key, 100)}`: {'; '.join(parts)}"


def field_at(path: KeyPath, model: type[BaseModel] = Settings) -> tuple[FieldInfo | None, int]:
    """Return the field of a schema that contains `path`, and its depth."""
    field: FieldInfo | None = None
    depth = 0
    while depth < len(path):
        field = _field(model, path[depth])
        depth += 1
        if field is None:
            return None, depth
        inner, listed = _section(field)
        if inner is None or (listed and len(path) <= depth + 1):
            return field, depth
        model, depth = inner, depth + listed
    return None, len(path)


def _field(model: type[BaseModel], key: str | int) -> FieldInfo | None:
    """Return a section's field by its key, which is its alias if it has one."""
    fields = model.model_fields
    return fields.get(str(key)) or next((f for f in fields.values() if f.alias == key), None)


def _section(field: FieldInfo) -> tuple[type[BaseModel] | None, bool]:
    """Return the section in a field (single, optional or in a list), and whether it is in a list."""
    kind = field.annotation
    candidates = [kind, *(part for argument in get_args(kind) for part in (argument, *get_args(argument)))]
    section = next((c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel)), None)
    listed = any(get_origin(argument) is tuple for argument in (kind, *get_args(kind)))
    return section, section is not None and listed


def _choices(field: FieldInfo) -> list[str]:
    """Return the allowed texts of a field, if it is limited to these."""
    if get_origin(field.annotation) is Literal:
        return [str(choice) for choice in get_args(field.annotation)]
    return [name for rule in field.metadata if isinstance(rule, OneOf) for name in rule.choices]


OTHER_NAMES = {
    "lr": "learning_rate",
    "n_epochs": "epochs",
    "num_epochs": "epochs",
    "num_train_epochs": "epochs",
    "per_device_train_batch_size": "batch_size",
    "gradient_accumulation_steps": "accumulation",
    "max_len": "max_length",
    "max_seq_length": "max_length",
    "max_grad_norm": "clip_norm",
    "warmup_ratio": "warmup",
    "lr_scheduler_type": "schedule",
    "train_batch_size": "batch_size",
    "fp16": "precision",
    "bf16": "precision",
    "early_stopping": "patience",
    "early_stopping_patience": "patience",
    "model_name_or_path": "encoder",
    "random_state": "seed",
    "model": "encoder",
    "n_splits": "folds",
}
"""Names of keys in other libraries."""


def nearest_key(name: str, known: Iterable[str]) -> str:
    """Return `did you mean X?` for the nearest known key, or an empty string."""
    known = list(known)
    our_name = OTHER_NAMES.get(name)
    return f"did you mean `{our_name}`?" if our_name in known else nearest(name, known)


def unknown(place: str, path: KeyPath, siblings: Iterable[str]) -> str:
    """Return the problem of an unknown key, with the nearest correct name."""
    key, last = dotted_key(path), str(path[-1])
    then = _right_name(key, last, list(siblings))
    return f"{place}: `{shorten(key, 100)}`: unknown key; {then}"


def _right_name(key: str, last: str, siblings: list[str]) -> str:
    """Return a hint for an unknown key; `last` has dots if sections were written as one key."""
    if key == last and key in known_keys():
        section, _, name = key.rpartition(".")
        return f"write `{name}` below `{section.replace('.', '`, `')}`"
    near = nearest(key, known_keys()) if "." in last else nearest_key(last, siblings)
    if near:
        prefix = key[: -len(last)] if "." not in last else ""
        return near.replace("`", f"`{prefix}", 1)
    name = last.rpartition(".")[2]
    our_name = OTHER_NAMES.get(name, name)
    same_name = [known for known in known_keys() if known.rpartition(".")[2] == our_name]
    return f"did you mean `{same_name[0]}`?" if same_name else f"allowed here: {', '.join(siblings)}"


def from_validation(
    error: ValidationError, draft: Draft, file: str, model: type[BaseModel] = Settings
) -> tuple[list[str], list[KeyPath]]:
    """Return Pydantic's errors of a model as lines, and the wrong paths."""
    lines: dict[KeyPath, str] = {}
    for item in error.errors(include_url=False, include_context=False):
        loc: KeyPath = tuple(item["loc"])
        known = item["type"] != "extra_forbidden"
        field, depth = field_at(loc, model) if known else (None, 0)
        path = loc if field is None else (*loc[:depth], *_inside(loc[depth:], draft.get(loc[:depth])))
        if path in lines:
            continue
        if len(lines) >= MAX_PROBLEMS:
            lines[path] = ""
        elif known:
            lines[path] = _wrong_value(draft, path, field, file, model)
        else:
            lines[path] = unknown(draft.place(loc, file), loc, _fields(loc[:-1], model))
    # Each branch of a union has an error; the deepest is the most informative.
    holders = {path[:depth] for path in lines for depth in range(len(path))}
    kept = {path: line for path, line in lines.items() if path not in holders}
    left = sum(not line for line in kept.values())
    more = [f"{file}: and {left} more problems like these"] if left else []
    return [*filter(None, kept.values()), *more], list(kept)


def _fields(path: KeyPath, model: type[BaseModel]) -> list[str]:
    """Return the keys of the section of a model at `path`."""
    for part in path:
        field = None if isinstance(part, int) else _field(model, part)
        inner = None if field is None else _section(field)[0]
        model = inner or model  # a number is an index in a list of sections
    return [field.alias or name for name, field in model.model_fields.items()]


def _inside(loc: KeyPath, value: Any) -> KeyPath:
    """Return the part of `loc` that exists in `value`; Pydantic adds the names of a union's branches."""
    path: list[str | int] = []
    for part in loc:
        if isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        elif isinstance(value, dict) and part in value:
            value = value[str(part)]
        else:
            continue
        path.append(part)
    return tuple(path)


def _wrong_value(
    draft: Draft, path: KeyPath, field: FieldInfo | None, file: str, model: type[BaseModel]
) -> str:
    got, place = draft.get(path), draft.place(path, file)
    if field is None:
        return sentence(
            place, dotted_key(path), got=got, allowed=f"a mapping of {', '.join(_fields(path, model))}"
        )
    choices = _choices(field)
    allowed = field.description or (f"one of {', '.join(choices)}" if choices else "another value")
    then = nearest(got, choices) if isinstance(got, str) else ""
    return sentence(place, dotted_key(path), got=got, allowed=allowed, then=then)
