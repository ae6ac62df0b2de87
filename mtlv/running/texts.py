"""Texts to predict, from the command line or from a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mtlv.data.rows import FORMATS, also, read_table, read_text
from mtlv.errors import DataError

COLUMN = "text"


@dataclass(frozen=True)
class Texts:
    """Texts, and what tells one from another: the number of each, from 1, or its line in a file."""

    texts: tuple[str, ...]
    numbers: tuple[int, ...]
    unit: str = "text"

    def __len__(self) -> int:
        return len(self.texts)


def given(texts: Sequence[str]) -> Texts:
    """Texts as they are.

    Raises:
        DataError: one of them is empty.
    """
    return _checked(Texts(tuple(texts), tuple(range(1, len(texts) + 1))), "the texts given")


def from_file(path: Path, column: str | None = None) -> Texts:
    """A text per line of a `.txt` file (blank lines are left out), or a column of a table.

    Args:
        path: `.txt`, or a table of one of `FORMATS`.
        column: of the table; None means `text`.

    Raises:
        DataError: the file cannot be read, has no such column, holds no text, or an empty one.
    """
    if path.suffix.lower() == ".txt":
        if column is not None:
            raise DataError(f"`{path.name}` has no columns", got=f"--column {column}", then="leave it out")
        every = enumerate(read_text(path).split("\n"), 1)  # other signs that end lines may stand in a text
        lines = [(n, line.rstrip("\r")) for n, line in every if line.strip()]
        if not lines:
            raise DataError(f"`{path.name}` holds no text", then="write a text on each line")
        return Texts(tuple(line for _, line in lines), tuple(n for n, _ in lines), "line")
    if path.suffix.lower() not in FORMATS:
        known = ", ".join((".txt", *FORMATS))
        raise DataError(f"`{path}` is a file of an unknown kind", allowed=f"a file ending in {known}")
    table, name = read_table(path), column or COLUMN
    table.need([name], "--column")
    cells = tuple(row.get(name) for _, row in table.rows)
    numbers = tuple(number for number, _ in table.rows)
    wrong = [n for n, cell in zip(numbers, cells, strict=True) if not isinstance(cell, str)]
    if wrong:
        raise DataError(
            f"`{path.name}` has no text in column `{name}` at {table.unit} {wrong[0]}"
            + also(table.unit, wrong[1:]),
            then="give another `--column`, or mend the file",
        )
    return _checked(Texts(tuple(map(str, cells)), numbers, table.unit), f"`{path.name}`")


def _checked(found: Texts, where: str) -> Texts:
    empty = [number for number, text in zip(found.numbers, found.texts, strict=True) if not text.strip()]
    if empty:
        raise DataError(
            f"{where}: {found.unit} {empty[0]} is empty{also(found.unit, empty[1:])}",
            then="a model needs something to read",
        )
    return found
