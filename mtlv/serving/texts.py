"""Texts to predict, from the command line or from a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mtlv.data.tables.cells import text_of_words
from mtlv.data.tables.rows import FORMATS, also, read_table, read_text
from mtlv.errors import DataError
from mtlv.serving.inputs import OPTIONAL, TEXT, WORDS

COLUMN = TEXT


@dataclass(frozen=True)
class InputTexts:
    """Texts, and what tells one from another: the number of each, from 1, or its line in a file.

    Args:
        texts: N texts.
        numbers: of each.
        unit: what the numbers count.
        more: N cells of other columns, of `OPTIONAL`; they are read where a task asks for them.
    """

    texts: tuple[str, ...]
    numbers: tuple[int, ...]
    unit: str = "text"
    more: Mapping[str, tuple[object, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.texts)


def given(texts: Sequence[str], **more: Sequence[str] | None) -> InputTexts:
    """Texts as they are, each with what else is given of it, in the same order.

    Args:
        texts: N texts.
        more: N cells of columns of `OPTIONAL`; None where nothing is given.

    Raises:
        DataError: one of the texts is empty, or there are not as many cells as texts.
    """
    for name, cells in more.items():
        if cells is not None and len(cells) != len(texts):
            raise DataError(f"`{name}`", got=len(cells), allowed=f"one for each text ({len(texts)})")
    held = {name: tuple(cells) for name, cells in more.items() if cells is not None}
    return _checked(InputTexts(tuple(texts), tuple(range(1, len(texts) + 1)), more=held), "the texts given")


def from_file(path: Path, column: str | None = None) -> InputTexts:
    """A text per line of a `.txt` file (blank lines are left out), or a column of a table.

    A table's columns `text_pair`, `words` and `mentions` come along; of words alone, the text is those with a
    blank between.

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
        return InputTexts(tuple(line for _, line in lines), tuple(n for n, _ in lines), "line")
    if path.suffix.lower() not in FORMATS:
        known = ", ".join((".txt", *FORMATS))
        raise DataError(f"`{path}` is a file of an unknown kind", allowed=f"a file ending in {known}")
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
            then="give another `--column`, or mend the file",
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
