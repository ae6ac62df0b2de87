"""CoNLL files: a word and its tag per line, a blank line after each sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from mtlv.data.options import DataOptions
from mtlv.data.parts import NAMES, absent, from_github, part_files, text_of
from mtlv.data.source import Card, Corpus, groups_of
from mtlv.data.tables.rows import also
from mtlv.data.targets import spans_column
from mtlv.errors import DataError, shorten
from mtlv.plan.spans import Span
from mtlv.plan.tagging import BIOUL, OUTSIDE, spans_of
from mtlv.plan.task import Task

MOST_WORDS = 10_000  # maximum words of a sentence; longer ones indicate missing blank lines
MOST_TYPES = 1000  # maximum types of entities; more indicate a wrong column
SUFFIXES = (".tsv", ".txt", ".conll", ".iob", ".bio", ".iob2")
LOOKED_AT = 100_000  # characters by which a file is recognized
MARKER = "-DOCSTART-"
CAMBRIDGE = "cambridgeltl/MTL-Bioinformatics-2016"  # on GitHub
TAG = re.compile(r"O|[BIELUS](?:-.+)?")
_LETTERS = {"E": "L", "S": "U"}


@dataclass(frozen=True)
class Sentence:
    """One sentence."""

    id: str  # file name, document name if any, and number of the sentence in the file
    words: tuple[str, ...]  # W words
    spans: tuple[Span, ...]  # entities in words, without overlaps
    document: str = ""


def read_conll(path: Path, untyped: str = "entity") -> list[Sentence]:
    """Read the sentences of a UTF-8 file, with entities as in `entities_of`; `untyped` is the type of bare
    tags.

    The word is the first column, the tag the last; columns are separated by tabs, or by spaces in a line
    without tabs. A line that begins with `-DOCSTART-` begins a document; its second column may be the name.

    Raises:
        DataError: a line without a tag, an unknown tag (with `file:line`), no sentences, or an exceeded
            limit.
    """
    reader, number = _Reader(path, untyped), 0
    for number, line in enumerate(text_of(path).split("\n"), start=1):
        reader.take(number, line.rstrip("\r"))
    return reader.finish(number)


def conll_path(path: Path) -> Path | None:
    """Return `data.path` for a file, or a folder with one for each part, if it looks like CoNLL, else None.

    It is the folder for a file that is named like a part.
    """
    try:
        file = next(iter(part_files(path, SUFFIXES).values()))
        with file.open(encoding="utf-8-sig") as stream:
            lines = stream.read(LOOKED_AT).split("\n")[:-1]  # the last may be cut
        reader = _Reader(file, "entity")
        for number, line in enumerate(lines, start=1):
            reader.take(number, line)
    except (DataError, OSError, UnicodeDecodeError):
        return None
    if not reader.sentences or reader.bare or reader.strange:
        return None
    return path.parent if path == file and path.stem.lower() in NAMES else path


def entities_of(tags: Sequence[str], untyped: str = "") -> tuple[Span, ...]:
    """Return the entities of tags in BIO, IOB1, IO, BIOUL or BIOES, like the chunks of conlleval.

    BIOUL has equivalents of all letters (E and S are its L and U). Two adjacent entities of one type
    are one in IO, which does not mark the border.
    """
    if all(tag == OUTSIDE for tag in tags):
        return ()
    return spans_of([_as_bioul(tag, untyped) for tag in tags], BIOUL)


@cache
def _as_bioul(tag: str, untyped: str) -> str:
    mark, _, type_ = tag.partition("-")
    type_ = type_ or untyped
    return OUTSIDE if mark == OUTSIDE else f"{_LETTERS.get(mark, mark)}-{type_}"


def tagged(card: Card, *, untyped: str = "entity") -> Callable[[Path, DataOptions], Corpus]:
    """Return the `load` of a data set with one tagging task; see `tagged_corpus`."""

    def load(path: Path, options: DataOptions) -> Corpus:
        return tagged_corpus(card, path, untyped=untyped, called=options.columns.task or "entities")

    return load


def cambridge_card(task: Task, *, title: str, citation: str, folder: str, sha256: Sequence[str]) -> Card:
    """Return the card of a data set in the form of the Cambridge language lab (Crichton et al. 2017).

    `folder` is a commit and a folder of the lab's repository, with `train.tsv`, `devel.tsv` and `test.tsv`,
    of which `sha256` are the checksums.
    """
    names = ("train.tsv", "devel.tsv", "test.tsv")
    return Card.of_task(
        task,
        title=title,
        address=f"https://github.com/{CAMBRIDGE}",
        licence="CC BY 4.0 for the data, as its repository states",
        citation=f"{citation} This form: Crichton G et al, BMC Bioinformatics 18:368, 2017.",
        downloads=from_github(CAMBRIDGE, folder, dict(zip(names, sha256, strict=True))),
    )


def tagged_corpus(card: Card, path: Path, *, untyped: str = "entity", called: str = "entities") -> Corpus:
    """Build a corpus of one tagging task from a file, or a folder with a file for each part.

    A card without a task has the classes in the data, and its task is `called` so; `untyped` is the class of
    bare tags.

    Raises:
        DataError: as for `part_files` and `read_conll`; a type that is not a class of the task, or too many
            types.
    """
    files = part_files(path, SUFFIXES, card.by_hand)
    read = [(part, read_conll(file, untyped)) for part, file in files.items()]
    sentences = [sentence for _, found in read for sentence in found]
    task = task_of(card, sentences, called)
    missing = absent(files)
    parts = None if "" in files else tuple(part for part, found in read for _ in found)
    return corpus_of(card.name, task, sentences, parts, (missing,) if missing else ())


def corpus_of(
    name: str,
    task: Task,
    sentences: Sequence[Sentence],
    parts: tuple[str, ...] | None,
    notes: tuple[str, ...],
    *,
    rule: str = "",
) -> Corpus:
    """Build a corpus of one tagging task; `parts`, `notes` and `rule` as in `Corpus`."""
    return Corpus(
        name=name,
        tasks=(task,),
        ids=tuple(sentence.id for sentence in sentences),
        texts=tuple(" ".join(sentence.words) for sentence in sentences),
        words=tuple(sentence.words for sentence in sentences),
        rule=rule,
        targets={task.name: spans_column([sentence.spans for sentence in sentences])},
        parts=parts,
        groups=groups_of((sentence.document for sentence in sentences), [s.id for s in sentences]),
        notes=notes,
    )


def task_of(card: Card, sentences: Sequence[Sentence], called: str) -> Task:
    """Return the card's task, or one with the classes of the sentences, `called` so."""
    found = sorted({span.type for sentence in sentences for span in sentence.spans})
    if len(found) > MOST_TYPES:
        raise DataError("too many types of entities", got=len(found), allowed=f"up to {MOST_TYPES}")
    known = card.other_tasks[0] if card.other_tasks else None
    if known is None:
        task = Task(called, kind="tagging", source=card.name, main_metric=card.main_metric)
        return replace(task, classes=tuple(found), description="Names and terms that are marked in the text.")
    strange = [name for name in found if name not in known.classes]
    if strange:
        raise DataError(
            f"corpus `{card.name}` has entities of an unknown type",
            got=", ".join(strange),
            allowed=", ".join(known.classes),
        )
    return known


@dataclass
class _Reader:
    """State of reading a file."""

    path: Path
    untyped: str
    document: str = ""
    documents: int = 0
    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    known: set[str] = field(default_factory=set)
    sentences: list[Sentence] = field(default_factory=list)
    bare: list[tuple[int, str]] = field(default_factory=list)
    strange: list[tuple[int, str]] = field(default_factory=list)

    def take(self, number: int, line: str) -> None:
        columns = line.split("\t") if "\t" in line else [part for part in line.split(" ") if part]
        if not line.strip(" \t"):
            self._close(number)
        elif columns[0] == MARKER:
            self._close(number)
            self._open_document(columns)
        elif len(columns) < 2 or not columns[0]:
            self.bare.append((number, line))
        elif columns[-1] not in self.known and not TAG.fullmatch(columns[-1]):
            self.strange.append((number, columns[-1]))
        else:
            self.words.append(columns[0])
            self.tags.append(columns[-1])
            self.known.add(columns[-1])

    def finish(self, last: int) -> list[Sentence]:
        """Return all sentences, or raise an error with all problems."""
        self._close(last + 1)
        faults = []
        for fault, allowed, found in (
            ("has a line without a word and its tag", "word, tab or space, tag", self.bare),
            ("has an unknown tag", "O, or B, I, E, L, U, S with a type (B-Disease)", self.strange),
        ):
            if found:
                (line, got), rest = found[0], [number for number, _ in found[1:]]
                place = f"`{self.path.name}:{line}`"
                then = also("line", rest).removeprefix("; ")
                faults.append(DataError(f"{place} {fault}", got=got, allowed=allowed, then=then))
        if faults:
            raise DataError.all_of(faults)
        if not self.sentences:
            raise DataError(f"`{self.path.name}` has no sentences", then="check `data.path`")
        return self.sentences

    def _open_document(self, columns: Sequence[str]) -> None:
        self.documents += 1
        named = columns[1].strip("()") if len(columns) > 1 else ""
        self.document = f"{self.documents}" if named in ("", "O", "-X-") else shorten(named)

    def _close(self, line: int) -> None:
        if not self.words:
            return
        if len(self.words) > MOST_WORDS:
            raise DataError(
                f"`{self.path.name}` has a sentence of more than {MOST_WORDS:,} words before line {line}",
                then="put a blank line after each sentence",
            )
        number = str(len(self.sentences) + 1)
        id_ = ".".join(part for part in (self.path.stem, self.document, number) if part)
        document = f"{self.path.stem}.{self.document}" if self.document else ""
        spans = entities_of(self.tags, self.untyped)
        self.sentences.append(Sentence(id_, tuple(self.words), spans, document))
        self.words, self.tags = [], []
