"""The settings as JSON Schema, with the comments of `defaults.yml`, by which editors check configs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

from mtlv.registries import CHOICES
from mtlv.settings.draft import SHORTHAND_KEYS, SUITE_KEYS, defaults, dotted_key, split
from mtlv.settings.schema import Settings
from mtlv.settings.suite_schema import SuiteSettings
from mtlv.settings.text import KeyPath

DIALECT = "https://json-schema.org/draft/2020-12/schema"
KEY = re.compile(r"( *)(\w+):")
GRID_SCHEMA = {"type": "object", "additionalProperties": {"type": "array", "minItems": 1}}
SUITE_KEY_SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    "matrix": GRID_SCHEMA,
    "runs": {"type": "array", "items": {"type": "object"}, "minItems": 1},
    "tune": GRID_SCHEMA,
}


def config_schema() -> dict[str, Any]:
    """Return the JSON Schema of a config file. No key is required; unknown keys are not allowed."""
    schema, of_suite = Settings.model_json_schema(), SuiteSettings.model_json_schema()
    schema["$defs"] |= of_suite["$defs"]
    for part in (schema, *schema["$defs"].values()):
        part.pop("required", None)
        values = part["properties"].values()
        for node in (part, *values, *(kind for value in values for kind in value.get("anyOf", ()))):
            node.pop("title", None)
            node.pop("pattern", None)  # of Rust: editors would refuse it
    descriptions = {path: " ".join(map(str.strip, [*lines, *titles(path)])) for path, lines in comments()}
    _document(schema, schema["$defs"], (), descriptions, defaults())
    for path in map(split, SHORTHAND_KEYS):
        part = schema
        for key in path[:-1]:
            part = schema["$defs"][_below(part["properties"][key])]
        part["properties"][path[-1]] = {"anyOf": [{"type": "string"}, part["properties"][path[-1]]]}
    for key in SUITE_KEYS:
        kind = SUITE_KEY_SCHEMAS.get(key) or {"$ref": f"#/$defs/{key.capitalize()}Settings"}
        schema["properties"][key] = {"anyOf": [kind, {"type": "null"}], "description": descriptions[(key,)]}
    return {"$schema": DIALECT, "title": "mtlv", **schema}


def _document(
    part: dict[str, Any],
    parts: Mapping[str, Any],
    path: KeyPath,
    descriptions: Mapping[KeyPath, str],
    values: Mapping[str, Any],
) -> None:
    """Add the comment and the default of each value, and of those in the sections below it."""
    for key, field in part["properties"].items():
        here = (*path, key)
        below = _below(field)
        if below:
            _document(parts[below], parts, here, descriptions, values[key])
        elif here in descriptions:
            allowed = field.get("description")
            field["description"] = descriptions[here] + (f" Allowed: {allowed}." if allowed else "")
            field["default"] = values[key]


def _below(field: Mapping[str, Any]) -> str:
    """Return the name of the section that a property refers to; empty for a plain value."""
    name: str = field.get("$ref", "").rpartition("/")[2]
    return name


def titles(path: KeyPath) -> list[str]:
    """Return a sentence about each registered choice of a key that has a title."""
    registry = CHOICES.get(dotted_key(path))
    lines = {} if registry is None else {name: registry.title(name) for name in registry}
    return [f"{name}: {line}." for name, line in lines.items() if line]


def comments() -> Iterator[tuple[KeyPath, list[str]]]:
    """Yield the lines of the comment above each key of `defaults.yml`; lines of an example stay indented."""
    text = files("mtlv.settings").joinpath("defaults.yml").read_text(encoding="utf-8")
    path: KeyPath = ()
    lines: list[str] = []
    for line in text.splitlines():
        key = KEY.match(line)
        if line.startswith("# ----"):  # the title of a section
            lines = []
        elif line.lstrip().startswith("#"):
            lines.append(line.lstrip().removeprefix("#").removeprefix(" ").rstrip())
        elif key is None:
            lines = []
        else:
            path = (*path[: len(key[1]) // 2], key[2])
            if lines:
                yield path, lines
            lines = []
