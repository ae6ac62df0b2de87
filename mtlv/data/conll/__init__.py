"""CoNLL files: a word and its tag per line, a blank line after each sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from mtlv.data.conll.file import MARKER, SUFFIX_U, ConllFile, Sentence
from mtlv.data.options import Columns
from mtlv.data.parts import absent, first_lines, part_files, part_of, text_of
from mtlv.data.source import Card, Corpus, groups_of
from mtlv.data.tables.readers import TAG_METRICS, bad_metric, tag_metric
from mtlv.data.targets import spans_column
from mtlv.errors import DataError
from mtlv.formatting import list_first
from mtlv.plan.task import Task
from mtlv.plan.word_tags import are_classes, have_letters, named_tags, spans_of_rows

MOST_TYPES = 1000  # maximum types of entities; more indicate a wrong column
SUFFIXES = (".tsv", ".txt", ".conll", ".iob", ".bio", ".iob2", SUFFIX_U)
TABLES = (".csv", ".json", ".jsonl")
NO_TABLES = SUFFIXES[2:]  # other files may be tables or texts


def read_words(path: Path) -> list[tuple[str, ...]]:
    """Read only the words of the sentences of a file, which needs no tags.

    Raises:
        DataError: as for `ConllFile.sentences`.
    """
    return [sentence.words for sentence in read_file(path, is_tagged=False).sentences()]


def read_file(path: Path, columns: Columns | None = None, *, is_tagged: bool = True) -> ConllFile:
    """Read the lines of a UTF-8 file, with the columns of `data.columns.words` and `data.columns.tags`.

    The word is the first column, the tag the last; columns are separated by tabs, or by spaces in a line
    without tabs. A line that begins with `-DOCSTART-` begins a document; its second column may be the name.
    """
    lines = text_of(path).removeprefix("\ufeff").split("\n")
    return ConllFile(path, lines, columns or Columns(), is_tagged=is_tagged)


def sentences_of(read: Sequence[Sentence], untyped: str) -> list[Sentence]:
    """Return sentences with the entities, or the classes of words, that their tags have together."""
    spans = spans_of_rows([sentence.tags for sentence in read], untyped)
    return [replace(sentence, spans=entities) for sentence, entities in zip(read, spans, strict=True)]


def conll_path(path: Path) -> Path | None:
    """Return `data.path` for a file, or a folder with one for each part, if it looks like CoNLL, else None.

    It is the folder for a file that is named like a part.
    """
    try:
        file = next(iter(part_files(path, SUFFIXES).values()))
        is_conll = _is_conll(ConllFile(file, first_lines(file).removesuffix("\n").split("\n")))
    except (DataError, OSError):
        return None
    if not is_conll:
        return None
    return path.parent if path == file and part_of(path.stem) else path


def _is_conll(file: ConllFile) -> bool:
    """Whether lines are of words and tags; tags without letters need other signs of the format."""
    if file.path.suffix.lower() in TABLES:
        return False
    sentences = [sentence.tags for sentence in file.sentences()]
    if not any(not line.strip() for line in file.lines[1:]):
        return False
    is_marked = file.path.suffix.lower() in NO_TABLES or file.lines[0].startswith(MARKER)
    if is_marked or file.is_universal or have_letters(file.tags):
        return True
    words = sum(map(len, sentences))
    is_even = {len(cells) for _, cells in file.rows if cells} == {file.width}
    return is_even and len(sentences) < words / 2 and len(file.tags) < words / 4


def tagged_corpus(
    card: Card, path: Path, *, untyped: str = "entity", columns: Columns | None = None
) -> Corpus:
    """Build a corpus of one tagging task from a file, or a folder with a file for each part.

    A card without a task has the classes in the data; `untyped` is the class of bare tags. If `columns` names
    no column of tags, they are in the last one, or in `upos` of CoNLL-U.

    Raises:
        DataError: as for `part_files` and `ConllFile.sentences`; a type that is not a class of the task, or
            too many types; an unknown metric; numbers as tags without `columns.classes`.
    """
    columns = columns or Columns()
    if faults := list(bad_metric(columns, TAG_METRICS)):
        raise DataError.all_of(faults)
    paths = part_files(path, SUFFIXES, card.by_hand)
    files = {part: read_file(file, columns) for part, file in paths.items()}
    read = {part: file.sentences() for part, file in files.items()}
    rows = list(chain.from_iterable(read.values()))
    tags, are_numbers = named_tags([row.tags for row in rows], columns.classes)
    sentences = sentences_of(
        [replace(row, tags=tuple(row_tags)) for row, row_tags in zip(rows, tags, strict=True)], untyped
    )
    notes = [absent(paths)]
    if card.other_tasks:
        task = task_of(card, sentences)
    else:
        is_classed = are_classes(chain.from_iterable(tags))
        column = columns.tags or ""
        of_column = column if column and not column.removeprefix("-").isdecimal() else "tags"
        task = task_of(card, sentences, columns.task or (of_column if is_classed else "entities"))
        task = replace(task, main_metric=columns.metric or tag_metric(chain.from_iterable(tags)))
        if is_classed:
            task = replace(task, description="A class of each word.")
        if columns.classes is not None and not are_numbers:
            task = _with_classes(task, columns.classes)
        notes += _note(next(iter(files.values())), columns)
    parts = None if "" in paths else tuple(part for part, rows in read.items() for _ in rows)
    return corpus_of(card.name, task, sentences, parts, tuple(filter(None, notes)))


def _with_classes(task: Task, classes: tuple[str, ...]) -> Task:
    if unknown := sorted({*task.classes} - {*classes}):
        raise DataError(
            "`data.columns.tags` has values that are not classes",
            got=list_first(unknown, 3),
            allowed=", ".join(classes),
        )
    return replace(task, classes=classes)


def _note(file: ConllFile, columns: Columns) -> list[str]:
    """Return which column has the tags, if that was not chosen of several."""
    if columns.tags is not None or file.width < 3:
        return []
    place = f"column {file.tag % file.width + 1} of {file.width}"
    return [f"tags are in {place} ({list_first(file.tags, 3)}); `data.columns.tags` names another"]


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
    prose = [sentence.prose for sentence in sentences]
    return Corpus(
        name=name,
        tasks=(task,),
        ids=tuple(sentence.id for sentence in sentences),
        texts=tuple(" ".join(sentence.words) for sentence in sentences),
        words=tuple(sentence.words for sentence in sentences),
        rule=rule,
        prose=tuple(map(str, prose)) if all(prose) else None,
        targets={task.name: spans_column([sentence.spans for sentence in sentences])},
        parts=parts,
        groups=groups_of((sentence.document for sentence in sentences), [s.id for s in sentences]),
        notes=notes,
    )


def task_of(card: Card, sentences: Sequence[Sentence], called: str = "entities") -> Task:
    """Return the card's task, or one with the classes of the sentences, `called` so."""
    types = sorted({span.type for sentence in sentences for span in sentence.spans})
    if len(types) > MOST_TYPES:
        raise DataError("too many types of entities", got=len(types), allowed=f"up to {MOST_TYPES}")
    known = card.other_tasks[0] if card.other_tasks else None
    if known is None:
        task = Task(called, kind="tagging", source=card.name, main_metric=card.main_metric)
        return replace(task, classes=tuple(types), description="Names and terms that are marked in the text.")
    strange = [name for name in types if name not in known.classes]
    if strange:
        raise DataError(
            f"corpus `{card.name}` has entities of an unknown type",
            got=", ".join(strange),
            allowed=", ".join(known.classes),
        )
    return known
