"""Splits of a corpus as files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mtlv.data.folds import Fold
from mtlv.data.source import Corpus
from mtlv.sealed import read_sealed, write_sealed

MAX_BYTES = 1_000_000_000  # maximum bytes of a saved split, which has every document of every fold
LETTER_BY_PART = {"train": b"t", "validation": b"v", "test": b"e"}  # of a document's part in a saved split
NO_PART = b"-"


def save_folds(path: Path, corpus: Corpus, folds: Sequence[Fold]) -> None:
    """Write folds, with a letter for each document of the corpus, and a checksum."""
    content: dict[str, Any] = {
        "corpus": corpus.name,
        "data_digest": corpus.digest,
        "folds": [],
    }
    for fold in folds:
        letters = np.full(len(corpus), NO_PART, "S1")
        for part, letter in LETTER_BY_PART.items():
            letters[fold.part(part)] = letter
        content["folds"].append({"documents": letters.tobytes().decode(), "notes": list(fold.notes)})
    write_sealed(path, content)


def load_folds(path: Path, warn: Callable[[str], None]) -> tuple[Fold, ...] | None:
    """Read folds of `save_folds`; None if the file was damaged: it is moved aside, and `warn` called."""
    content = read_sealed(path, warn, "the split is drawn again, which gives the same", most_bytes=MAX_BYTES)
    if content is None:
        return None
    folds = []
    for number, fold in enumerate(content["folds"]):
        letters = np.frombuffer(fold["documents"].encode(), "S1")
        rows = {part: np.flatnonzero(letters == letter) for part, letter in LETTER_BY_PART.items()}
        folds.append(Fold(number, **rows, notes=tuple(fold["notes"])))
    return tuple(folds)
