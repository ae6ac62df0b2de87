"""Texts that a user gives in Python, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mtlv.data.tables.cells import text_of_words
from mtlv.errors import DataError
from mtlv.serving.columns import input_columns
from mtlv.serving.inputs import OPTIONAL, WORDS
from mtlv.serving.texts import COLUMN, InputTexts

if TYPE_CHECKING:
    import pandas as pd


def as_frame(given: object, named: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Convert one text, a list, tuple, array or series of texts, or a table to a table with a column `text`.

    A list of mappings is also a table, with one row per mapping. A mapping has lists by column, or the cells
    of one row. `named` has the names of the inputs in training, by input, which a table may have instead.

    Raises:
        DataError: another input, or a data frame without a clear text column.
    """
    import pandas as pd

    if isinstance(given, str):
        return pd.DataFrame({COLUMN: pd.Series([given], dtype=object)})
    if isinstance(given, pd.DataFrame):
        return _inputs(given, named)
    if isinstance(given, Mapping):
        return _inputs(_table(given), named)
    if isinstance(given, np.ndarray) and given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if isinstance(given, pd.Series):
        return given.to_frame(COLUMN)
    if isinstance(given, (list, tuple)) or (isinstance(given, np.ndarray) and given.ndim == 1):
        rows = list(given)
        if rows and all(isinstance(row, dict) for row in rows):
            return _inputs(pd.DataFrame.from_records(rows), named)
        return pd.DataFrame({COLUMN: pd.Series(rows, dtype=object)})
    raise DataError(
        "the input",
        got=type(given).__name__,
        allowed="a text, a list of texts, or a table with a column of them",
    )


def as_texts(frame: pd.DataFrame) -> InputTexts:
    """Return the texts of a table of `as_frame`, with the other columns that tasks may read."""
    more = {name: tuple(frame[name].tolist()) for name in OPTIONAL if name in frame}
    texts, columns = tuple(frame[COLUMN].tolist()), tuple(map(str, frame.columns))
    return InputTexts(texts, tuple(range(len(frame))), "row", more, columns=columns)


def _table(given: Mapping[str, object]) -> pd.DataFrame:
    """Convert lists or arrays by column, or else the cells of one row.

    Raises:
        DataError: columns differ in length.
    """
    import pandas as pd

    listed = (list, tuple, np.ndarray, pd.Series)
    if not given or not all(isinstance(cells, listed) for cells in given.values()):
        return pd.DataFrame.from_records([given])
    lengths = {name: len(cells) for name, cells in given.items()}  # type: ignore[arg-type]
    if len(set(lengths.values())) > 1:
        raise DataError("the columns of the input differ in length", got=lengths)
    return pd.DataFrame({name: pd.Series(list(cells), dtype=object) for name, cells in given.items()})  # type: ignore[call-overload]


def _inputs(frame: pd.DataFrame, named: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Return the inputs that a table has, by their own names."""
    names = list(frame.columns)
    known = input_columns(names, named)
    if len(names) == 1 and not {COLUMN, WORDS} & known.keys():
        return frame.set_axis([COLUMN], axis=1)
    found = frame[list(known.values())].set_axis(list(known), axis=1)
    if COLUMN in known:
        return found
    if WORDS in known:
        return found.assign(**{COLUMN: [text_of_words(cell) for cell in found[WORDS]]})
    allowed = " or ".join(f"`{name}`" for name in (*named.get(COLUMN, ()), COLUMN))
    raise DataError(
        "it is not clear which column contains the texts",
        got=", ".join(map(str, names)) or "none",
        allowed=f"one column, or one named {allowed}",
    )
