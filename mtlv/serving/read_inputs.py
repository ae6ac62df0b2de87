"""Reads a task's inputs from the rows that a user gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from mtlv.data.relations import INPUTS
from mtlv.data.source import Corpus, rows_of
from mtlv.data.tables.cells import is_missing, mentions_of, second_of, words_of
from mtlv.data.tables.rows import also
from mtlv.data.targets import TARGETS
from mtlv.data.words import RUNS, Words, placed_words, split_words
from mtlv.errors import DataError
from mtlv.plan import Task
from mtlv.plan.spans import Span
from mtlv.serving.inputs import MENTIONS, SECOND, WORDS, InputSchema
from mtlv.serving.texts import InputTexts

T = TypeVar("T")
LEAVE_OUT = "or skip the task by naming the others: `--task NAME`, `tasks`"


@dataclass(frozen=True)
class Query:
    """Rows to predict for one task."""

    rows: InputTexts
    schema: InputSchema
    task: str

    def column(self, name: str, read: Callable[[object], T], then: str) -> list[T]:
        """Return the cells of a required column.

        Raises:
            DataError: rows have no value or a wrong value; names task, column and rows.
        """
        cells = self.rows.more.get(name, (None,) * len(self.rows))
        self.need(name, [is_missing(cell) for cell in cells], then)
        return [self.read(name, row, cell, read) for row, cell in enumerate(cells)]

    def need(self, name: str, missing: Sequence[bool], then: str) -> None:
        """Raise an error if rows have no value in column `name`."""
        lost = [number for number, gone in zip(self.rows.numbers, missing, strict=True) if gone]
        if lost:
            where = f"{self.rows.unit} {lost[0]}{also(self.rows.unit, lost[1:])}"
            raise DataError(
                f"task `{self.task}` needs `{name}`, which is missing at {where}",
                then=f"{then}, {LEAVE_OUT}",
            )

    def read(self, name: str, row: int, cell: object, read: Callable[[object], T]) -> T:
        try:
            return read(cell)
        except ValueError as error:
            raise self.wrong(name, row, cell, str(error)) from error

    def wrong(self, name: str, row: int, got: object, allowed: str) -> DataError:
        where = f"{self.rows.unit} {self.rows.numbers[row]}"
        return DataError(f"`{name}` of task `{self.task}` at {where}", got=got, allowed=allowed)


@dataclass(frozen=True)
class QueryDocuments:
    """N documents, as read for an input schema."""

    texts: tuple[str, ...]
    seconds: tuple[str, ...] | None = None
    # words of each document, with their positions in its text; None if they are not read
    words: tuple[Words, ...] | None = None
    mentions: tuple[tuple[Span, ...], ...] | None = None
    split: int = 0  # texts that were split into words here

    @property
    def readable(self) -> NDArray[np.int64]:
        """Return the documents that can be read; those read word by word need at least one word."""
        if self.words is None:
            return np.arange(len(self.texts))
        return np.flatnonzero([len(words) for words in self.words])

    def corpus(self, tasks: Sequence[Task]) -> Corpus:
        """Return a corpus of the readable documents, at least one, with dummy targets."""
        rows = self.readable.tolist()
        count = len(rows)
        return Corpus(
            name="rows",
            tasks=tuple(tasks),
            ids=tuple(map(str, rows)),
            texts=tuple(self.texts[row] for row in rows),
            targets={task.name: TARGETS[task.kind].none(count) for task in tasks},
            seconds=rows_of(self.seconds, rows),
            words=None if self.words is None else tuple(tuple(self.words[row]) for row in rows),
            mentions=rows_of(self.mentions, rows),
        )


def read_documents(query: Query) -> QueryDocuments:
    """Read the rows for a task.

    Raises:
        DataError: a row lacks an input or has an invalid one; names task, column and row.
    """
    found = QueryDocuments(query.rows.texts)
    for name in query.schema.reads:
        found = READERS[name](query, found)
    return found


def _seconds(query: Query, found: QueryDocuments) -> QueryDocuments:
    then = f"give each text its second one: `--pair TEXT`, or a column `{SECOND}`"
    return replace(found, seconds=tuple(query.column(SECOND, second_of, then)))


def _words(query: Query, found: QueryDocuments) -> QueryDocuments:
    """Read the given words, or else split the text by the rule of the training documents."""
    cells = query.rows.more.get(WORDS)
    split = partial(split_words, rule=query.schema.rule or RUNS)
    if cells is None:
        return replace(found, words=tuple(map(split, found.texts)), split=len(found.texts))
    words, count = [], 0
    for row, (cell, text) in enumerate(zip(cells, found.texts, strict=True)):
        if is_missing(cell):
            words.append(split(text))
            count += 1
            continue
        given = query.read(WORDS, row, cell, words_of)
        placed = placed_words(given, text)
        if placed is None:
            raise query.wrong(WORDS, row, " ".join(given), "the words of the row's text, in its order")
        words.append(placed)
    return replace(found, words=tuple(words), texts=tuple(" ".join(each) for each in words), split=count)


def _mentions(query: Query, found: QueryDocuments) -> QueryDocuments:
    """Read the given entities, or else those already marked in the text."""
    how = INPUTS[query.schema.shown]
    cells = query.rows.more.get(MENTIONS, (None,) * len(found.texts))
    rows, texts = [], []
    for row, (cell, text) in enumerate(zip(cells, found.texts, strict=True)):
        if is_missing(cell):
            text, spans = how.read(text, query.schema.tokens)
            rank = {role: at for at, role in enumerate(query.schema.roles)}
            spans = tuple(sorted(spans, key=lambda span: rank.get(span.type, len(rank))))
        else:
            spans = query.read(MENTIONS, row, cell, mentions_of)
        rows.append(spans)
        texts.append(text)
    then = f"mark them with `--mentions '[[0, 7, \"ROLE\"], ...]'` or a column `{MENTIONS}`"
    if query.schema.tokens:
        then += ", or write the text with " + ", ".join(query.schema.tokens[:4])
    query.need(MENTIONS, [not spans for spans in rows], then)
    for row, spans in enumerate(rows):
        _check_mentions(query, row, spans, texts[row])
    return replace(found, texts=tuple(texts), mentions=tuple(rows))


def _check_mentions(query: Query, row: int, spans: Sequence[Span], text: str) -> None:
    schema = query.schema
    got = [list(span) for span in spans]
    if len(spans) > schema.mentions:
        raise query.wrong(MENTIONS, row, f"{len(spans)} entities", f"up to {schema.mentions}, as in training")
    if not all(0 <= span.start < span.end <= len(text) for span in spans):
        raise query.wrong(MENTIONS, row, got, f"places in its text of {len(text)} characters")
    named = [span for span in spans if span.type]
    if not all(span.type in schema.roles for span in named):
        raise query.wrong(MENTIONS, row, got, f"the roles {', '.join(schema.roles)}")
    try:
        INPUTS[schema.shown](text, spans)
    except DataError as error:
        raise query.wrong(MENTIONS, row, got, f"a role with each: {', '.join(schema.roles)}") from error


READERS: dict[str, Callable[[Query, QueryDocuments], QueryDocuments]] = {
    SECOND: _seconds,
    WORDS: _words,
    MENTIONS: _mentions,
}
"""Readers by column."""
