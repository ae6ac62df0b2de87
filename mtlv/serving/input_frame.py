"""Texts that a user gives in Python, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mtlv.data.tables.cells import text_or_joined
from mtlv.errors import DataError
from mtlv.serving.columns import input_columns
from mtlv.serving.inputs import OPTIONAL, WORDS
from mtlv.serving.texts import COLUMN, InputTexts

if TYPE_CHECKING:
    import pandas as pd


def as_frame(data: object, named: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Convert one text, a list, tuple, array or series of texts, or a table to a table with a column `text`.

    A list of mappings is also a table, with one row per mapping. A mapping has lists by column, or the cells
    of one row. Lists of words instead of texts are a column `words`. `named` has the names of the inputs in
    training, by input, which a table may have instead.

    Raises:
        DataError: another input, or a data frame without a clear text column.
    """
    import pandas as pd

    data = _plain(data)
    if isinstance(data, str):
        return pd.DataFrame({COLUMN: pd.Series([data], dtype=object)})
    if isinstance(data, pd.DataFrame):
        return _inputs(data, named)
    if isinstance(data, Mapping):
        return _inputs(_table(data), named)
    if isinstance(data, pd.Series):
        return _as_column(data)
    if isinstance(data, (list, tuple)):
        rows = list(data)
        if rows and all(isinstance(row, dict) for row in rows):
            cells = [{name: _plain(cell) for name, cell in row.items()} for row in rows]
            return _inputs(pd.DataFrame.from_records(cells), named)
        return _as_column(pd.Series(rows, dtype=object))
    raise DataError(
        "the input",
        got=type(data).__name__,
        allowed="a text, a list of texts, or a table with a column of them",
    )


def as_texts(frame: pd.DataFrame) -> InputTexts:
    """Return the texts of a table of `as_frame`, with the other columns that tasks may read."""
    more = {name: tuple(frame[name].tolist()) for name in OPTIONAL if name in frame}
    texts, columns = tuple(frame[COLUMN].tolist()), tuple(map(str, frame.columns))
    return InputTexts(texts, tuple(range(len(frame))), "row", more, columns=columns)


def _plain(value: object) -> object:
    """Return what a NumPy array has; a service of MLflow makes one of each value, also of marked entities."""
    if not isinstance(value, np.ndarray):
        return value
    if value.ndim == 2 and value.shape[1] == 1:
        return value[:, 0].tolist()
    if value.ndim == 2 and value.dtype.kind == "U":
        numbers = [[int(cell) if cell.isdecimal() else cell for cell in row[:2]] for row in value.tolist()]
        return [[*row, *others] for row, others in zip(numbers, value[:, 2:].tolist(), strict=True)]
    return value.tolist()


def _table(data: Mapping[str, object]) -> pd.DataFrame:
    """Convert lists or arrays by column, or else the cells of one row.

    Raises:
        DataError: columns differ in length.
    """
    import pandas as pd

    columns = {name: _plain(cells) for name, cells in data.items()}
    lists = {
        name: list(cells) for name, cells in columns.items() if isinstance(cells, (list, tuple, pd.Series))
    }
    if not lists or len(lists) < len(columns):
        return pd.DataFrame.from_records([columns])
    lengths = {name: len(cells) for name, cells in lists.items()}
    if len(set(lengths.values())) > 1:
        raise DataError("the columns of the input differ in length", got=lengths)
    return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in lists.items()})


def _as_column(texts: pd.Series) -> pd.DataFrame:
    if not len(texts) or not all(isinstance(text, (list, tuple)) for text in texts):
        return texts.to_frame(COLUMN)
    return texts.to_frame(WORDS).assign(**{COLUMN: [text_or_joined(words) for words in texts]})


def _inputs(frame: pd.DataFrame, named: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Return the inputs that a table has, by their own names."""
    names = list(map(str, frame.columns))
    frame = frame.set_axis(names, axis=1)
    known = input_columns(names, named)
    if len(names) == 1 and not {COLUMN, WORDS} & known.keys():
        return frame.set_axis([COLUMN], axis=1)
    inputs = frame[list(known.values())].set_axis(list(known), axis=1)
    if COLUMN in known:
        return inputs
    if WORDS in known:
        return inputs.assign(**{COLUMN: [text_or_joined(cell) for cell in inputs[WORDS]]})
    allowed = " or ".join(f"`{name}`" for name in (*named.get(COLUMN, ()), COLUMN))
    raise DataError(
        "it is not clear which column contains the texts",
        got=", ".join(map(str, names)) or "none",
        allowed=f"one column, or one named {allowed}",
    )
