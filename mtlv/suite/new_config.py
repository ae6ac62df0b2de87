"""A first config for a table: a commented file that runs, with a suite sized to the machine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from statistics import fmean
from textwrap import wrap

from mtlv.data.tables.column_kinds import FEWEST
from mtlv.data.tables.guess import PLACES, TableGuess
from mtlv.errors import ConfigError, shorten
from mtlv.formatting import about, many
from mtlv.settings.describe import in_line
from mtlv.suite.token_counts import ENCODER, max_length, token_counts

MINUTES = 15  # of training that a new config takes
EPOCHS = ((2_000, 15), (20_000, 10), (inf, 5))
"""Epochs for tables of up to so many documents: in small ones, each epoch has few optimizer steps."""
OTHER_LANGUAGE = (
    "# The texts do not look like English, which is all that minilm has read. An encoder of their language,",
    "# or of many, is better, such as `google-bert/bert-base-multilingual-cased` from the hub.",
)
MAX_COUNTED_LABELS = 60  # labels whose documents are counted in a comment
CUT_SHARE = 0.02  # share of documents; above it, a comment says how many are cut
WINDOW_LINE = "  window: 200                  # words; longer documents are cut into such windows"
"""For long documents with tags: few windows of so many words are more than 512 tokens."""
MIN_GROUPED_LABELS = 4  # labels from which grouping makes sense, and groups that an elbow often finds
RUNS = ("one model for all", "one model each", "groups", "random groups", "layers per group")
LEFT_OUT_FIRST = ("one model each", "layers per group", "random groups", "groups")
LEAST_DOCUMENTS = 1_000
FEW_DOCUMENTS = (
    2_000  # up to here a model with frozen layers may score much lower, so runs are left out first
)
TRAINED_SHARE = 0.75  # of the documents, with those of validation, which take a third of the time
LAYERS, FROZEN_LAYERS, PRIVATE_LAYERS = 6, 4, 2  # of the encoder, those that are frozen, and of each group
LABELS = "labels"  # alias of the source of yes/no labels
UNCERTAIN = "what -1 or uncertain means: unknown (neither learned nor tested), yes or no"


@dataclass(frozen=True)
class SuiteSize:
    """What a suite trains: documents, whether the lower layers are frozen, and the names of its runs."""

    documents: int
    frozen: bool
    runs: tuple[str, ...]

    @property
    def epochs(self) -> int:
        """Epochs of each model."""
        return next(epochs for most, epochs in EPOCHS if self.documents <= most)

    def seconds(self, guess: TableGuess, speed: float) -> float:
        """Return about how long training takes."""
        counts, most = token_counts(guess.sample), max_length(guess.sample)[0]
        tokens = fmean(min(count, most) for count in counts) if counts else 0
        layers = LAYERS - (FROZEN_LAYERS if self.frozen else 0)
        models = {  # models that take as long; groups are often four
            "one model for all": len(guess.learned),
            "one model each": len(guess.labels),
            "layers per group": (layers - PRIVATE_LAYERS + PRIVATE_LAYERS * MIN_GROUPED_LABELS) / layers,
        }
        passes = self.epochs * sum(models.get(run, MIN_GROUPED_LABELS) for run in self.runs)
        return self.documents * TRAINED_SHARE * tokens * passes / speed * layers / LAYERS


def choose_size(guess: TableGuess, speed: float, minutes: float) -> tuple[SuiteSize, SuiteSize]:
    """Return the largest size that takes so many minutes, and that of the whole suite.

    What costs least is left out first: lower layers are frozen, runs left out, then documents. With few
    documents, all runs but one model for all and groups are left out before layers are frozen.
    """
    has_few = guess.documents <= FEW_DOCUMENTS
    several, grouped = len(guess.labels) > 1, len(guess.labels) >= MIN_GROUPED_LABELS
    size = largest = SuiteSize(guess.documents, False, RUNS if grouped else RUNS[: 1 + several])
    left_out = [run for run in LEFT_OUT_FIRST if run in size.runs]
    while size.seconds(guess, speed) > minutes * 60:
        if not size.frozen and (len(left_out) < 2 or not has_few):
            size = replace(size, frozen=True)
        elif left_out:
            dropped = left_out.pop(0)
            size = replace(size, runs=tuple(run for run in size.runs if run != dropped))
        elif size.documents > LEAST_DOCUMENTS:
            size = replace(size, documents=max(LEAST_DOCUMENTS, size.documents // 2))
        else:
            break
    return size, largest


def write_config(guess: TableGuess, out: Path, speed: float, minutes: float = MINUTES) -> list[str]:
    """Write a config; return lines about what it leaves out and about the next step.

    Args:
        guess: what the table has.
        out: file to write.
        speed: tokens of training a second on this machine.
        minutes: of training that the suite may take.

    Raises:
        ConfigError: the file is there already, or cannot be written.
    """
    need_new(out)
    path = os.path.relpath(guess.path, out.parent)
    return [*_lines(guess, speed, minutes), write_new(out, config_text(guess, path, speed, minutes))]


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


def config_text(guess: TableGuess, path: str, speed: float, minutes: float = MINUTES) -> str:
    """Return the config as text; `path` is the table's, relative to the config's folder."""
    median, long, _ = guess.words
    size, largest = choose_size(guess, speed, minutes)
    better = [
        f"# All of it takes about {about(largest.seconds(guess, speed))}: what is left out is marked below."
    ]
    lines = [
        f"# Written by `mtlv init` for {shorten(guess.path.name)}: {many(guess.documents, 'document')}",
        f"# of {median:.0f} words (median; 95% have {long:.0f} or fewer).",
        f"# Training takes about {about(size.seconds(guess, speed))} on this machine.",
        *(better if size != largest else []),
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
        *_limit(guess, size, speed),
        "",
        *([] if guess.english else OTHER_LANGUAGE),
        *_encoder(guess, size, speed),
        "",
        "training:",
        f"  epochs: {size.epochs:<2}                   # mtlv warns if this is too short",
        "  learning_rate: auto          # by the encoder's size: 2e-4 for minilm, 2e-5 for 12 layers",
        "",
        *_suite(guess, size, speed),
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
        lines.append(WINDOW_LINE)
    return lines


def _limit(guess: TableGuess, size: SuiteSize, speed: float) -> list[str]:
    if size.documents == guess.documents:
        return []
    time = about(replace(size, documents=guess.documents).seconds(guess, speed))
    return [f"  limit: {size.documents:<7}               # documents; without this line all, in about {time}"]


def _encoder(guess: TableGuess, size: SuiteSize, speed: float) -> list[str]:
    name = f"{ENCODER}                # 6 layers; bert, biobert, pubmedbert, ... are larger and slower"
    if not size.frozen:
        return [f"encoder: {name}"]
    time = about(replace(size, frozen=False).seconds(guess, speed))
    frozen = f"  frozen_layers: {FROZEN_LAYERS}             # quicker, but may score lower; without it {time}"
    return ["encoder:", f"  name: {name}", frozen]


def _suite(guess: TableGuess, size: SuiteSize, speed: float) -> list[str]:
    """Return the members; those that are left out are comments."""
    if len(guess.labels) == 1:
        return ["architecture: mtl              # one task: one model"]
    texts = {
        "one model for all": ["  - {name: one model for all, architecture: mtl}"],
        "one model each": ["  - {name: one model each, architecture: stl}"],
        "groups": ["  - {name: groups, architecture: gmtl}"],
        "random groups": [
            "  # The control; p = 0.05 needs 19 of these, such as `matrix: {grouping.seed: [1, 2, ...]}`.",
            "  - {name: random groups, architecture: gmtl, grouping.method: random, grouping.seed: 1}",
        ],
        "layers per group": [
            "  - name: layers per group         # one model, two layers for each group; the best on Open-I",
            "    architecture: {name: gmhl, private_layers: 2}",
            "    training.learning_rate: 1e-4   # half the rate suits it",
        ],
    }
    grouped = len(guess.labels) >= MIN_GROUPED_LABELS
    lines = ["grouping: {features: label_name}  # groups labels with similar names", ""] if grouped else []
    lines.append("runs:")
    for run in RUNS if grouped else RUNS[:2]:
        if run in size.runs:
            lines += texts[run]
        else:
            time = about(replace(size, runs=(run,)).seconds(guess, speed))
            lines += [
                f"  # Left out; about {time} more:",
                *(f"  # {line[2:]}" for line in texts[run] if line[2] != "#"),
            ]
    return lines


def _lines(guess: TableGuess, speed: float, minutes: float) -> list[str]:
    """Return how long the suite takes, what is left out, and how many documents are cut."""
    size, largest = choose_size(guess, speed, minutes)
    length, cut = max_length(guess.sample)
    lines = [f"training takes about {about(size.seconds(guess, speed))} on this machine"]
    if size != largest:
        rest = ", ".join(f"`{run}`" for run in largest.runs if run not in size.runs)
        parts = {
            f"with the lower {FROZEN_LAYERS} of {LAYERS} layers frozen": size.frozen,
            f"without {rest}": rest,
            f"on {size.documents} documents": size.documents < largest.documents,
        }
        time = largest.seconds(guess, speed)
        smaller = ", ".join(part for part, is_so in parts.items() if is_so)
        lines[0] += f", {smaller}; all of it takes about {about(time)}: `--minutes {-(-time // 60):.0f}`"
    if cut > CUT_SHARE:
        lines.append(
            f"{cut:.0%} of the documents are longer than the {length} tokens that the encoder reads, and are "
            "cut" + (" into windows" if guess.tagged else "")
        )
    return lines
