"""Corpora in a file for each part: which file is which."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from mtlv.data.source import PARTS, Download
from mtlv.data.tables.rows import read_text
from mtlv.errors import DataError

MOST_BYTES = 1_000_000_000  # of a file that is read as a text: it is held in memory, several times over
NAMES = {
    "train": "train",
    "training": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "devel": "validation",
    "test": "test",
    "testing": "test",
}
"""What a part is called elsewhere."""


def part_files(path: Path, suffixes: Sequence[str], then: str = "") -> dict[str, Path]:
    """Part -> its file, in the order of `PARTS`; "" -> the file, where `path` is one.

    A file is of a part if its name is the part's (`train.tsv`), or, in a folder without such files, has it
    between other words (`mli_train_v1.jsonl`).

    Args:
        path: a file, or a folder that holds them.
        suffixes: of files that are looked at, in lower case.
        then: the next step where there is none.

    Raises:
        DataError: no such file, or two for one part.
    """
    if path.is_file():
        return {"": path}
    files = [file for file in sorted(path.iterdir()) if file.suffix.lower() in suffixes and file.is_file()]
    found = [(part, file) for file in files if (part := NAMES.get(file.stem.lower()))]
    found = found or [(part, file) for file in files for part in _in_name(file)]
    if not found:
        allowed = f"a file, or a folder with train, dev and test files ending in {', '.join(suffixes)}"
        raise DataError(f"no documents in `{path}`", allowed=allowed, then=then)
    for part in PARTS:
        several = [file.name for name, file in found if name == part]
        if len(several) > 1:
            raise DataError(
                f"`{path}` has several files for the {part} part", got=", ".join(several), then="keep one"
            )
    return {part: file for part in PARTS for name, file in found if name == part}


def _in_name(file: Path) -> list[str]:
    """The parts that the words of a file name are names of."""
    words = re.split("[^a-z]+", file.stem.lower())
    return sorted({NAMES[word] for word in words if word in NAMES})


def text_of(path: Path) -> str:
    """Text of a file of a sensible size.

    Raises:
        DataError: too large, or as `read_text`.
    """
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise DataError(
            f"`{path.name}` is too large", got=f"{size:,} bytes", allowed=f"up to {MOST_BYTES:,} bytes"
        )
    return read_text(path)


def absent(files: dict[str, Path]) -> str:
    """A note on the parts that have no file; empty where all have, or where nothing is divided."""
    missing = [part for part in PARTS if part not in files]
    if not missing or "" in files:
        return ""
    note = f"no file for the {' and the '.join(missing)} part"
    if missing == ["train"]:
        note += "; with `data.folds` of 2 or more, the folds of the validation part train in turn"
    return note


def from_github(
    repository: str, folder: str, files: Mapping[str, str | None], *, max_bytes: int = 20_000_000
) -> tuple[Download, ...]:
    """Single files of a repository, by the address that serves their bytes.

    Args:
        repository: `owner/name`.
        folder: a commit or `HEAD`, and the folder in it.
        files: name -> SHA-256, where it is known.
        max_bytes: of each.
    """
    start = f"https://raw.githubusercontent.com/{repository}/{folder}"
    return tuple(
        Download(f"{start}/{name}", name, max_bytes=max_bytes, sha256=known) for name, known in files.items()
    )
