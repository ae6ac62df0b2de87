"""Corpora with a file for each part: assignment of files to parts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from mtlv.data.source import PARTS, Download
from mtlv.data.tables.decoding import decode, need_size
from mtlv.errors import DataError

MOST_BYTES = 1_000_000_000  # maximum bytes of a text file, which needs several times this in memory
LOOKED_AT = 100_000  # characters by which a format is recognized
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
"""Other names of the parts."""


def part_files(path: Path, suffixes: Sequence[str], then: str = "") -> dict[str, Path]:
    """Return the file of each part, in the order of `PARTS`; {"": path} if `path` is a file.

    A file belongs to a part if it is named like the part (`train.tsv`). In a folder without such files, it
    does if its folder is (`train/0000.parquet`), or else, if it has the part's name between other words
    (`mli_train_v1.jsonl`).

    Raises:
        DataError: no file, or several for one part.
    """
    if path.is_file():
        return {"": path}
    ends = tuple(suffixes)
    files, within = (
        [file for file in sorted(path.glob(level)) if file.name.lower().endswith(ends) and file.is_file()]
        for level in ("*", "*/*")
    )
    named = [(part, file) for file in files if (part := part_named(file))]
    named = named or [(part, file) for file in within if (part := part_of(file.parent.name))]
    if not named:
        words = {file: re.split("[^a-z]+", file.stem.lower()) for file in files}
        named = [(part, file) for file in files for part in sorted({*map(part_of, words[file])} - {""})]
    if not named:
        plain = [one for one in suffixes if one.count(".") == 1]
        allowed = f"a file, or a folder with train, dev and test files ending in {', '.join(plain)}"
        raise DataError(f"no documents in `{path}`", allowed=allowed, then=then)
    for part in PARTS:
        several = [file.name for name, file in named if name == part]
        if len(several) > 1:
            raise DataError(
                f"`{path}` has several files for the {part} part",
                got=", ".join(several),
                then="keep one, or join them; `data.name: huggingface` reads tables in several files",
            )
    return {part: file for part in PARTS for name, file in named if name == part}


def part_named(file: Path) -> str:
    """Return the part that a file is named like, also if it is packed; empty if none."""
    return part_of(file.name.partition(".")[0])


def title_of(file: Path) -> str:
    """Return the name of a file in ids of its documents: its own, or that of the folder of a part.

    Example: `title_of(Path("train/0000.parquet"))` is `train`.
    """
    is_by_folder = part_of(file.parent.name) and not part_named(file)
    return file.parent.name if is_by_folder else file.stem


def part_of(name: object) -> str:
    """Return the part that a cell, a file or a folder names; empty if it names none."""
    return NAMES.get(str(name).strip().lower(), "")


def read_split_lists(folder: Path, what: str, between: str = "\n") -> dict[str, str]:
    """Return the part of each entry in BLURB's `blurb_split/{train,dev,test}_WHAT.tsv`; empty without these.

    Args:
        folder: the folder with `blurb_split`.
        what: the end of the lists' names, such as `pmid`.
        between: characters of which each separates entries.

    Raises:
        DataError: an entry is in two lists.
    """
    lists = {NAMES[name]: folder / "blurb_split" / f"{name}_{what}.tsv" for name in ("train", "dev", "test")}
    if not all(file.is_file() for file in lists.values()):
        return {}
    parts: dict[str, str] = {}
    for part, file in lists.items():
        for entry in filter(None, map(str.strip, re.split(f"[{between}]", text_of(file)))):
            if parts.setdefault(entry, part) != part:
                got, then = f"{parts[entry]}, {part}", "keep it in one of them"
                raise DataError(f"`{entry}` is in two split lists in `{file.parent}`", got=got, then=then)
    return parts


def text_of(path: Path) -> str:
    """Return the text of a file of limited size.

    Raises:
        DataError: it is too large, cannot be opened, or is not valid UTF-8; with line and offset.
    """
    try:
        need_size(path, path.stat().st_size, MOST_BYTES)
        return decode(path.read_bytes(), path.name)
    except OSError as error:
        raise DataError(f"`{path}` cannot be read", got=error.strerror) from error


def first_lines(path: Path) -> str:
    """Return the lines among the first characters of a file, by which its format is recognized.

    Raises:
        OSError: it cannot be opened.
    """
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        content = file.read(LOOKED_AT)
        is_cut = bool(file.read(1))
    return content.rpartition("\n")[0] or content if is_cut else content


def absent(files: dict[str, Path]) -> str:
    """Return a note on the parts without a file; empty if there are none, or without a split."""
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
    """Return single files of a GitHub repository (`owner/name`) as downloads.

    `folder` is a commit or `HEAD`, followed by the folder in it; `files` are names with their SHA-256, if
    known.
    """
    start = f"https://raw.githubusercontent.com/{repository}/{folder}"
    return tuple(
        Download(f"{start}/{name}", name, max_bytes=max_bytes, sha256=known) for name, known in files.items()
    )
