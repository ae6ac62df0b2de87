"""Keyword arguments as settings, with the names of `defaults.yml`, and settings in messages as arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from mtlv.errors import ConfigError, DataError, MtlvError
from mtlv.settings.draft import SHORTHAND_KEYS, SUITE_KEYS, is_section, known_keys
from mtlv.settings.problems import nearest_key
from mtlv.settings.schema import Settings
from mtlv.settings.text import parse

T = TypeVar("T")
NAMES = ("encoder.name", "architecture.name")  # settings whose argument has the name of their section
SETTING = re.compile(r"(?:arguments: )?`(\w+(?:\.\w+)+)(?:: ([^`]+))?`")


def as_settings(
    arguments: Mapping[str, Any], section: str, only: Collection[str] | None = None
) -> dict[str, Any]:
    """Return settings by dotted key.

    A keyword is the last part of a name, such as `epochs` for `training.epochs`. If several settings have the
    same last part, the one in `section` is used. Others must include their section: `encoder__features`.

    Args:
        arguments: values by keyword.
        section: section that takes precedence, such as `grouping`.
        only: sections with an effect; None is all.

    Raises:
        ConfigError: a keyword matches no setting, or several, or one without effect.
    """
    values, problems = {}, []
    for keyword, value in arguments.items():
        keys = _keys(keyword, section)
        if len(keys) == 1 and only is not None and keys[0].partition(".")[0] not in only:
            problems.append(f"argument `{keyword}`: has no effect here; give it to `mtlv.train`")
        elif len(keys) == 1:
            values[keys[0]] = value
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
    return values


def _keys(keyword: str, section: str) -> list[str]:
    """Return the settings that match a keyword."""
    key = keyword.replace("__", ".")
    if f"{section}.{key}" in known_keys():
        return [f"{section}.{key}"]
    if key in known_keys() or key in SHORTHAND_KEYS or (key in Settings.model_fields and "." not in key):
        return [key]
    section_keys = [f"{section}.{key}"] if is_section((section, key)) else []
    return section_keys or [known for known in known_keys() if known.endswith(f".{key}")]


@contextmanager
def errors_name_arguments(section: str, rewrite: Callable[[str], str] = lambda text: text) -> Iterator[None]:
    """Let errors raised within name keyword arguments where they name settings, without inner tracebacks.

    Args:
        section: section that takes precedence, as for `as_settings`.
        rewrite: function applied to each message before.
    """
    try:
        yield
    except MtlvError as error:
        renamed = type(error).__new__(type(error))  # the same error would keep its traceback
        renamed.problems = tuple(_in_python(rewrite(problem), section) for problem in error.problems)
        renamed.args = ("\n".join(renamed.problems),)
        raise renamed from None


def _in_python(text: str, section: str) -> str:
    """Return a message with `training.epochs` as argument `epochs`, and `k: auto` as `k='auto'`."""

    def argument(match: re.Match[str]) -> str:
        key, value = match.groups()
        if key not in known_keys():
            return match[0]
        name = _keyword(key, section)
        return f"argument `{name}`" if value is None else f"`{name}={_as_literal(value)}`"

    return SETTING.sub(argument, text)


def _as_literal(text: str) -> str:
    """Return a value of YAML as Python writes it; a shortened one, which may not be YAML, as it is."""
    try:
        return repr(parse(text, "value").value)
    except ConfigError:
        return text


def _keyword(key: str, section: str) -> str:
    """Return the keyword of a setting: the reverse of `_keys`."""
    above, _, last = key.rpartition(".")
    if key in NAMES:
        return above
    return last if _keys(last, section) == [key] else key.replace(".", "__")


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


def of_type(value: object, expected: type, where: str, then: str) -> None:
    """Raise an error if a value has another type.

    Raises:
        DataError: it has.
    """
    if not isinstance(value, expected):
        raise wrong_type(value, expected.__name__, where, then)


def wrong_type(value: object, expected: str, where: str, then: str) -> DataError:
    """Return the error of a value of another type."""
    return DataError(f"`{where}` takes a `{expected}`", got=f"a `{type(value).__name__}`", then=then)
