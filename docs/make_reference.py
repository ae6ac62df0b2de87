"""Generates the parts of `reference/` that depend on the code when the site is built (`conf.py`)."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from mtlv.arguments import command_parser  # noqa: E402 - from this checkout
from mtlv.data import catalog  # noqa: E402
from mtlv.models import aliases  # noqa: E402
from mtlv.registries import (  # noqa: E402
    ARCHITECTURES,
    BALANCERS,
    FEATURES,
    GROUPINGS,
    OBJECTIVES,
    OPTIMIZERS,
    Registry,
)
from mtlv.settings.describe import in_line  # noqa: E402
from mtlv.settings.draft import SUITE_KEYS, defaults, known_keys, split  # noqa: E402
from mtlv.settings.json_schema import comments, config_schema, titles  # noqa: E402


def config() -> str:
    """Return every key with its default, its comment in `defaults.yml` and its allowed values."""
    schema, said, values = config_schema(), dict(comments()), defaults()
    sections: dict[str, list[str]] = {"General": []}
    for key in known_keys():
        sections.setdefault(f"`{key.partition('.')[0]}`" if "." in key else "General", []).append(key)
    out: list[str] = []
    for title, keys in (*sections.items(), ("Members of a suite", SUITE_KEYS)):
        out.append(f"## {title}\n\n{_comment(said.get((title.strip('`'),), ()))}")
        for key in keys:
            path = split(key)
            if path[:-1] in said and len(path) > 2:  # a nested section
                out.append(f"**`{'.'.join(path[:-1])}`**: {_comment(said.pop(path[:-1]))}")
            value: Any = values
            for part in path:
                value = value[part]
            allowed = _allowed(_held(schema, path))
            out.append(f"````{{confval}} {key}\n:default: `{in_line(value)}`\n")
            out += [_comment(said.get(path, ())), *(f"- {line}" for line in titles(path)), ""]
            out.append(f"*Allowed:* {allowed}\n" if allowed else "")
            out.append("````\n")
    return "\n".join(out)


def _comment(lines: Iterable[str]) -> str:
    """Return a comment as Markdown: sentences as text, indented lines as an example."""
    out: list[str] = []
    example = False
    for line in lines:
        if line.startswith("  ") != example:
            example = not example
            kind = "yaml" if re.match(r" *\w+:", line) else "text"
            out.append(f"\n```{kind}" if example else "```\n")
        out.append(line.removeprefix("  ") if example else _plain(line))
    return "\n".join([*out, "```"] if example else out) + "\n"


def _plain(text: str) -> str:
    """Return text with stars escaped, and with links to pages of this documentation."""
    words = (
        f"[{word.strip('(;).,')}](/{word.strip('(;).,').removeprefix('docs/')})" if "docs/" in word else word
        for word in text.replace("*", r"\*").split(" ")
    )
    return " ".join(words)


def _held(schema: Mapping[str, Any], path: Sequence[str]) -> Mapping[str, Any]:
    """Return the schema of a value."""
    held: Any = schema
    for key in path:
        either = held.get("anyOf", [held])
        ref = next((each["$ref"] for each in either if "$ref" in each), None)
        held = (schema["$defs"][ref.rpartition("/")[2]] if ref else held)["properties"][key]
    return held


def _allowed(held: Mapping[str, Any]) -> str:
    """Return the allowed values as a sentence, or as a list of names."""
    said = str(held.get("description", "")).partition(" Allowed: ")[2]
    names = [name for each in held.get("anyOf", [held]) for name in each.get("enum", ())]
    return _plain(said) or ", ".join(f"`{name}`" for name in names)


def choices() -> str:
    """Return tables of the names that a config may use."""
    return "\n".join(
        [
            "## Architectures\n\n`architecture.name`; formulas in [Methods](/methods.md).\n",
            *_table(("name", "what"), _titles(ARCHITECTURES)),
            "## Encoders\n\n`encoder.name`; also any hub id, and a folder.\n",
            *_table(
                ("name", "weights"), [*_hub(), (aliases.TINY, "random, 2 layers: for trying things out")]
            ),
            "## Data sets\n\n`data.name`; `mtlv data show NAME` has more on each.\n",
            *_table(("name", "what", "tasks", "licence", "how to get it"), map(_card, catalog.names())),
            "## Grouping methods\n\n`grouping.method`; formulas in [Methods](/methods.md#grouping).\n",
            *_table(
                ("name", "what", "takes `k`"),
                ((*said, "yes" if GROUPINGS[said[0]].takes_k else "no") for said in _titles(GROUPINGS)),
            ),
            "## Features of tasks\n\n`grouping.features`\n",
            *_table(
                ("name", "what", "makes", "needs an encoder"),
                (
                    (*said, FEATURES[said[0]].kind, "yes" if FEATURES[said[0]].embedded else "no")
                    for said in _titles(FEATURES)
                ),
            ),
            "## Losses of heads\n\n`training.head_loss`; formulas in "
            "[Methods](/methods.md#from-heads-to-one-loss-traininghead_loss).\n",
            *_table(("name", "what"), _titles(OBJECTIVES)),
            "## Balancers\n\n`training.objective`; formulas in "
            "[Methods](/methods.md#balancing-trainingobjective).\n",
            *_table(("name", "what"), _titles(BALANCERS)),
            "## Optimizers\n\n`training.optimizer`; see [Methods](/methods.md#training).\n",
            *_table(("name", "what"), _titles(OPTIMIZERS)),
        ]
    )


def _hub() -> Iterator[tuple[str, str]]:
    for name, there in aliases.HUB.items():
        packaged = aliases.PACKAGED.get(name)
        yield name, f"`{there}`" + (f", without a hub by the extra `{packaged.extra}`" if packaged else "")


def _card(name: str) -> tuple[str, ...]:
    card = catalog.card(name)
    own = "generated" if card.generated else "your own"
    got = "`mtlv data fetch`" if card.downloads else card.by_hand or own
    return name, card.title, str(len(card.tasks()) or "–"), card.licence, got


def _titles(registry: Registry[Any]) -> Iterator[tuple[str, str]]:
    """Return the choices with their titles; a dash for one of another package that has none."""
    return ((name, registry.title(name) or "–") for name in registry)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join('---' for _ in head)} |"
    for name, *rest in rows:
        yield f"| `{name}` | {' | '.join(cell.replace('|', chr(92) + '|') for cell in rest)} |"
    yield ""


def options() -> str:
    """Return every command with its arguments, from the parser."""
    return "\n".join(_commands(command_parser(), "mtlv"))


def _commands(own: argparse.ArgumentParser, name: str) -> Iterator[str]:
    below = [action for action in own._actions if isinstance(action, argparse._SubParsersAction)]
    if not below:
        yield f"## `{name}`\n\n{own.description}\n\n```text\n{_usage(own, name)}\n```\n"
        for action in own._actions:
            if action.help != "show this help message and exit":
                yield f"`{_called(action)}`\n: {_plain((action.help or '-').replace('%(default)s', ''))}\n"
    for action in below:
        for part, inner in action.choices.items():
            yield from _commands(inner, f"{name} {part}")


def _usage(own: argparse.ArgumentParser, name: str) -> str:
    own.prog = name
    return own.format_usage().removeprefix("usage: ").strip()


def _called(action: argparse.Action) -> str:
    """Return an argument as it is typed, such as `--last N`."""
    taken = action.metavar or (f"{{{','.join(action.choices)}}}" if action.choices else action.dest.upper())
    if not action.option_strings:
        return str(action.metavar or action.dest)
    return ", ".join(action.option_strings) + ("" if action.nargs == 0 else f" {taken}")


def examples() -> str:
    """Return the files in `config/`."""
    out = []
    for path in sorted((ROOT / "config").rglob("*")):
        if path.suffix in (".yml", ".sh"):
            name = path.relative_to(ROOT / "config").as_posix()
            kind = {".yml": "yaml", ".sh": "sh"}[path.suffix]
            out.append(f"## {name}\n\n```{kind}\n{path.read_text(encoding='utf-8').strip()}\n```\n")
    return "\n".join(out)


PAGES: Mapping[str, Callable[[], str]] = {
    "reference/config": config,
    "reference/choices": choices,
    "reference/options": options,
    "reference/examples": examples,
}
