"""Reads a task's inputs from the rows that a user gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from mtlv.data.relations import INPUTS
from mtlv.data.source import Corpus
from mtlv.data.tables.cells import is_missing, is_text, list_of, mentions_of, second_of
from mtlv.data.tables.delimited import also
from mtlv.data.targets import TARGETS
from mtlv.data.words import RUNS, Words, place_words, split_words
from mtlv.errors import DataError
from mtlv.formatting import many
from mtlv.plan import Task
from mtlv.plan.spans import Span
from mtlv.serving.inputs import MENTIONS, SECOND, WORDS, InputSchema
from mtlv.serving.texts import InputTexts

T = TypeVar("T")
LEAVE_OUT = "or skip the task by naming the others: `--task NAME`, `tasks`"
NO_TEXT = "there is no text"


class RowFault(Exception):
    """Why a row cannot be read, as in `MtlvError`; `what` and `allowed` are the same for rows of one kind."""

    def __init__(self, what: str, *, got: object = None, allowed: str | None = None, then: str = "") -> None:
        super().__init__(what)
        self.what, self.got, self.allowed, self.then = what, got, allowed, then


@dataclass(frozen=True)
class Query:
    """Rows to predict for one task."""

    rows: InputTexts
    schema: InputSchema
    task: str
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)  # names of inputs in training

    def cell(self, name: str, row: int) -> object:
        """Return the cell of a column; None if there is none."""
        return self.rows.more[name][row] if name in self.rows.more else None

    def lacks(self, name: str, then: str) -> RowFault:
        got = None if name in self.rows.more else ", ".join(self.rows.columns) or None
        return RowFault(
            f"task `{self.task}` needs `{name}`, which is missing", got=got, then=f"{then}, {LEAVE_OUT}"
        )

    def names(self, name: str) -> str:
        """Return the names that an input may have in a table."""
        return " or ".join(f"`{column}`" for column in dict.fromkeys((*self.columns.get(name, ()), name)))

    def read(self, name: str, cell: object, read: Callable[[object], T]) -> T:
        try:
            return read(cell)
        except ValueError as error:
            raise self.wrong(name, cell, str(error)) from error

    def wrong(self, name: str, got: object, allowed: str) -> RowFault:
        return RowFault(f"`{name}` of task `{self.task}`", got=got, allowed=allowed)


@dataclass(frozen=True)
class Document:
    """A row, as read for an input schema."""

    text: str
    second: str | None = None
    words: Words | None = None  # with their positions in the text
    mentions: tuple[Span, ...] | None = None
    is_split: bool = False  # whether the words were not given


@dataclass(frozen=True)
class QueryDocuments:
    """The rows that can be read, in order, and a sentence for each kind of fault of the others."""

    documents: Mapping[int, Document]
    notes: tuple[str, ...] = ()

    @property
    def split(self) -> int:
        """Return how many texts were split into words here."""
        return sum(document.is_split for document in self.documents.values())

    @property
    def rows(self) -> NDArray[np.int64]:
        """Return the rows of the n documents."""
        return np.array([*self.documents], dtype=np.int64)

    def words(self, count: int) -> tuple[Words, ...]:
        """Return the words of `count` rows; none of those that cannot be read."""
        documents = [self.documents.get(row) for row in range(count)]
        return tuple((document and document.words) or Words("", ()) for document in documents)

    def corpus(self, tasks: Sequence[Task]) -> Corpus:
        """Return a corpus of the documents, at least one, with dummy targets."""
        read = list(self.documents.values())
        first = read[0]
        return Corpus(
            name="rows",
            tasks=tuple(tasks),
            ids=tuple(map(str, self.documents)),
            texts=tuple(document.text for document in read),
            targets={task.name: TARGETS[task.kind].none(len(read)) for task in tasks},
            seconds=None if first.second is None else tuple(document.second or "" for document in read),
            words=None if first.words is None else tuple(tuple(document.words or ()) for document in read),
            mentions=None if first.mentions is None else tuple(document.mentions or () for document in read),
        )


def read_documents(query: Query) -> QueryDocuments:
    """Read the rows for a task; those that cannot be read are left out.

    Raises:
        DataError: no row can be read, and not because all are empty; names task, column and rows.
    """
    documents, faults = {}, dict[tuple[str, str | None], list[tuple[int, RowFault]]]()
    for row, text in enumerate(query.rows.texts):
        try:
            documents[row] = _document(query, row, text)
        except RowFault as fault:
            faults.setdefault((fault.what, fault.allowed), []).append((row, fault))
    errors = tuple(_error(query.rows, rows) for rows in faults.values())
    if not documents and any(what != NO_TEXT for what, _ in faults):
        raise DataError.all_of(errors)
    pairs = zip(faults.values(), errors, strict=True)
    return QueryDocuments(
        documents, tuple(f"{many(len(rows), 'empty answer')}: {error}" for rows, error in pairs)
    )


def _document(query: Query, row: int, text: object) -> Document:
    if is_missing(text):
        raise RowFault(NO_TEXT)
    if not is_text(text):
        raise RowFault("the input is not text", got=text, allowed="texts")
    document = Document(str(text))
    for name in query.schema.reads:
        document = READERS[name](query, row, document)
    return document


def _error(rows: InputTexts, faults: Sequence[tuple[int, RowFault]]) -> DataError:
    """Return the error of rows with the same fault."""
    numbers, fault = [rows.numbers[row] for row, _ in faults], faults[0][1]
    where = f"{rows.unit} {numbers[0]}{also(rows.unit, numbers[1:])}"
    return DataError(f"{fault.what} at {where}", got=fault.got, allowed=fault.allowed, then=fault.then)


def _second(query: Query, row: int, document: Document) -> Document:
    cell = query.cell(SECOND, row)
    if is_missing(cell):
        then = f"give each text its second one: `--pair TEXT`, or a column {query.names(SECOND)}"
        raise query.lacks(SECOND, then)
    return replace(document, second=query.read(SECOND, cell, second_of))


def _words(query: Query, row: int, document: Document) -> Document:
    """Read the given words, or else split the text by the rule of the training documents."""
    cell = query.cell(WORDS, row)
    is_split = is_missing(cell)
    if is_split:
        words = split_words(document.text, rule=query.schema.rule or RUNS)
    else:
        cell_words = query.read(WORDS, cell, list_of)
        placed = place_words(cell_words, document.text)
        if placed is None:
            raise query.wrong(WORDS, " ".join(cell_words), "the words of the row's text, in its order")
        words = placed
    return replace(document, words=words, text=" ".join(words), is_split=is_split)


def _mentions(query: Query, row: int, document: Document) -> Document:
    """Read the given entities, or else those already marked in the text."""
    schema, text, cell = query.schema, document.text, query.cell(MENTIONS, row)
    if is_missing(cell):
        text, spans = INPUTS[schema.shown].read(text, schema.tokens)
        rank = {role: at for at, role in enumerate(schema.roles)}
        spans = tuple(sorted(spans, key=lambda span: rank.get(span.type, len(rank))))
    else:
        spans = query.read(MENTIONS, cell, mentions_of)
    if not spans:
        column = f"a column {query.names(MENTIONS)}"
        then = f"mark them with `--mentions '[[0, 7, \"ROLE\"], ...]'` or {column}"
        if schema.tokens:
            then += ", or write the text with " + ", ".join(schema.tokens[:4])
        raise query.lacks(MENTIONS, then)
    _check_mentions(query, spans, text)
    return replace(document, text=text, mentions=spans)


def _check_mentions(query: Query, spans: Sequence[Span], text: str) -> None:
    schema = query.schema
    got = [list(span) for span in spans]
    if len(spans) > schema.mentions:
        raise query.wrong(MENTIONS, f"{len(spans)} entities", f"up to {schema.mentions}, as in training")
    if not all(0 <= span.start < span.end <= len(text) for span in spans):
        raise query.wrong(MENTIONS, got, f"places in its text of {len(text)} characters")
    named = [span for span in spans if span.type]
    if not all(span.type in schema.roles for span in named):
        raise query.wrong(MENTIONS, got, f"the roles {', '.join(schema.roles)}")
    try:
        INPUTS[schema.shown](text, spans)
    except DataError as error:
        raise query.wrong(MENTIONS, got, f"a role with each: {', '.join(schema.roles)}") from error


READERS: dict[str, Callable[[Query, int, Document], Document]] = {
    SECOND: _second,
    WORDS: _words,
    MENTIONS: _mentions,
}
"""Readers by column."""
