"""Errors in the cells of a table, reported once per column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from mtlv.data.tables.cells import is_missing
from mtlv.data.tables.rows import Table, also
from mtlv.errors import DataError, shorten

Cells = Mapping[str, Any]
"""Cells of one row by column."""
Rows = Sequence[tuple[int, Cells]]
"""(line or row number from 1, cells) of N rows."""
Fault = Callable[[Cells], str]
"""Function from a row to the error in one of its cells; empty for a valid one."""


@dataclass(frozen=True)
class ColumnCheck:
    """A column that is read, with its check."""

    setting: str  # setting with the column's name
    column: str
    # function from a row to the error in its cell; empty for a valid one
    fault: Fault = lambda row: ""  # noqa: ARG005
    allowed: str = ""  # description of valid cells
    if_missing: str = "fill it, or leave the row out"  # next step for an empty cell
    # function from the filled cells that are invalid, if these are most, to the next step; empty for none
    if_most: Callable[[Sequence[Any]], str] = lambda cells: ""  # noqa: ARG005

    def or_empty(self) -> Self:
        """Return the same check, which accepts empty cells."""
        return replace(self, fault=lambda row: "" if is_missing(row.get(self.column)) else self.fault(row))

    def absence(self, table: Table) -> Iterator[DataError]:
        """Yield an error if the table does not have the column."""
        return table.missing([self.column], f"`data.columns.{self.setting}`")

    def bad_cells(self, table: Table, rows: Rows) -> Iterator[DataError]:
        """Yield an error with the first invalid cell, and the positions of the others."""
        if self.column not in table.columns:
            return
        bad = [(line, row.get(self.column), text) for line, row in rows if (text := self.fault(row))]
        if bad:
            wrong = [cell for _, cell, _ in bad if not is_missing(cell)]
            filled = sum(not is_missing(row.get(self.column)) for _, row in rows)
            step = self.if_most(wrong) if len(wrong) > filled / 2 else ""
            yield self.error(table, bad[0], [line for line, *_ in bad[1:]], step)

    def error(
        self, table: Table, first: tuple[int, Any, str], others: Sequence[int], step: str = ""
    ) -> DataError:
        """Return the error of the first invalid cell: line, value and fault; and the lines of the others."""
        line, value, text = first
        place = f"`{table.path.name}` {table.unit} {line}, column `{shorten(self.column)}`"
        step = step or (self.if_missing if is_missing(value) else "")
        then = (step + also(table.unit, others)).removeprefix("; ")
        return DataError(f"{place} {text}", got=repr(value), allowed=self.allowed, then=then)


def readable(column: str, read: Callable[[Any], object], fault: str) -> Fault:
    """Return a check for cells for which `read` raises a `ValueError`."""

    def find(row: Cells) -> str:
        try:
            read(row.get(column))
        except ValueError:
            return "is empty" if is_missing(row.get(column)) else fault
        return ""

    return find
