"""Keyword arguments as settings: the names of `defaults.yml`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mtlv.errors import ConfigError, nearest
from mtlv.settings.draft import SHORTHAND, is_section, known_keys
from mtlv.settings.schema import Settings


def as_settings(arguments: Mapping[str, Any], section: str) -> dict[str, Any]:
    """Values by dotted key.

    A keyword is the last part of a name, such as `epochs` for `training.epochs`. If several settings
    end so, `section` decides; any other is written with its section: `encoder__features`.

    Args:
        arguments: by keyword.
        section: whose settings go before others, such as `grouping`.

    Raises:
        ConfigError: a keyword names no setting, or several.
    """
    found, problems = {}, []
    for keyword, value in arguments.items():
        keys = _keys(keyword, section)
        if len(keys) == 1:
            found[keys[0]] = value
        elif keys:
            options = " or ".join(f"`{key.replace('.', '__')}`" for key in keys)
            problems.append(f"argument `{keyword}`: several settings end so; write {options}")
        else:
            last = keyword.rpartition("__")[2]
            hint = nearest(last, [key.rpartition(".")[2] for key in known_keys()])
            problems.append(f"argument `{keyword}`: no setting has this name; {hint or 'see defaults.yml'}")
    if problems:
        raise ConfigError(problems)
    return found


def _keys(keyword: str, section: str) -> list[str]:
    """The settings that a keyword may mean."""
    key = keyword.replace("__", ".")
    if key in known_keys() or key in SHORTHAND or (key in Settings.model_fields and "." not in key):
        return [key]
    own = [f"{section}.{key}"] if f"{section}.{key}" in known_keys() or is_section((section, key)) else []
    return own or [each for each in known_keys() if each.endswith(f".{key}")]
