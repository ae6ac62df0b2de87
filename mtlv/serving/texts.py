"""Texts to predict, from the command line or from a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mtlv.data.conll import read_words
from mtlv.data.tables.cells import is_missing, text_or_joined
from mtlv.data.tables.rows import Table
from mtlv.errors import DataError
from mtlv.serving.columns import ID, input_columns, training_names
from mtlv.serving.inputs import MENTIONS, OPTIONAL, TEXT, WORDS

COLUMN = TEXT


@dataclass(frozen=True)
class InputTexts:
    """Texts with their numbers: from 1, or line numbers of a file."""

    texts: tuple[Any, ...]  # None where there is none
    numbers: tuple[int, ...]
    unit: str = "text"
    # N cells of other columns of `OPTIONAL`, used by tasks that need them
    more: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    ids: Mapping[str, tuple[object, ...]] = field(default_factory=dict)  # N ids of a file, by its column
    columns: tuple[str, ...] = ()  # all columns of the file

    def __len__(self) -> int:
        return len(self.texts)


def from_arguments(texts: Sequence[str], **more: Sequence[str] | None) -> InputTexts:
    """Return N texts, each with its cells of the columns of `OPTIONAL` that are given.

    Raises:
        DataError: all texts are empty, or the numbers of cells and texts differ.
    """
    for name, cells in more.items():
        if cells is not None and len(cells) != len(texts):
            raise DataError(f"`{name}`", got=len(cells), allowed=f"one for each text ({len(texts)})")
    columns = {name: tuple(cells) for name, cells in more.items() if cells is not None}
    return _need_text(
        InputTexts(tuple(texts), tuple(range(1, len(texts) + 1)), more=columns), "the texts given", "give one"
    )


def from_table(table: Table, column: str | None, named: Mapping[str, Sequence[str]]) -> InputTexts:
    """Return the texts of a table, with its ids and the other columns that tasks may read.

    With only words, the text is the words joined by spaces. The ids are in the column that had them in
    training, or in `id`.

    Args:
        table: N documents.
        column: its text column; None means the one named as in training, or `text`.
        named: names of the inputs in training, by input.

    Raises:
        DataError: there is no such column, or it is empty.
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
    hint = "as in training; `--column` names another" if column is None and TEXT in named else "--column"
    table.need([name], hint)
    cells = table.column(name)
    if MENTIONS not in known:
        cells = tuple(map(text_or_joined, cells))
    numbers = tuple(number for number, _ in table.rows)
    rest = {key: known[key] for key in OPTIONAL if key in known and (key == WORDS or known[key] != column)}
    more = {key: table.column(other) for key, other in rest.items()}
    ids = [other for other in (*named.get(ID, ()), ID) if other in table.columns and other != name][:1]
    texts = tuple(None if is_missing(cell) else cell for cell in cells)
    by_column = {other: table.column(other) for other in ids}
    inputs = InputTexts(texts, numbers, table.unit, more, by_column, table.columns)
    return _need_text(inputs, f"column `{name}` of `{table.path.name}`", "name another with `--column`")


def from_sentences(file: Path) -> InputTexts:
    """Return the words of each sentence of a CoNLL file, whose tags are not read.

    Raises:
        DataError: as for `read_words`.
    """
    words = tuple(read_words(file))
    texts = tuple(map(" ".join, words))
    return InputTexts(texts, tuple(range(1, len(words) + 1)), "sentence", {WORDS: words})


def _need_text(inputs: InputTexts, where: str, then: str) -> InputTexts:
    if all(map(is_missing, inputs.texts)):
        raise DataError(f"{where}: there is no text", then=then)
    return inputs
