"""Texts of the user with entities marked by offsets: BRAT, PubTator, BioC, exports of annotation tools.

A document is a paragraph of a BRAT text, a title or an abstract of PubTator, or a passage of BioC; its words
are runs of letters and digits, or single characters. The classes are the types in the data;
`data.columns.task` names the task.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from mtlv.data.conll import conll_path, corpus_of, task_of
from mtlv.data.options import DataOptions
from mtlv.data.parts import absent, first_lines, part_files
from mtlv.data.source import Card, Corpus
from mtlv.data.standoff import exports, pubtator
from mtlv.data.standoff.bioc import SUFFIXES as OF_BIOC
from mtlv.data.standoff.bioc import form_of, read_bioc
from mtlv.data.standoff.brat import annotation_files, read_brat
from mtlv.data.standoff.losses import Losses
from mtlv.data.standoff.marks import MarkedText, documents
from mtlv.data.standoff.pubtator import TEXT, read_pubtator
from mtlv.data.standoff.relations import relations_corpus
from mtlv.data.words import RUNS
from mtlv.errors import DataError

SUFFIXES = tuple(dict.fromkeys((*pubtator.SUFFIXES, *OF_BIOC, *exports.SUFFIXES)))

CARD = Card(
    name="standoff",
    title="Texts of your own with marked entities (BRAT, PubTator, BioC, exports of annotation tools)",
    address="your files, named by `data.path`",
    licence="yours",
    citation="none: the documents are yours",
    main_metric="entity_f1",
)


def load(path: Path, options: DataOptions) -> Corpus:
    """Read a folder of BRAT, or a PubTator or BioC file or a folder with one for each part.

    The task is the entities; with `data.columns.kind: multiclass`, the relations of two of them.

    Raises:
        DataError: no such files, a line that cannot be read, entities that are not at their offsets, no
            relations, or texts within and outside of folders of parts.
    """
    losses, missing = Losses(), ""
    if _is_brat(path):
        texts = list(read_brat(path, losses))
    else:
        files = part_files(path, SUFFIXES)
        missing = absent(files)
        texts = [(part, text) for part, file in files.items() for text in _read(file, losses)]
    outside = [text.name for part, text in texts if not part]
    if outside and len(outside) < len(texts):
        then = "move it to `train`, `dev` or `test`"
        raise DataError(f"`{outside[0]}` is in no part, but others are", then=then)
    kind, task = options.columns.kind, options.columns.task
    if kind == "multiclass":
        return relations_corpus(CARD, texts, losses, task=task or "relations", missing=missing)
    if kind not in ("binary", "tagging"):  # the first is the default of tables
        allowed = "tagging for entities, multiclass for relations"
        raise DataError("`data.columns.kind` is none of marked entities", got=kind, allowed=allowed)
    return _entities(texts, losses, task=task or "entities", missing=missing)


def _entities(texts: Sequence[tuple[str, MarkedText]], losses: Losses, *, task: str, missing: str) -> Corpus:
    read = [(part, sentence) for part, text in texts for sentence in documents(text, losses)]
    if not read:
        raise DataError("no documents in the data", allowed="texts with words", then="check `data.path`")
    relations = sum(len(text.relations) for _, text in texts)
    if relations:
        losses.others["relations, which a source with `columns.kind: multiclass` reads"] += relations
    parts, sentences = zip(*read, strict=True)
    notes = ((missing,) if missing else ()) + losses.notes()
    return corpus_of(
        CARD.name, task_of(CARD, sentences, task), sentences, parts if all(parts) else None, notes, rule=RUNS
    )


def standoff_path(path: Path) -> Path | None:
    """Return `data.path` for a folder of BRAT, or a PubTator or BioC file or folder, else None."""
    try:
        if _is_brat(path):
            return path
        file = next(iter(part_files(path, SUFFIXES).values()))
        of_bioc = file.suffix.lower() in OF_BIOC and form_of(file)
        of_pubtator = file.suffix.lower() in pubtator.SUFFIXES and TEXT.match(first_lines(file))
        return path if of_bioc or of_pubtator or exports.is_export(file) else None
    except (DataError, OSError, ValueError):
        return None


def other_format(path: Path) -> tuple[str, Path] | None:
    """Return `data.name` and `data.path` of files that are no table, but of CoNLL or marked; else None."""
    for name, path_of in (("conll", conll_path), ("standoff", standoff_path)):
        if place := path_of(path):
            return name, place
    return None


def _read(file: Path, losses: Losses) -> Iterator[MarkedText]:
    """Read a file by its suffix; a `.json` may be of BioC, BigBio or an annotation tool."""
    suffix = file.suffix.lower()
    if suffix in pubtator.SUFFIXES:
        return read_pubtator(file, losses)
    is_other = suffix == ".jsonl" or exports.is_export(file)
    return exports.read_export(file, losses) if is_other and not form_of(file) else read_bioc(file, losses)


def _is_brat(path: Path) -> bool:
    return path.is_dir() and bool(annotation_files(path))
