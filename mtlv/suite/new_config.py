"""A first config for a table: a commented file that runs, with a suite sized to the machine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from math import inf
from pathlib import Path
from textwrap import wrap

from mtlv.data.tables.guess import FEWEST, PLACES, TableGuess, name_of
from mtlv.errors import ConfigError
from mtlv.formatting import many
from mtlv.hardware import cores
from mtlv.settings.describe import in_line

MINUTES = 30  # of the whole suite; one model for each label is left out if that takes longer
EPOCHS = ((2_000, 15), (20_000, 10), (inf, 5))
"""Epochs for tables of up to so many documents: in small ones, each epoch has few optimizer steps."""
TOKENS_PER_WORD, STEP, MOST_TOKENS = 1.4, 32, 512
SPEED = 2000  # tokens per second and core that `minilm` learns from on a processor, roughly
OTHER_LANGUAGE = (
    "# The texts do not look like English, which is all that minilm has read. An encoder of their language,",
    "# or of many, is better, such as `google-bert/bert-base-multilingual-cased` from the hub.",
)
GROUPED = 4  # labels from which grouping makes sense, and groups that an elbow often finds
OWN = (6 - 2 + 2 * GROUPED) / 6  # models whose time one with two private layers of six takes
LABELS = "labels"  # alias of the source of yes/no labels


def write_config(guess: TableGuess, out: Path) -> list[str]:
    """Write a config, and return lines about it: what it leaves out, and the next step.

    Raises:
        ConfigError: the file is there already, or cannot be written.
    """
    if out.exists():
        raise ConfigError([f"`{out}` is there already; choose another file with `--out`"])
    text = config_text(guess, os.path.relpath(guess.path, out.parent))
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        got = f"`--out` {out} cannot be written (got {error.strerror}); give a file in an existing folder"
        raise ConfigError([got]) from error
    return [
        *_left_out(guess),
        f"wrote {out}; next: `mtlv run {out}` (`mtlv check {out}` shows what it would train)",
    ]


def config_text(guess: TableGuess, path: str) -> str:
    """Return the config as text; `path` is the table's, relative to the config's folder."""
    median, long, _ = guess.words
    each, others = _times(guess)
    alone = len(guess.labels) > 1 and each + others <= MINUTES
    lines = [
        f"# Written by `mtlv init` for {guess.path.name}: {many(guess.documents, 'document')}",
        f"# of {median:.0f} words (median; 95% have {long:.0f} or fewer).",
        f"# About {_said(others + alone * each)} on {many(cores(), 'core')} without a GPU.",
        "#",
        "#     mtlv run CONFIG",
        "#",
        "# trains and tests all models, says what to learn together, and writes a page with the reasons.",
        "",
        f"experiment: {in_line(guess.path.resolve().stem)}",
        "",
        "data:",
        *(_sources(guess, path) if guess.more else _table(guess, path)),
        *_comment("not read: ", guess.unused),
        *_labels(guess),
        f"  max_length: {tokens_of(guess.words[1])}               # tokens",
        "",
        *([] if guess.english else OTHER_LANGUAGE),
        "encoder: minilm                # 6 layers; bert, biobert, pubmedbert, ... are larger and slower",
        "",
        "training:",
        f"  epochs: {_epochs(guess):<2}                   # mtlv warns if this is too short",
        "  learning_rate: 2e-4          # for minilm; 2e-5 suits an encoder of 12 layers",
        "",
        *_suite(guess, "" if alone else f"{_said(each)} more"),
    ]
    return "\n".join(lines) + "\n"


def _table(guess: TableGuess, path: str) -> list[str]:
    return [
        "  name: table",
        f"  path: {in_line(path)}",
        "  columns:",
        *(f"    {key}: {in_line(value)}" for key, value in guess.columns.items()),
    ]


def _sources(guess: TableGuess, path: str) -> list[str]:
    """Return the table once for each kind of column; the documents of all are split alike."""
    shared = (*PLACES, "names")
    lines = ["  columns:"] + [
        f"    {key}: {in_line(guess.columns[key])}" for key in shared if key in guess.columns
    ]
    lines.append("  sources:                     # columns of several kinds: the table once for each")
    first = {key: value for key, value in guess.columns.items() if key not in shared}
    taken = [each.name for each in guess.more]
    flags = next(name for name in (LABELS, f"{guess.path.stem} {LABELS}") if name not in taken)
    own = flags if "labels" in first else name_of(first)
    parts = [(own, first, guess.tasks), *((each.name, each.columns, each.counts) for each in guess.more)]
    for alias, columns, counts in parts:
        named = f"name: table, alias: {in_line(alias)}, path: {in_line(path)}"
        kept = f", labels: {in_line(list(counts))}" if "label_list" in columns else ""
        lines.append(f"    - {{{named}, columns: {in_line(dict(columns))}{kept}}}")
    return lines


def _comment(start: str, parts: Sequence[str]) -> list[str]:
    wrapped = wrap(start + ", ".join(parts), 100, break_long_words=False, break_on_hyphens=False)
    return [f"  # {line}" for line in wrapped] if parts else []


def _labels(guess: TableGuess) -> list[str]:
    what = "documents with each label: " if guess.columns["kind"] == "binary" else "documents of each class: "
    left = f"left out, because fewer than {FEWEST} documents have them, or lack them: "
    lines = _comment(what, [f"{name} {count}" for name, count in guess.tasks.items()])
    for each in guess.more:
        lines += _comment(f"{each.name}: ", [f"{name} {n}" for name, n in each.counts.items()])
    lines += _comment(left, [f"{name} {count}" for name, count in guess.rare.items()])
    if guess.rare and "label_list" in guess.columns and not guess.more:
        lines.append(f"  labels: {in_line(list(guess.labels))}")
    if len(guess.labels) > 1:
        lines += [
            "  # A sentence for each label lets them be grouped by what they mean; then set",
            "  # `grouping: {features: label_description}`.",
            "  # descriptions:",
            f"  #   {in_line(guess.labels[0])}: ...",
        ]
    return lines


def _suite(guess: TableGuess, more: str) -> list[str]:
    """Return the members; `more` is the time of one model each if that takes too long."""
    if len(guess.labels) == 1:
        return ["architecture: mtl              # one task: one model"]
    each = "- {name: one model each, architecture: stl}"
    left = [f"  # {more}; to train it, too, remove the `#` of the next line:", f"  # {each}"]
    runs = [
        "runs:",
        "  - {name: one model for all, architecture: mtl}",
        *(left if more else [f"  {each}"]),
    ]
    if len(guess.labels) < GROUPED:
        return runs
    return [
        "grouping: {features: label_name}  # groups labels with similar names",
        "",
        *runs,
        "  - {name: groups, architecture: gmtl}",
        "  # The control; p = 0.05 needs 19 of these, such as `matrix: {grouping.seed: [1, 2, ...]}`.",
        "  - {name: random groups, architecture: gmtl, grouping.method: random, grouping.seed: 1}",
        "  - name: layers per group         # one model with two layers for each group; the best on Open-I",
        "    architecture: {name: gmhl, private_layers: 2}",
        "    training.learning_rate: 1e-4   # half the rate suits it",
    ]


def _left_out(guess: TableGuess) -> list[str]:
    """Return a line on one model each if that takes too long, else nothing."""
    each, others = _times(guess)
    if len(guess.labels) == 1 or each + others <= MINUTES:
        return []
    return [
        f"about {_said(others)} on {many(cores(), 'core')} without a GPU; left out: `one model each`, "
        f"{_said(each)} more; to train it, too, remove the `#` before its line in the config"
    ]


def _times(guess: TableGuess) -> tuple[float, float]:
    """Return the minutes of one model each, and of all other runs.

    The others read the documents once for each source.
    """
    others = (1 + len(guess.more)) + (2 * GROUPED + OWN if len(guess.labels) >= GROUPED else 0)
    return _minutes(guess, len(guess.labels)), _minutes(guess, others)


def _epochs(guess: TableGuess) -> int:
    return next(epochs for most, epochs in EPOCHS if guess.documents <= most)


def _minutes(guess: TableGuess, models: float) -> float:
    tokens = min(guess.words[2] * TOKENS_PER_WORD, tokens_of(guess.words[1]))
    return guess.documents * tokens * _epochs(guess) * models / (SPEED * cores()) / 60


def _said(minutes: float) -> str:
    return f"{minutes / 60:.0f} hours" if minutes > 90 else many(max(1, round(minutes)), "minute")


def tokens_of(words: float) -> int:
    """Return a length in tokens that cuts few documents, of which 95% have no more words."""
    return min(MOST_TOKENS, max(STEP, -(-int(words * TOKENS_PER_WORD + 2) // STEP) * STEP))
