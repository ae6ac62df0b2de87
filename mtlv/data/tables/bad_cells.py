"""Errors in the cells of a table, reported once per column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mtlv.data.tables.cells import is_missing
from mtlv.data.tables.delimited import also
from mtlv.data.tables.rows import Table
from mtlv.errors import DataError, shorten

Cells = Mapping[str, Any]
"""Cells of one row by column."""
Rows = Sequence[tuple[int, Cells]]
"""(line or row number from 1, cells) of N rows."""
Fault = Callable[..., str]
"""Function from a cell (and cells beside it) to its error; empty for a valid one."""


@dataclass(frozen=True)
class ColumnCheck:
    """A column that is read, with its check."""

    setting: str  # setting with the column's name
    column: str
    fault: Fault = lambda cell: ""  # noqa: ARG005
    allowed: str = ""  # description of valid cells
    if_missing: str = "fill it, or leave the row out"  # next step for an empty cell
    # function from the filled cells that are invalid, if these are most, to the next step; empty for none
    if_most: Callable[[Sequence[Any]], str] = lambda cells: ""  # noqa: ARG005
    beside: tuple[str, ...] = ()  # columns whose cells `fault` takes, too
    can_be_empty: bool = False  # whether empty cells are valid

    def fault_in(self, row: Cells) -> str:
        """Return the error in the cell of a row; empty for a valid one."""
        if self.can_be_empty and is_missing(row.get(self.column)):
            return ""
        return self.fault(*(row.get(name) for name in (self.column, *self.beside)))

    def absence(self, table: Table) -> Iterator[DataError]:
        """Yield an error if the table does not have the column."""
        return table.missing([self.column], f"`data.columns.{self.setting}`")

    def bad_cells(self, table: Table, rows: Rows) -> Iterator[DataError]:
        """Yield an error with the first empty cell, if it must not be, and with the first other invalid one.

        Each has the positions of the others.
        """
        if self.column not in table.columns:
            return
        bad = [(line, row.get(self.column), text) for line, row in rows if (text := self.fault_in(row))]
        empty, wrong = [x for x in bad if is_missing(x[1])], [x for x in bad if not is_missing(x[1])]
        filled = sum(not is_missing(row.get(self.column)) for _, row in rows)
        step = self.if_most([cell for _, cell, _ in wrong]) if len(wrong) > filled / 2 else ""
        for cells, then in ((empty, ""), (wrong, step)):
            if cells:
                yield self.error(table, cells[0], [line for line, *_ in cells[1:]], then)

    def error(
        self, table: Table, first: tuple[int, Any, str], others: Sequence[int], step: str = ""
    ) -> DataError:
        """Return the error of the first invalid cell: line, value and fault; and the lines of the others."""
        line, value, text = first
        place = f"`{table.path.name}` {table.unit} {line}, column `{shorten(self.column)}`"
        step = step or (self.if_missing if is_missing(value) else "")
        then = (step + also(table.unit, others)).removeprefix("; ")
        return DataError(f"{place} {text}", got=repr(value), allowed=self.allowed, then=then)


def readable(read: Callable[[Any], object], fault: str) -> Fault:
    """Return a check for cells for which `read` raises a `ValueError`."""

    def find(cell: object) -> str:
        try:
            read(cell)
        except ValueError:
            return "is empty" if is_missing(cell) else fault
        return ""

    return find
