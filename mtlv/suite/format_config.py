"""A first config for files that are no table: CoNLL files, and texts with marked entities."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mtlv.data import catalog
from mtlv.data.options import DataOptions
from mtlv.data.source import Corpus
from mtlv.data.tables.text_columns import size_of
from mtlv.errors import shorten
from mtlv.formatting import list_first, many
from mtlv.settings.describe import in_line
from mtlv.suite.new_config import CUT_SHARE, EPOCHS, OTHER_LANGUAGE, WINDOW_LINE, need_new, write_new
from mtlv.suite.token_counts import ENCODER, max_length

MAX_SHOWN_TYPES = 20  # types whose numbers are listed


def write_format_config(name: str, path: Path, out: Path) -> list[str]:
    """Write a config for the files of `data.name: NAME`, and return lines about it, with the next step.

    Raises:
        ConfigError: the file is there already, or cannot be written.
        DataError: as for the `load` of the data set.
    """
    need_new(out)
    corpus = catalog.load(name, DataOptions(path=path))
    written = write_new(out, format_config(name, corpus, os.path.relpath(path, out.parent)))
    (task,) = corpus.tasks
    return [
        f"{path.name}: {many(len(corpus), 'document')}, read with `data.name: {name}`",
        f"to learn (tagging): {list_first(list(task.classes))}",
        *corpus.notes,
        written,
    ]


def format_config(name: str, corpus: Corpus, path: str) -> str:
    """Return the config as text; `path` is relative to the config's folder."""
    (task,) = corpus.tasks
    counts = [len(words) for words in corpus.words or ()]
    length, cut = max_length(tuple(corpus.texts))
    spans = Counter(span.type for row in corpus.targets[task.name] for span in row)
    numbers = [f"{shorten(type_)} {count}" for type_, count in spans.most_common()]
    epochs = next(epochs for most, epochs in EPOCHS if len(corpus) <= most)
    lines: Sequence[str] = [
        f"# Written by `mtlv init` for {shorten(Path(path).name)}: {many(len(corpus), 'document')}",
        f"# of {np.median(counts):.0f} words (median).",
        "#",
        "#     mtlv run CONFIG",
        "",
        f"experiment: {in_line(shorten(Path(path).stem, 100))}",
        "",
        "data:",
        f"  name: {name}",
        f"  path: {in_line(path)}",
        f"  columns: {{task: {in_line(task.name)}}}",
        *(f"  # {shorten(note, 200)}" for note in corpus.notes),
        f"  # spans of each type: {list_first(numbers, MAX_SHOWN_TYPES)}",
        f"  max_length: {length:<4}             # tokens",
        *([WINDOW_LINE] if cut > CUT_SHARE else []),
        "",
        *([] if size_of(corpus.texts)[1] else OTHER_LANGUAGE),
        f"encoder: {ENCODER:<20}  # 6 layers; bert, biobert, pubmedbert, ... are larger and slower",
        "",
        "training:",
        f"  epochs: {epochs:<2}                   # mtlv warns if this is too short",
        "  learning_rate: auto          # by the size of the encoder",
        "",
        "architecture: mtl              # one task: one model",
    ]
    return "\n".join(lines) + "\n"
