"""A table of the user's own: CSV, TSV, JSONL or Parquet, with a text column and labels."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mtlv.data.rows import Table, read_table
from mtlv.data.source import PARTS, Card, Columns, Corpus, DataOptions, targets_of
from mtlv.errors import DataError
from mtlv.plan.task import Task

CARD = Card(
    name="table",
    title="A table of your own (CSV, TSV, JSONL or Parquet)",
    address="your file, named by `data.path`",
    licence="yours",
    citation="none: the documents are yours",
)

_PART_NAMES = {
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


def load(path: Path | None, options: DataOptions) -> Corpus:
    """All rows with text, as `options.columns` says.

    Raises:
        DataError: columns that are missing or not named, cells that are not 0 or 1, an unknown part, an id
            twice, or nothing to read.
    """
    assert path is not None
    table, columns = read_table(path), options.columns
    table.need([columns.text], "data.columns.text")
    table.need([x for x in (columns.id, columns.part) if x], "data.columns")
    rows = [(line, row) for line, row in table.rows if _text(table, line, row, columns)]
    if not rows:
        raise DataError(f"`{path.name}` has no document: column `{columns.text}` is empty throughout")
    labels = _sets(table, rows, columns)
    names = columns.labels or tuple(sorted(set().union(*labels)))
    dropped = len(table.rows) - len(rows)
    return Corpus(
        name=CARD.name,
        tasks=tuple(Task(name, source=CARD.name, description=name) for name in names),
        ids=_ids(rows, columns),
        texts=tuple(_text(table, line, row, columns) for line, row in rows),
        targets=targets_of(labels, names),
        parts=_parts(table, rows, columns),
        notes=(f"{dropped} rows without text dropped",) if dropped else (),
    )


Rows = list[tuple[int, Any]]


def _text(table: Table, line: int, row: Any, columns: Columns) -> str:
    value = row.get(columns.text)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise DataError(f"{_place(table, line, columns.text)} is no text", got=value)
    return value.strip()


def _ids(rows: Rows, columns: Columns) -> tuple[str, ...]:
    if columns.id is None:
        return tuple(str(line) for line, _ in rows)
    return tuple(str(row.get(columns.id)) for _, row in rows)


def _parts(table: Table, rows: Rows, columns: Columns) -> tuple[str, ...] | None:
    if columns.part is None:
        return None
    parts = []
    for line, row in rows:
        value = str(row.get(columns.part)).strip().lower()
        if value not in _PART_NAMES:
            place = _place(table, line, columns.part)
            raise DataError(f"{place} is no part", got=row.get(columns.part), allowed=", ".join(PARTS))
        parts.append(_PART_NAMES[value])
    return tuple(parts)


def _sets(table: Table, rows: Rows, columns: Columns) -> list[set[str]]:
    """The label names of each row."""
    if (columns.labels is None) == (columns.label_list is None):
        raise DataError(
            "`data.columns` must say where the labels are",
            allowed="either `labels`, a list of 0/1 columns, or `label_list`, one column of label lists",
            then=f"`{table.path.name}` has the columns {', '.join(table.columns)}",
        )
    if columns.label_list is not None:
        table.need([columns.label_list], "data.columns.label_list")
        return [_listed(table, line, row.get(columns.label_list), columns) for line, row in rows]
    names = columns.labels or ()
    table.need(names, "data.columns.labels")
    bad = list(_bad_cells(rows, names))
    if bad:
        line, name, value = bad[0]
        others = f"{len(bad) - 1} more such cells" if len(bad) > 1 else ""
        place = _place(table, line, name)
        raise DataError(f"{place} is not 0 or 1", got=repr(value), allowed="0, 1", then=others)
    return [{name for name in names if _binary(row.get(name))} for _, row in rows]


def _bad_cells(rows: Rows, names: tuple[str, ...]) -> Iterator[tuple[int, str, object]]:
    for line, row in rows:
        for name in names:
            if _binary(row.get(name)) is None:
                yield line, name, row.get(name)


def _binary(value: object) -> bool | None:
    """0 or 1 as a number, a truth value or text; None for anything else."""
    if isinstance(value, str):
        return {"0": False, "1": True, "0.0": False, "1.0": True}.get(value.strip())
    return bool(value) if isinstance(value, int | float) and value in (0, 1) else None


def _listed(table: Table, line: int, value: object, columns: Columns) -> set[str]:
    """Label names of one cell: a list, a JSON list, or names joined by the separator."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except ValueError as error:
            place = _place(table, line, columns.label_list)
            raise DataError(f"{place} is no JSON list", got=value, then=str(error)) from error
    if value is None:
        return set()
    parts = value.split(columns.separator) if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        place = _place(table, line, columns.label_list)
        raise DataError(
            f"{place} is no list of labels",
            got=value,
            allowed=f'a JSON list such as ["a", "b"], or names joined by `{columns.separator}`',
        )
    return {part.strip() for part in parts if part.strip()}


def _place(table: Table, line: int, column: str | None) -> str:
    return f"`{table.path.name}` {table.unit} {line}, column `{column}`"
