"""Texts to predict, from the command line or from a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mtlv.data.tables.cells import text_of_words
from mtlv.data.tables.rows import also, read_table, read_text
from mtlv.errors import DataError
from mtlv.serving.inputs import OPTIONAL, TEXT, WORDS

COLUMN = TEXT


@dataclass(frozen=True)
class InputTexts:
    """Texts with their numbers: from 1, or line numbers of a file."""

    texts: tuple[str, ...]
    numbers: tuple[int, ...]
    unit: str = "text"
    # N cells of other columns of `OPTIONAL`, used by tasks that need them
    more: Mapping[str, tuple[object, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.texts)


def given(texts: Sequence[str], **more: Sequence[str] | None) -> InputTexts:
    """Return N texts, each with its cells of the columns of `OPTIONAL` that are given.

    Raises:
        DataError: a text is empty, or the numbers of cells and texts differ.
    """
    for name, cells in more.items():
        if cells is not None and len(cells) != len(texts):
            raise DataError(f"`{name}`", got=len(cells), allowed=f"one for each text ({len(texts)})")
    held = {name: tuple(cells) for name, cells in more.items() if cells is not None}
    return _checked(InputTexts(tuple(texts), tuple(range(1, len(texts) + 1)), more=held), "the texts given")


def from_file(path: Path, column: str | None = None) -> InputTexts:
    """Read a text per line of a `.txt` file (blank lines are skipped), or a column of a table.

    A table's columns `text_pair`, `words` and `mentions` are also read; with only words, the text is the
    words joined by spaces.

    Args:
        path: `.txt`, or a table that `read_table` reads.
        column: text column of the table; None means `text`.

    Raises:
        DataError: the file cannot be read, has no such column, no text, or an empty text.
    """
    if path.suffix.lower() == ".txt":
        if column is not None:
            raise DataError(f"`{path.name}` has no columns", got=f"--column {column}", then="leave it out")
        every = enumerate(read_text(path).split("\n"), 1)  # other line separators may occur in a text
        lines = [(n, line.rstrip("\r")) for n, line in every if line.strip()]
        if not lines:
            raise DataError(f"`{path.name}` contains no text", then="write one text per line")
        return InputTexts(tuple(line for _, line in lines), tuple(n for n, _ in lines), "line")
    table, name = read_table(path), column or COLUMN
    if column is None and name not in table.columns and WORDS in table.columns:
        name = WORDS
    table.need([name], "--column")
    columns = {key: tuple(row.get(key) for _, row in table.rows) for key in (name, *OPTIONAL)}
    numbers = tuple(number for number, _ in table.rows)
    cells = columns[name] if name != WORDS else tuple(map(text_of_words, columns[WORDS]))
    wrong = [n for n, cell in zip(numbers, cells, strict=True) if not isinstance(cell, str)]
    if wrong:
        raise DataError(
            f"`{path.name}` has no text in column `{name}` at {table.unit} {wrong[0]}"
            + also(table.unit, wrong[1:]),
            then="give another `--column`, or correct the file",
        )
    more = {key: columns[key] for key in OPTIONAL if key in table.columns and key != column}
    return _checked(InputTexts(tuple(map(str, cells)), numbers, table.unit, more), f"`{path.name}`")


def _checked(found: InputTexts, where: str) -> InputTexts:
    empty = [number for number, text in zip(found.numbers, found.texts, strict=True) if not text.strip()]
    if empty:
        raise DataError(
            f"{where}: {found.unit} {empty[0]} is empty{also(found.unit, empty[1:])}",
            then="a model needs something to read",
        )
    return found
