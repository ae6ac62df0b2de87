"""Texts to predict, from the command line or from a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mtlv.data.conll import read_words
from mtlv.data.tables.cells import text_of_words
from mtlv.data.tables.rows import Table, also
from mtlv.errors import DataError
from mtlv.serving.columns import input_columns, training_names
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


def from_table(table: Table, column: str | None, named: Mapping[str, Sequence[str]]) -> InputTexts:
    """Return the texts of a table, with the other columns that tasks may read.

    With only words, the text is the words joined by spaces.

    Args:
        table: N documents.
        column: its text column; None means the one named as in training, or `text`.
        named: names of the inputs in training, by input.

    Raises:
        DataError: there is no such column, or a text is missing or empty.
    """
    known = input_columns(table.columns, named)
    several = training_names(table.columns, named, TEXT)
    if column is None and len(several) > 1:
        raise DataError(
            f"several columns of `{table.path.name}` had the texts in training",
            got=", ".join(several),
            then="name one with `--column`",
        )
    usual = known.get(TEXT) or known.get(WORDS) or named.get(TEXT, [TEXT])[0]
    name = usual if column is None else column
    told = "as in training; `--column` names another" if column is None and TEXT in named else "--column"
    table.need([name], told)
    cells = table.column(name)
    if name == known.get(WORDS):
        cells = tuple(map(text_of_words, cells))
    numbers = tuple(number for number, _ in table.rows)
    wrong = [n for n, cell in zip(numbers, cells, strict=True) if not isinstance(cell, str)]
    if wrong:
        raise DataError(
            f"`{table.path.name}` has no text in column `{name}` at {table.unit} {wrong[0]}"
            + also(table.unit, wrong[1:]),
            then="give another `--column`, or correct the file",
        )
    rest = {key: known[key] for key in OPTIONAL if key in known and (key == WORDS or known[key] != column)}
    more = {key: table.column(each) for key, each in rest.items()}
    return _checked(InputTexts(tuple(map(str, cells)), numbers, table.unit, more), f"`{table.path.name}`")


def from_sentences(file: Path) -> InputTexts:
    """Return the words of each sentence of a CoNLL file, whose tags are not read.

    Raises:
        DataError: as for `read_words`.
    """
    words = tuple(read_words(file))
    texts = tuple(map(" ".join, words))
    return InputTexts(texts, tuple(range(1, len(words) + 1)), "sentence", {WORDS: words})


def _checked(found: InputTexts, where: str) -> InputTexts:
    empty = [number for number, text in zip(found.numbers, found.texts, strict=True) if not text.strip()]
    if empty:
        raise DataError(
            f"{where}: {found.unit} {empty[0]} is empty{also(found.unit, empty[1:])}",
            then="a model needs something to read",
        )
    return found
