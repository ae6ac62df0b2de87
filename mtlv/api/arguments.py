"""Keyword arguments as settings, with the names of `defaults.yml`, and settings in messages as arguments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from mtlv.errors import ConfigError, DataError
from mtlv.settings.draft import SHORTHAND, SUITE_KEYS, is_section, known_keys
from mtlv.settings.problems import nearest_key
from mtlv.settings.schema import Settings

T = TypeVar("T")
CHECK_PATH = "; check `data.path`"  # in messages about files
SETTING = r"`data\.columns\.([\w.]+)(?:: (\w+))?`"


def as_settings(arguments: Mapping[str, Any], section: str) -> dict[str, Any]:
    """Return settings by dotted key.

    A keyword is the last part of a name, such as `epochs` for `training.epochs`. If several settings have the
    same last part, the one in `section` is used. Others must include their section: `encoder__features`.

    Args:
        arguments: values by keyword.
        section: section that takes precedence, such as `grouping`.

    Raises:
        ConfigError: a keyword matches no setting, or several.
    """
    found, problems = {}, []
    for keyword, value in arguments.items():
        keys = _keys(keyword, section)
        if len(keys) == 1:
            found[keys[0]] = value
        elif keys:
            options = " or ".join(f"`{key.replace('.', '__')}`" for key in keys)
            problems.append(f"argument `{keyword}`: several settings end so; write {options}")
        elif keyword in SUITE_KEYS:
            problems.append(f"argument `{keyword}`: makes several runs; give it to `mtlv.run`, in a config")
        else:
            last = keyword.rpartition("__")[2]
            hint = nearest_key(last, [key.rpartition(".")[2] for key in known_keys()])
            problems.append(f"argument `{keyword}`: no setting has this name; {hint or 'see defaults.yml'}")
    if problems:
        raise ConfigError(problems)
    return found


def _keys(keyword: str, section: str) -> list[str]:
    """Return the settings that match a keyword."""
    key = keyword.replace("__", ".")
    if f"{section}.{key}" in known_keys():
        return [f"{section}.{key}"]
    if key in known_keys() or key in SHORTHAND or (key in Settings.model_fields and "." not in key):
        return [key]
    own = [f"{section}.{key}"] if is_section((section, key)) else []
    return own or [each for each in known_keys() if each.endswith(f".{key}")]


def in_python(text: str, what: str, suffix: str) -> str:
    """Return a message about a file and settings of `data` as one about an object and arguments.

    Args:
        text: a message about the file that was written.
        what: what its content was given as, such as `DataFrame`; the name of the file without its suffix.
        suffix: suffix of the file.
    """
    file = re.escape(f"`{what}{suffix}`")
    text = text.removeprefix("arguments: ").replace(CHECK_PATH, "")
    text = text.replace("`data.alias`", "`data.columns.name`")
    text = text.replace("`data.descriptions", "`data.columns.descriptions")
    text = re.sub(rf"{file} (row \d+)", rf"\1 of the {what}", text)
    return re.sub(SETTING, _argument, re.sub(file, f"the {what}", text))


def _argument(setting: re.Match[str]) -> str:
    return f"`{setting[1]}={setting[2]!r}`" if setting[2] else f"argument `{setting[1]}`"


def several(values: Sequence[T], name: str) -> list[T]:
    """Return values as a list.

    Raises:
        DataError: there is a single text instead, which would be read as a list of letters, or no list.
    """
    if isinstance(values, str):
        short = f"{values[:40]!r}"
        raise DataError(f"`{name}` is a list of texts", got=short, then=f"write `[{short}]`")
    if not isinstance(values, Iterable):
        raise wrong_type(values, "list of texts", name, "write `['...']`")
    return list(values)


def of_type(value: object, wanted: type, where: str, then: str) -> None:
    """Raise an error if a value has another type.

    Raises:
        DataError: it has.
    """
    if not isinstance(value, wanted):
        raise wrong_type(value, wanted.__name__, where, then)


def wrong_type(value: object, wanted: str, where: str, then: str) -> DataError:
    """Return the error of a value of another type."""
    return DataError(f"`{where}` takes a `{wanted}`", got=f"a `{type(value).__name__}`", then=then)
