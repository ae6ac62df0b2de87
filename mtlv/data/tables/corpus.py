"""A corpus from tables: rows are documents, and settings describe the columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from itertools import chain
from typing import Any

from mtlv.data.options import Columns
from mtlv.data.parts import part_of, title_of
from mtlv.data.source import PARTS, Corpus
from mtlv.data.tables.bad_cells import Cells, ColumnCheck, readable
from mtlv.data.tables.cells import (
    are_words,
    is_missing,
    is_text,
    list_of,
    mentions_of,
    plain_value,
    text_or_joined,
)
from mtlv.data.tables.readers import KINDS, TableKind
from mtlv.data.tables.rows import Table
from mtlv.data.words import WHITESPACE
from mtlv.errors import DataError, shorten
from mtlv.formatting import list_first, many

EVERY_KIND = ("text", "id", "part", "group", "kind", "names", "encoding")
"""Keys of `data.columns` that all kinds support."""


def table_corpus(name: str, tables: Mapping[str, Table], columns: Columns, *notes: str) -> Corpus:
    """Build the corpus of one table ("", whose rows may have a part), or of a table for each part.

    Raises:
        DataError: all errors at once: missing or unused settings, missing columns, invalid cells; or errors
            of the kind and of `Corpus`.
    """
    kind = KINDS[columns.kind]
    faults = [*settings_faults(kind, columns, tables)]
    if not faults:
        faults = [fault for table in tables.values() for fault in _faults(table, columns, kind)]
    if faults:
        raise DataError.all_of(faults)
    ids, parts, rows = zip(*_documents(tables, columns), strict=True)
    notes = (*(note for table in tables.values() for note in table.notes), *notes)
    dropped = sum(len(table.rows) for table in tables.values()) - len(rows)
    tasks, targets = kind.learned(rows, columns, name)
    words = None
    if kind.by_word:
        words = tuple(tuple(list_of(row.get(_text_column(columns)))) for row in rows)
    if dropped:
        notes = (*notes, f"{many(dropped, 'row')} without text dropped")
    corpus = Corpus(
        name=name,
        tasks=tasks,
        ids=ids,
        texts=tuple(" ".join(row) for row in words) if words else _texts(rows, columns),
        targets=targets,
        parts=parts if any(parts) else None,
        seconds=_column(rows, columns.text_pair, lambda cell: cell.strip()),
        words=words,
        rule=_rule(rows, columns) if kind.by_word else "",
        prose=_prose(rows, columns) if kind.by_word else None,
        mentions=_column(rows, columns.mentions, mentions_of),
        groups=_column(rows, columns.group, str),
        subgroups={name: [plain_value(row.get(name)) for row in rows] for name in columns.subgroups or ()},
        notes=tuple(filter(None, notes)),
    )
    note = _missing_note(corpus)
    return replace(corpus, notes=(*corpus.notes, note)) if note else corpus


def _missing_note(corpus: Corpus) -> str:
    """Say how many labels are missing, of all tasks and of each; empty if all are there."""
    counts = {name: int((~corpus.known(name)).sum()) for name in corpus.names}
    missing, cells = sum(counts.values()), len(corpus) * len(corpus.names)
    of_each = list_first([f"`{name}` {count:,}" for name, count in counts.items() if count])
    of_tasks = f": {of_each}" if len(counts) > 1 else ""
    sentence = f"{missing:,} of {cells:,} labels are missing, and neither learned nor tested{of_tasks}"
    return sentence if missing else ""


def columns_of(columns: Columns) -> tuple[str, ...]:
    """Return the columns that are read, whether they exist or not."""
    keys = ("text", "text_pair", "words", "mentions", "id", "part", "group", "label_list", "target", "tags")
    named = (getattr(columns, key) for key in keys)
    several = (columns.labels or (), columns.subgroups or ())
    return (*(name for name in named if name is not None), *chain.from_iterable(several))


def _documents(tables: Mapping[str, Table], columns: Columns) -> Iterator[tuple[str, str, Cells]]:
    """Yield id, part and cells of each row with text."""
    for part, table in tables.items():
        start = f"{title_of(table.path)}." if len(tables) > 1 else ""
        for line, row in _with_text(table, columns):
            id_ = f"{start}{line}" if columns.id is None else str(row.get(columns.id))
            part_of_row = part if columns.part is None else part_of(row.get(columns.part))
            yield id_, part_of_row, row


def _text_column(columns: Columns) -> str:
    return columns.words or columns.text


def _with_text(table: Table, columns: Columns) -> list[tuple[int, Cells]]:
    """Return the rows whose document is not blank; cells that are not text are kept, to report them."""
    column = _text_column(columns)
    return [(line, row) for line, row in table.rows if not is_blank(row.get(column))]


def is_blank(cell: object) -> bool:
    """Whether there is no text, so that the row is no document."""
    return cell is None or (isinstance(cell, str | list) and is_missing(cell))


def _texts(rows: Sequence[Cells], columns: Columns) -> tuple[str, ...]:
    """Return the texts, stripped unless positions in them are used; words are joined by spaces."""
    texts = (row[columns.text] for row in rows)
    if columns.mentions is not None:
        return tuple(texts)
    return tuple(str(text_or_joined(text)).strip() for text in texts)


def _rule(rows: Sequence[Cells], columns: Columns) -> str:
    """Return how the words were made: texts are split at white space, lists of words were given."""
    cells = (row.get(_text_column(columns)) for row in rows)
    is_split = columns.words is None and all(isinstance(cell, str) and not are_words(cell) for cell in cells)
    return WHITESPACE if is_split else ""


def _prose(rows: Sequence[Cells], columns: Columns) -> tuple[str, ...] | None:
    """Return the texts of given words, if the table has them as well."""
    texts = [row.get(columns.text) for row in rows]
    is_known = columns.words is not None and all(isinstance(text, str) for text in texts)
    return tuple(map(str, texts)) if is_known else None


def _column(rows: Sequence[Cells], name: str | None, read: Any) -> tuple[Any, ...] | None:
    return None if name is None else tuple(read(row.get(name)) for row in rows)


# ---- Faults ----------------------------------------------------------------------------------------------


def settings_faults(kind: TableKind, columns: Columns, tables: Mapping[str, Table]) -> Iterator[DataError]:
    """Yield the errors in `data.columns`, given the columns of the tables."""
    first = next(iter(tables.values()))
    names = shorten(", ".join(first.columns), 1000)
    yield from kind.problems(columns, f"`{first.path.name}` has the columns {names}")
    read = (*EVERY_KIND, *kind.text_keys, *kind.reads)
    for field in fields(columns):
        if field.name not in read and getattr(columns, field.name) != field.default:
            yield DataError(
                f"`data.columns.{field.name}` is set, but `kind: {columns.kind}` does not use it",
                allowed=", ".join(read),
                then="set another kind, or remove it",
            )
    if columns.missing_labels == "no" and columns.labels is None:
        yield DataError("`data.columns.missing_labels: no` is for columns of `labels`", then="set `unknown`")
    if columns.part is not None and "" not in tables:
        yield DataError("`data.columns.part` is set, but there is a file for each part", then="remove it")


def _faults(table: Table, columns: Columns, kind: TableKind) -> Iterator[DataError]:
    """Yield all errors of a table: per column, its first invalid cell and the positions of the others."""
    of_targets = [*kind.checks(columns)]
    if columns.missing_labels != "error":
        of_targets = [replace(check, can_be_empty=True) for check in of_targets]
    checks = [*document_checks(columns, kind), *of_targets]
    for check in checks:
        yield from check.absence(table)
    known = _text_column(columns) in table.columns
    rows: Sequence[tuple[int, Cells]] = _with_text(table, columns) if known else table.rows
    if not rows:
        yield no_documents(table, _text_column(columns))
    for check in checks:
        yield from check.bad_cells(table, rows)


def no_documents(table: Table, column: str) -> DataError:
    """Return the error of a table whose column of texts is empty."""
    return DataError(f"`{table.path.name}` has no documents: column `{shorten(column)}` is empty in all rows")


def document_checks(columns: Columns, kind: TableKind) -> Iterator[ColumnCheck]:
    """Yield the checks of the columns that define a document."""
    can_be_words = columns.mentions is None and not kind.streamed
    if kind.by_word:
        name, setting = _text_column(columns), "text" if columns.words is None else "words"
        allowed = 'words separated by spaces, or a JSON list: ["The", "heart"]'
        yield ColumnCheck(setting, name, readable(list_of, "is not a list of words"), allowed)
    else:
        fault = partial(_text_fault, can_be_words=can_be_words)
        yield ColumnCheck("text", columns.text, fault, "text")
    if columns.text_pair is not None:
        yield ColumnCheck("text_pair", columns.text_pair, _text_fault, "text")
    if columns.mentions is not None:
        allowed = 'first character, the one after the last, role: [[0, 7, "DRUG"], [12, 19, "DRUG"]]'
        yield ColumnCheck("mentions", columns.mentions, _mentions_fault, allowed, beside=(columns.text,))
    if columns.id is not None:
        yield ColumnCheck("id", columns.id)
    yield from (ColumnCheck("subgroups", name) for name in columns.subgroups or ())
    if columns.group is not None:
        yield ColumnCheck(
            "group", columns.group, lambda cell: "is empty" if is_missing(cell) else "", "a name or number"
        )
    if columns.part is not None:
        yield ColumnCheck(
            "part", columns.part, lambda cell: "" if part_of(cell) else "is not a part", ", ".join(PARTS)
        )


def _text_fault(cell: object, *, can_be_words: bool = False) -> str:
    text = text_or_joined(cell) if can_be_words else cell
    return "is empty" if is_blank(text) else "" if is_text(text) else "is not text"


def _mentions_fault(cell: object, text: object) -> str:
    if is_missing(cell):
        return "is empty"
    try:
        spans = mentions_of(cell)
    except ValueError:
        return "has no marked entities"
    if not isinstance(text, str) or all(0 <= span.start < span.end <= len(text) for span in spans):
        return ""
    return f"has an entity outside its text of {len(text)} characters"
