"""Settings as text: flat for a tracker's parameters, YAML for a file, short for a name."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import yaml

from mtlv.errors import shorten
from mtlv.plan import slugs
from mtlv.settings.schema import ArchitectureSettings, GroupingSettings, Settings, TrainingSettings
from mtlv.settings.text import resolve_scalars

MAX_PARAMETER_LETTERS = (
    500  # MLflow stores up to 6000 characters of a parameter; a table cell should stay readable
)

Scalar = str | int | float | bool


def flatten(settings: Settings) -> dict[str, Scalar]:
    """Return every setting by its dotted key; lists and mappings as short JSON, null as `null`.

    With several stages, `stages` has their names, and `stages.NAME.KEY` the settings of an earlier stage that
    differ from the last. The top-level settings are those of the last stage.
    """
    out: dict[str, Scalar] = {}

    def walk(values: Mapping[str, Any], prefix: str, model: type) -> None:
        fields = model.model_fields  # type: ignore[attr-defined]
        for key, value in values.items():
            inner = fields[key].annotation if key in fields else None  # an alias is of no section
            if isinstance(inner, type) and hasattr(inner, "model_fields"):
                walk(value, f"{prefix}{key}.", inner)
            else:
                out[prefix + key] = plain(value)

    walk(settings.model_dump(), "", Settings)
    return out | _stages(settings, out)


def _stages(settings: Settings, last: Mapping[str, Scalar]) -> dict[str, Scalar]:
    if settings.stages is None:
        return {}
    names = slugs([stage.name for stage in settings.stages])
    out: dict[str, Scalar] = {"stages": " > ".join(names)}
    for name, stage_settings in zip(names.values(), settings.each_stage[:-1], strict=False):
        alone = flatten(stage_settings.model_copy(update={"stages": None}))
        # Keys in `later` are only there if they are used.
        both = {key: (alone.get(key, "null"), last.get(key, "null")) for key in {**last, **alone}}
        out |= {f"stages.{name}.{key}": x for key, (x, y) in both.items() if key != "stages" and x != y}
    for stage in settings.stages:
        if stage.start is not None:
            start = stage.start
            out[f"stages.{names[stage.name]}.start"] = f"{start.stage}, {start.match}, {start.carry}"
    return out


def plain(value: Any) -> Scalar:
    """Return a scalar unchanged, and any other value as text of at most 500 characters."""
    if value is None:
        return "null"
    if isinstance(value, (str, bool, int, float)):
        return value if not isinstance(value, str) else shorten(value, MAX_PARAMETER_LETTERS)
    return shorten(json.dumps(value, ensure_ascii=False), MAX_PARAMETER_LETTERS)


STAGES_DEFAULTS = {
    "architecture": ArchitectureSettings.later,
    "grouping": GroupingSettings.later,
    "training": TrainingSettings.later,
}
"""Sections of a stage, with the keys that dumps leave out at their defaults."""


def dump(settings: Settings) -> str:
    """Return the settings as YAML, which `load_suite` reads back as the same settings."""
    values = settings.model_dump(mode="json")
    for section, later in STAGES_DEFAULTS.items():
        for key, value in later.items():
            if key in values[section]:  # otherwise stages at the default would inherit this one
                for stage in values["stages"] or ():
                    stage[section].setdefault(key, value)
    return yaml.dump(values, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def in_line(value: Any) -> str:
    """Return a value as YAML in one line, for a place in a config."""
    text = yaml.dump([value], Dumper=_Dumper, default_flow_style=True, allow_unicode=True, width=math.inf)
    return text.strip()[1:-1]  # in a list, as a lone value would end with a mark of the document


class _Dumper(yaml.SafeDumper):
    """Quote texts that YAML 1.1 or our reader would not read as text, such as `2e5` and `0o17`."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Return a text in quotes if it has breaks of lines, which are escaped there, and else as it is."""
    style = '"' if len(text.splitlines()) > 1 or text[-1:].splitlines() == [""] else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


resolve_scalars(_Dumper)
_Dumper.add_representer(str, _text)


def short(value: Any) -> str:
    """Return a value for use in a name: one word if possible, at most 40 characters."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float):
        return f"{value:g}"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return shorten(text, 40)
