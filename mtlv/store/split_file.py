"""Splits of a corpus as files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mtlv.data.folds import Fold, Rows, folds_digest
from mtlv.data.source import Corpus
from mtlv.disk import written_whole
from mtlv.errors import DataError
from mtlv.foreign import read_json

MOST_BYTES = 1_000_000_000  # maximum bytes of a saved split, which has every document of every fold
LETTERS = {"train": b"t", "validation": b"v", "test": b"e"}  # of a document's part in a saved split
NO_PART = b"-"


def save_folds(path: Path, corpus: Corpus, folds: Sequence[Fold]) -> None:
    """Write folds as JSON, with a letter for each document of the corpus."""
    content = {
        "corpus": corpus.name,
        "data_digest": corpus.digest,
        "folds_digest": folds_digest(corpus, folds),
        "folds": [{"documents": _letters(fold, len(corpus)), "notes": list(fold.notes)} for fold in folds],
    }
    with written_whole(path) as part:
        part.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def load_folds(path: Path, corpus: Corpus) -> tuple[Fold, ...]:
    """Read folds written by `save_folds`.

    Raises:
        DataError: the file is missing or invalid, or was made for other documents.
    """
    try:
        content = read_json(path, MOST_BYTES)
        digest, saved = content["data_digest"], content["folds"]
        if digest != corpus.digest:
            raise DataError(
                f"the split in `{path}` was made for other documents", got=digest, allowed=corpus.digest
            )
        return tuple(
            Fold(n, **_rows_by_part(corpus, each["documents"]), notes=tuple(each["notes"]))
            for n, each in enumerate(saved)
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"the split in `{path}` cannot be read", got=str(error), then="delete the file"
        ) from error


def _letters(fold: Fold, documents: int) -> str:
    found = np.full(documents, NO_PART, "S1")
    for part, letter in LETTERS.items():
        found[fold.part(part)] = letter
    return found.tobytes().decode()


def _rows_by_part(corpus: Corpus, saved: str) -> dict[str, Rows]:
    letters = np.frombuffer(saved.encode(), "S1")
    if len(letters) != len(corpus):
        raise ValueError(f"{len(letters)} letters for {len(corpus)} documents")
    return {part: np.flatnonzero(letters == letter) for part, letter in LETTERS.items()}
