"""Parse YAML to plain values with line numbers; safe, with the scalars of YAML 1.2."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from mtlv.errors import ConfigError, shorten

MAX_BYTES = 250_000  # takes seconds to parse; a config with a thousand runs is a fifth of this
MAX_DEPTH = 20
MAX_NODES = 100_000  # aliases can make a short file very large
TABLE_SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")
MAX_DIGITS = 100  # maximum digits of a number: Python cannot format some of the numbers that it can parse

KeyPath = tuple[str | int, ...]

# The core schema of YAML 1.2. PyYAML follows 1.1, in which 2e-5 is text, `no` is false and 12:30 is 750.
_SCALARS: tuple[tuple[str, str, list[str]], ...] = (
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
)


class _Loader(yaml.SafeLoader):
    """A safe loader that resolves scalars as in YAML 1.2."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - as in PyYAML


def resolve_scalars(reader: type[yaml.SafeLoader] | type[yaml.SafeDumper]) -> None:
    """Make a loader or dumper resolve scalars as in YAML 1.2, in addition to its own rules."""
    for name, pattern, first in _SCALARS:
        reader.add_implicit_resolver(f"tag:yaml.org,2002:{name}", re.compile(f"^(?:{pattern})$"), first)


resolve_scalars(_Loader)


class _Fast(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """The same loader with libyaml, if PyYAML has it: ten times as fast, with other error messages."""

    yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers


@dataclass(frozen=True)
class YamlDocument:
    """A parsed text."""

    name: str  # its name in messages
    value: Any  # plain mappings, lists and scalars
    lines: Mapping[KeyPath, int]  # first line (from 1) of each value, by its path

    def place(self, path: KeyPath) -> str:
        """Return `file:line` of the value at `path`, or of the nearest value that contains it."""
        while path and path not in self.lines:
            path = path[:-1]
        return f"{self.name}:{self.lines[path]}" if path in self.lines else self.name


def read(path: Path, name: str = "") -> YamlDocument:
    """Read a YAML file, which messages call `name`; by default by its path.

    Raises:
        ConfigError: it is missing, not a file, too large, not UTF-8, or not YAML.
    """
    name = shorten(name or str(path), 200)
    if path.suffix.lower() in TABLE_SUFFIXES and path.exists():
        raise ConfigError([f"{name}: a table, not a config; write one for it: `mtlv init {name}`"])
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError(
            [f"{name}: no such file; give the path of a config, or an example such as quickstart.yml"]
        ) from None
    except IsADirectoryError:
        raise ConfigError([f"{name}: is a folder; give the path of a config file in it"]) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError([f"{name}: cannot be read ({shorten(str(reason))})"]) from None
    if len(data) > MAX_BYTES:
        raise ConfigError([f"{name}: larger than {MAX_BYTES} bytes; that is no config"])
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ConfigError(
            [f"{name}:{line}: not UTF-8 (byte {error.start}); save the file as UTF-8"]
        ) from None
    return parse(text, name)


def parse(text: str, name: str, *, fast: bool = False) -> YamlDocument:
    """Parse YAML text, which messages call `name`; `fast` is for correct text such as a file of the package.

    Raises:
        ConfigError: it is not YAML, has a repeated key, a tag or a key that is not text, or is nested too
            deeply or repeated too often.
    """
    try:
        node = yaml.compose(text, Loader=_Fast if fast else _Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else name
        problem = shorten(error.problem or error.context or "")
        problem += "; indent with spaces, not tabs" * ("'\\t'" in problem)
        raise ConfigError([f"{place}: not YAML: {problem}"]) from None
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        reason = f"a character that is not allowed (code {error.character})"
        raise ConfigError([f"{name}:{line}: not YAML: {reason}"]) from None
    except yaml.YAMLError as error:
        raise ConfigError([f"{name}: not YAML: {shorten(str(error))}"]) from None
    except RecursionError:
        raise ConfigError([f"{name}: nested too deeply"]) from None
    builder = _Builder(name)
    value = builder.build(node, ()) if node is not None else None
    if builder.problems:
        raise ConfigError(builder.problems)
    return YamlDocument(name, value, builder.lines)


class _Builder:
    """Convert nodes to values, and collect lines and problems."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: dict[KeyPath, int] = {}
        self.problems: list[str] = []
        self.nodes = 0

    def build(self, node: yaml.Node, path: KeyPath) -> Any:
        self.nodes += 1
        self.lines.setdefault(path, node.start_mark.line + 1)
        if len(path) > MAX_DEPTH or self.nodes > MAX_NODES:
            why = f"its aliases repeat too much; up to {MAX_NODES:,} values are allowed"
            if len(path) > MAX_DEPTH:
                why = f"nested too deeply; up to {MAX_DEPTH} levels are allowed"
            raise ConfigError([f"{self.name}:{node.start_mark.line + 1}: {why}"])
        if isinstance(node, yaml.MappingNode) and node.tag == "tag:yaml.org,2002:map":
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode) and node.tag == "tag:yaml.org,2002:seq":
            return [self.build(item, (*path, i)) for i, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        self._problem(node, f"unknown tag {shorten(node.tag, 60)}; write plain values")
        return None

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = key_node.value
            if self._no_character(key_node):
                continue
            if key_node.tag != "tag:yaml.org,2002:str":
                shown = shorten(key, 60) if isinstance(key, str) else "a list or mapping"
                self._problem(key_node, f"a key is not text (got {shown}); put it in quotes")
                continue
            if key in out:
                first = self.lines[(*path, key)]
                self._problem(
                    key_node, f"`{shorten(key, 60)}` is given twice (first in line {first}); keep one"
                )
                continue
            self.lines[(*path, key)] = key_node.start_mark.line + 1
            out[key] = self.build(value_node, (*path, key))
        return out

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        kind = node.tag.rpartition(":")[2]
        text = node.value
        if self._no_character(node):
            return None
        try:
            if kind in ("int", "float") and len(text) > MAX_DIGITS:
                raise ValueError
            if kind == "null":
                return None
            if kind == "bool":
                return text.lower() == "true"
            if kind == "int":
                # Base 0 rejects leading zeros, which are decimal in YAML 1.2.
                return int(text, 0) if text[:2] in ("0x", "0o") else int(text)
            if kind == "float":
                return float(re.sub(r"\.(inf|nan)$", r"\1", text.lower()))
        except ValueError:
            self._problem(node, f"not a number (got {shorten(text, 40)})")
            return None
        if kind != "str":
            self._problem(node, f"unknown tag {shorten(node.tag, 60)}; write plain values")
        return text

    def _no_character(self, node: yaml.Node) -> bool:
        """Return whether a text has characters that no file or store supports: NUL, or `"\\ud83d"` alone."""
        if not isinstance(node.value, str) or not re.search("[\\0\\ud800-\\udfff]", node.value):
            return False
        shown = shorten(node.value, 40)
        self._problem(node, f"NUL, or half of a surrogate pair, which is no character (got {shown})")
        return True

    def _problem(self, node: yaml.Node, text: str) -> None:
        self.problems.append(f"{self.name}:{node.start_mark.line + 1}: {text}")
