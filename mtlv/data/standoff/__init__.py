"""Texts of the user with entities marked by offsets: BRAT, PubTator, exports of annotation tools.

A document is a paragraph of a BRAT text, or a title or an abstract of PubTator; its words are runs of letters
and digits, or single characters. The classes are the types in the data; `data.columns.task` names the task.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mtlv.data.conll import LOOKED_AT, corpus_of, task_of
from mtlv.data.options import DataOptions
from mtlv.data.parts import absent, part_files
from mtlv.data.source import Card, Corpus
from mtlv.data.standoff import exports
from mtlv.data.standoff.brat import SUFFIX, read_brat
from mtlv.data.standoff.marks import Losses, MarkedText, documents
from mtlv.data.standoff.pubtator import SUFFIXES, TEXT, read_pubtator
from mtlv.data.words import RUNS
from mtlv.errors import DataError

CARD = Card(
    name="standoff",
    title="Texts of your own with marked entities (BRAT, PubTator, exports of annotation tools)",
    address="your files, named by `data.path`",
    licence="yours",
    citation="none: the documents are yours",
    main_metric="entity_f1",
)


def load(path: Path, options: DataOptions) -> Corpus:
    """Read a folder of BRAT, or a PubTator file or a folder with one for each part.

    Raises:
        DataError: no such files, a line that cannot be read, entities that are not at their offsets, or texts
            within and outside of folders of parts.
    """
    losses, missing = Losses(), ""
    if _is_brat(path):
        found = list(read_brat(path, losses))
    else:
        files = part_files(path, (*SUFFIXES, *exports.SUFFIXES))
        missing = absent(files)
        found = [(part, text) for part, file in files.items() for text in _read(file, losses)]
    read = [(part, each) for part, text in found for each in documents(text, losses)]
    if not read:
        raise DataError(f"no documents in `{path}`", allowed="texts with words", then="check `data.path`")
    parts = [part for part, _ in read]
    if "" in parts and any(parts):
        outside = next(text.name for part, text in found if not part)
        raise DataError(
            f"`{outside}` is in no part, but others are", then="move it to `train`, `dev` or `test`"
        )
    sentences = [each for _, each in read]
    task = task_of(CARD, sentences, options.columns.task or "entities")
    notes = ((missing,) if missing else ()) + losses.notes()
    return corpus_of(CARD.name, task, sentences, tuple(parts) if all(parts) else None, notes, rule=RUNS)


def standoff_path(path: Path) -> Path | None:
    """Return `data.path` for a folder of BRAT, or a PubTator file or folder, else None."""
    try:
        if _is_brat(path):
            return path
        file = next(iter(part_files(path, (*SUFFIXES, *exports.SUFFIXES)).values()))
        if exports.is_export(file):
            return path
        with file.open(encoding="utf-8-sig") as stream:
            return path if TEXT.fullmatch(stream.readline(LOOKED_AT).rstrip("\r\n")) else None
    except (DataError, OSError, UnicodeDecodeError):
        return None


def _read(file: Path, losses: Losses) -> Iterator[MarkedText]:
    is_export = file.suffix.lower() in exports.SUFFIXES
    return exports.read_export(file, losses) if is_export else read_pubtator(file, losses)


def _is_brat(path: Path) -> bool:
    return path.is_dir() and next(path.rglob(f"*{SUFFIX}"), None) is not None
