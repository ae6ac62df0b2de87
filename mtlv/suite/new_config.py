"""A first config for a table: a commented file that runs, with a suite sized to the machine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from statistics import fmean
from textwrap import wrap

from mtlv.data.tables.column_kinds import FEWEST
from mtlv.data.tables.guess import PLACES, TableGuess
from mtlv.errors import ConfigError, shorten
from mtlv.formatting import many
from mtlv.hardware import cores
from mtlv.settings.describe import in_line
from mtlv.suite.token_counts import ENCODER, max_length, token_counts

LONG_MINUTES = 30  # of a suite; longer ones get a line about the time of the baseline
EPOCHS = ((2_000, 15), (20_000, 10), (inf, 5))
"""Epochs for tables of up to so many documents: in small ones, each epoch has few optimizer steps."""
TOKENS_PER_SECOND = 2000  # tokens per second and core that `minilm` learns from on a processor, roughly
OTHER_LANGUAGE = (
    "# The texts do not look like English, which is all that minilm has read. An encoder of their language,",
    "# or of many, is better, such as `google-bert/bert-base-multilingual-cased` from the hub.",
)
MAX_COUNTED_LABELS = 60  # labels whose documents are counted in a comment
CUT_SHARE = 0.02  # share of documents; above it, a comment says how many are cut
WINDOW_WORDS = 200  # words, of which few are more than 512 tokens
MIN_GROUPED_LABELS = 4  # labels from which grouping makes sense, and groups that an elbow often finds
PRIVATE_LAYERS_COST = (
    6 - 2 + 2 * MIN_GROUPED_LABELS
) / 6  # time of a model with two private layers of six, in models without
LABELS = "labels"  # alias of the source of yes/no labels
UNCERTAIN = "what -1 or uncertain means: unknown (neither learned nor tested), yes or no"


def write_config(guess: TableGuess, out: Path) -> list[str]:
    """Write a config; return lines about what it leaves out and about the next step.

    Raises:
        ConfigError: the file is there already, or cannot be written.
    """
    need_new(out)
    return [*_long(guess), write_new(out, config_text(guess, os.path.relpath(guess.path, out.parent)))]


def need_new(out: Path) -> None:
    """Raise an error if the file is there already."""
    if out.exists():
        raise ConfigError([f"`{out}` is there already; choose another file with `--out`"])


def write_new(out: Path, text: str) -> str:
    """Write a config, and return a line about the next step.

    Raises:
        ConfigError: it cannot be written.
    """
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        got = f"`--out` {out} cannot be written (got {error.strerror}); give a file in an existing folder"
        raise ConfigError([got]) from error
    return f"wrote {out}; next: `mtlv run {out}` (`mtlv check {out}` shows what it would train)"


def config_text(guess: TableGuess, path: str) -> str:
    """Return the config as text; `path` is the table's, relative to the config's folder."""
    median, long, _ = guess.words
    separate, others = _times(guess)
    several = len(guess.labels) > 1
    alone = f"; `one model each` is {_format_minutes(separate)} of it" if several else ""
    time = _format_minutes(others + separate if several else others)
    lines = [
        f"# Written by `mtlv init` for {shorten(guess.path.name)}: {many(guess.documents, 'document')}",
        f"# of {median:.0f} words (median; 95% have {long:.0f} or fewer).",
        f"# About {time} on {many(cores(), 'core')} without a GPU{alone}.",
        "#",
        "#     mtlv run CONFIG",
        "#",
        "# trains and tests all models, says what to learn together, and writes a page with the reasons.",
        "",
        f"experiment: {in_line(shorten(guess.path.resolve().stem, 200))}",
        "",
        "data:",
        *(_sources(guess, path) if len(guess.learned) > 1 else _table(guess, path)),
        *_comment("not read: ", guess.unused),
        *_labels(guess),
        *_lengths(guess),
        "",
        *([] if guess.english else OTHER_LANGUAGE),
        f"encoder: {ENCODER}                # 6 layers; bert, biobert, pubmedbert, ... are larger and slower",
        "",
        "training:",
        f"  epochs: {_epochs(guess):<2}                   # mtlv warns if this is too short",
        "  learning_rate: auto          # by the encoder's size: 2e-4 for minilm, 2e-5 for 12 layers",
        "",
        *_suite(guess),
    ]
    return "\n".join(lines) + "\n"


def _table(guess: TableGuess, path: str) -> list[str]:
    return [
        "  name: table",
        f"  path: {in_line(path)}",
        "  columns:",
        *(
            f"    {key}: {in_line(value)}" + (f"           # {UNCERTAIN}" if key == "uncertain" else "")
            for key, value in guess.columns.items()
        ),
    ]


def _sources(guess: TableGuess, path: str) -> list[str]:
    """Return the table once for each kind of column; the documents of all are split alike."""
    shared = (*PLACES, "names")
    lines = ["  columns:"] + [
        f"    {key}: {in_line(guess.columns[key])}" for key in shared if key in guess.columns
    ]
    lines.append("  sources:                     # columns of several kinds: the table once for each")
    if guess.uncertain:
        lines.insert(1, f"    # `uncertain` is {UNCERTAIN}.")
    aliases = _aliases(guess)
    for alias, one in zip(aliases, guess.learned, strict=True):
        named = f"name: table, alias: {in_line(alias)}, path: {in_line(path)}"
        kept = f", labels: {in_line(list(one.counts))}" if "label_list" in one.columns else ""
        lines.append(f"    - {{{named}, columns: {in_line(dict(one.columns))}{kept}}}")
    return lines


def _aliases(guess: TableGuess) -> list[str]:
    """Return a name for each source: its column, and another for yes/no labels."""
    taken = {one.name for one in guess.learned if "labels" not in one.columns}
    names = []
    for one in guess.learned:
        usual = (
            LABELS,
            f"{guess.path.stem} {LABELS}",
            *(f"{LABELS} {n}" for n in range(2, len(taken) + 4)),
        )
        names.append(next(x for x in usual if x not in taken) if "labels" in one.columns else one.name)
        taken.add(names[-1])
    return names


def _comment(start: str, parts: Sequence[str]) -> list[str]:
    text = start + ", ".join(shorten(part, 200) for part in parts)
    wrapped = wrap(text, 100, break_long_words=False, break_on_hyphens=False)
    return [f"  # {line}" for line in wrapped] if parts else []


def _counts(counts: Mapping[str, int]) -> list[str]:
    """Return counts of labels or classes; of hundreds the first ones."""
    counted = [f"{name} {count}" for name, count in counts.items()]
    return [
        *counted[:MAX_COUNTED_LABELS],
        *([f"and {len(counted) - MAX_COUNTED_LABELS} more"] if len(counted) > MAX_COUNTED_LABELS else []),
    ]


def _labels(guess: TableGuess) -> list[str]:
    lines = []
    left = f"left out, because fewer than {FEWEST} documents have them, or lack them: "
    for one in guess.learned:
        what = (
            "with each label" if one.columns["kind"] == "binary" else f"of each class of {shorten(one.name)}"
        )
        lines += _comment(f"documents {what}: ", _counts(one.counts))
        lines += _comment(left, _counts(one.rare))
    if guess.rare and "label_list" in guess.columns and len(guess.learned) == 1:
        lines.append(f"  labels: {in_line(list(guess.labels))}")
    if len(guess.labels) > 1:
        lines += [
            "  # A sentence for each label lets them be grouped by what they mean; then set",
            "  # `grouping: {features: label_description}`.",
            "  # descriptions:",
            f"  #   {in_line(guess.labels[0])}: ...",
        ]
    return lines


def _lengths(guess: TableGuess) -> list[str]:
    """Return the maximum length, and for tags of long documents the windows into which they are cut."""
    length, cut = max_length(guess.sample)
    cut_note = f", as the encoder's; {cut:.0%} of the documents are cut" if cut > CUT_SHARE else ""
    lines = [f"  max_length: {length:<3}              # tokens{cut_note}"]
    if cut_note and guess.tagged:
        lines.append(
            f"  window: {WINDOW_WORDS}                  # words; longer documents are cut into such windows"
        )
    return lines


def _suite(guess: TableGuess) -> list[str]:
    """Return the members."""
    if len(guess.labels) == 1:
        return ["architecture: mtl              # one task: one model"]
    runs = [
        "runs:",
        "  - {name: one model for all, architecture: mtl}",
        "  - {name: one model each, architecture: stl}",
    ]
    if len(guess.labels) < MIN_GROUPED_LABELS:
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


def _long(guess: TableGuess) -> list[str]:
    """Return a line if the suite takes long, and one if many documents are cut."""
    separate, others = _times(guess)
    length, cut = max_length(guess.sample)
    lines = []
    if len(guess.labels) > 1 and separate + others > LONG_MINUTES:
        lines.append(
            f"about {_format_minutes(separate + others)} on {many(cores(), 'core')} without a GPU, "
            f"{_format_minutes(separate)} of it for the baseline `one model each`; to save that time, remove "
            "its line in the config"
        )
    if cut > CUT_SHARE:
        lines.append(
            f"{cut:.0%} of the documents are longer than the {length} tokens that the encoder reads, and are "
            "cut" + (" into windows" if guess.tagged else "")
        )
    return lines


def _times(guess: TableGuess) -> tuple[float, float]:
    """Return the estimated minutes of the runs with one model per label, and of all other runs.

    All others read the documents once per source.
    """
    others = len(guess.learned) + (
        2 * MIN_GROUPED_LABELS + PRIVATE_LAYERS_COST if len(guess.labels) >= MIN_GROUPED_LABELS else 0
    )
    return _minutes(guess, len(guess.labels)), _minutes(guess, others)


def _epochs(guess: TableGuess) -> int:
    return next(epochs for most, epochs in EPOCHS if guess.documents <= most)


def _minutes(guess: TableGuess, models: float) -> float:
    counts = token_counts(guess.sample)
    most = max_length(guess.sample)[0]
    tokens = fmean(min(count, most) for count in counts) if counts else 0
    return guess.documents * tokens * _epochs(guess) * models / (TOKENS_PER_SECOND * cores()) / 60


def _format_minutes(minutes: float) -> str:
    return f"{minutes / 60:.0f} hours" if minutes > 90 else many(max(1, round(minutes)), "minute")
