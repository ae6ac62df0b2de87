"""What is wrong with the cells of a table, said once for each column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mtlv.data.tables.cells import is_missing
from mtlv.data.tables.rows import Table, also
from mtlv.errors import DataError, shorten

Cells = Mapping[str, Any]
"""Column -> cell, of one row."""
Rows = Sequence[tuple[int, Cells]]
"""(line or row number from 1, its cells) of N rows."""
Fault = Callable[[Cells], str]
"""Given a row, what is wrong with one of its cells; empty for a good one."""


@dataclass(frozen=True)
class ColumnCheck:
    """A column that is read.

    Args:
        setting: the key that names it.
        column: its name.
        fault: given a row, what is wrong with its cell; empty for a good one.
        allowed: what a cell may hold.
    """

    setting: str
    column: str
    fault: Fault = lambda row: ""  # noqa: ARG005
    allowed: str = ""

    def absence(self, table: Table) -> Iterator[DataError]:
        """What to say where the table has no such column."""
        return table.missing([self.column], f"data.columns.{self.setting}")

    def bad_cells(self, table: Table, rows: Rows) -> Iterator[DataError]:
        """The first bad cell, and where the others are."""
        if self.column not in table.columns:
            return
        bad = [(line, row.get(self.column), text) for line, row in rows if (text := self.fault(row))]
        if bad:
            line, value, text = bad[0]
            place = f"`{table.path.name}` {table.unit} {line}, column `{shorten(self.column)}`"
            others = also(table.unit, [line for line, *_ in bad[1:]]).removeprefix("; ")
            yield DataError(f"{place} {text}", got=repr(value), allowed=self.allowed, then=others)


def readable(column: str, read: Callable[[Any], object], fault: str) -> Fault:
    """The fault of a cell that `read` refuses by a `ValueError`."""

    def find(row: Cells) -> str:
        try:
            read(row.get(column))
        except ValueError:
            return "is empty" if is_missing(row.get(column)) else fault
        return ""

    return find
