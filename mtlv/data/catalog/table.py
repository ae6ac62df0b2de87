"""A table of the user's own: CSV, TSV, JSONL or Parquet, with a text column and labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mtlv.data.parts import NAMES
from mtlv.data.rows import Table, also, read_json, read_table
from mtlv.data.source import PARTS, Card, Columns, Corpus, DataOptions, targets_of
from mtlv.errors import DataError, shorten
from mtlv.plan.task import Task

MOST_LABELS = 2000  # more are mostly another column, or another separator

CARD = Card(
    name="table",
    title="A table of your own (CSV, TSV, JSONL or Parquet)",
    address="your file, named by `data.path`",
    licence="yours",
    citation="none: the documents are yours",
)


def load(path: Path | None, options: DataOptions) -> Corpus:
    """All rows with text, as `options.columns` says.

    Raises:
        DataError: every fault at once: columns that are missing or not named, cells that are not text, not 0
            or 1 or no list of labels, an unknown part; or an id twice, or nothing to read.
    """
    assert path is not None
    table, columns = read_table(path), options.columns
    faults = list(_faults(table, columns))
    if faults:
        raise DataError.all_of(faults)
    rows = _with_text(table, columns)
    labels = _sets(rows, columns)
    names = columns.labels or tuple(sorted(set().union(*labels)))
    if len(names) > MOST_LABELS:
        raise DataError(
            f"`{table.path.name}` has too many labels in column `{columns.label_list}`",
            got=len(names),
            allowed=f"up to {MOST_LABELS}",
            then="check `data.columns.label_list` and `data.columns.separator`",
        )
    dropped = len(table.rows) - len(rows)
    return Corpus(
        name=CARD.name,
        tasks=tuple(Task(name, source=CARD.name, description=name) for name in names),
        ids=_ids(rows, columns),
        texts=tuple(row[columns.text].strip() for _, row in rows),
        targets=targets_of(labels, names),
        parts=_parts(rows, columns),
        notes=(f"{dropped} rows without text dropped",) if dropped else (),
    )


Rows = list[tuple[int, Any]]


def _with_text(table: Table, columns: Columns) -> Rows:
    """Rows whose document is not blank (cells that are no text are kept, to be complained about)."""
    return [
        (line, row)
        for line, row in table.rows
        if (value := row.get(columns.text)) is not None and (not isinstance(value, str) or value.strip())
    ]


def _faults(table: Table, columns: Columns) -> Iterator[DataError]:
    """All that is wrong with a table: per column, its first bad cell and where the others are."""
    yield from table.missing([columns.text], "data.columns.text")
    yield from table.missing([columns.id] if columns.id else [], "data.columns.id")
    yield from table.missing([columns.part] if columns.part else [], "data.columns.part")
    yield from table.missing(columns.labels or (), "data.columns.labels")
    yield from table.missing([columns.label_list] if columns.label_list else [], "data.columns.label_list")
    if (columns.labels is None) == (columns.label_list is None):
        yield DataError(
            "`data.columns` must say where the labels are",
            allowed="either `labels`, a list of 0/1 columns, or `label_list`, one column of label lists",
            then=f"`{table.path.name}` has the columns {shorten(', '.join(table.columns), 1000)}",
        )
    rows = _with_text(table, columns) if columns.text in table.columns else list(table.rows)
    if not rows:
        yield DataError(f"`{table.path.name}` has no document: column `{columns.text}` is empty throughout")
    for name, fault, allowed in _cell_checks(columns):
        if name in table.columns:
            yield from _bad_cells(table, rows, name, fault=fault, allowed=allowed)


Fault = Callable[[object], str]
"""What is wrong with a cell; empty for a good one."""


def _cell_checks(columns: Columns) -> Iterator[tuple[str, Fault, str]]:
    """(column, fault, what is allowed) of each column that is read."""
    yield columns.text, lambda value: "" if isinstance(value, str) else "is no text", "text"
    if columns.part is not None:
        yield columns.part, lambda value: "" if _part(value) else "is no part", ", ".join(PARTS)
    for name in columns.labels or ():
        yield name, lambda value: "is not 0 or 1" if _binary(value) is None else "", "0, 1"
    if columns.label_list is not None:
        lists = f'a JSON list such as ["a", "b"], or names joined by `{columns.separator}`'
        yield columns.label_list, lambda value: _listed(value, columns.separator)[1], lists


def _bad_cells(table: Table, rows: Rows, name: str, *, fault: Fault, allowed: str) -> Iterator[DataError]:
    bad = [(line, row.get(name), text) for line, row in rows if (text := fault(row.get(name)))]
    if bad:
        line, value, text = bad[0]
        place = f"`{table.path.name}` {table.unit} {line}, column `{shorten(name)}`"
        others = also(table.unit, [line for line, *_ in bad[1:]]).removeprefix("; ")
        yield DataError(f"{place} {text}", got=repr(value), allowed=allowed, then=others)


def _ids(rows: Rows, columns: Columns) -> tuple[str, ...]:
    if columns.id is None:
        return tuple(str(line) for line, _ in rows)
    return tuple(str(row.get(columns.id)) for _, row in rows)


def _part(value: object) -> str:
    return NAMES.get(str(value).strip().lower(), "")


def _parts(rows: Rows, columns: Columns) -> tuple[str, ...] | None:
    return None if columns.part is None else tuple(_part(row.get(columns.part)) for _, row in rows)


def _sets(rows: Rows, columns: Columns) -> list[set[str]]:
    """The label names of each row."""
    if columns.label_list is not None:
        return [_listed(row.get(columns.label_list), columns.separator)[0] for _, row in rows]
    return [{name for name in columns.labels or () if _binary(row.get(name))} for _, row in rows]


def _binary(value: object) -> bool | None:
    """0 or 1 as a number, a truth value or text; None for anything else."""
    if isinstance(value, str):
        return {"0": False, "1": True, "0.0": False, "1.0": True}.get(value.strip())
    return bool(value) if isinstance(value, int | float) and value in (0, 1) else None


def _listed(value: object, separator: str) -> tuple[set[str], str]:
    """Label names of one cell (a list, a JSON list, or names joined by the separator), and what is wrong."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = read_json(value)
        except ValueError as error:
            return set(), f"is no JSON list: {error}"
    if value is None:
        return set(), ""
    parts = value.split(separator) if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        return set(), "is no list of labels"
    return {part.strip() for part in parts if part.strip()}, ""
