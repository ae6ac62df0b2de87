"""Texts that a user gives in Python, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mtlv.data.tables.cells import text_of_words
from mtlv.errors import DataError
from mtlv.serving.inputs import OPTIONAL, WORDS
from mtlv.serving.texts import COLUMN, InputTexts

if TYPE_CHECKING:
    import pandas as pd


def as_frame(given: object) -> pd.DataFrame:
    """Convert one text, a list, tuple, array or series of texts, or a table to a table with a column `text`.

    A list of mappings is also a table, with one row per mapping.

    Raises:
        DataError: another input, or a data frame without a clear text column.
    """
    import pandas as pd

    if isinstance(given, str):
        return pd.DataFrame({COLUMN: pd.Series([given], dtype=object)})
    if isinstance(given, pd.DataFrame):
        return _named(given)
    if isinstance(given, pd.Series):
        return given.to_frame(COLUMN)
    if isinstance(given, (list, tuple)) or (isinstance(given, np.ndarray) and given.ndim == 1):
        rows = list(given)
        if rows and all(isinstance(row, dict) for row in rows):
            return _named(pd.DataFrame.from_records(rows))
        return pd.DataFrame({COLUMN: pd.Series(rows, dtype=object)})
    raise DataError(
        "the input",
        got=type(given).__name__,
        allowed="a text, a list of texts, or a table with a column of them",
    )


def as_texts(frame: pd.DataFrame) -> InputTexts:
    """Return the texts of a table of `as_frame`, with the other columns that tasks may read."""
    names = list(frame.columns)
    more = {name: tuple(frame[name].tolist()) for name in OPTIONAL if names.count(name) == 1}
    return InputTexts(tuple(frame[COLUMN].tolist()), tuple(range(len(frame))), "row", more)


def _named(frame: pd.DataFrame) -> pd.DataFrame:
    names = list(frame.columns)
    if names.count(COLUMN) == 1:
        return frame
    if names.count(COLUMN) == 0 and names.count(WORDS) == 1:
        return frame.assign(**{COLUMN: [text_of_words(cell) for cell in frame[WORDS]]})
    if len(names) == 1:
        return frame.set_axis([COLUMN], axis=1)
    raise DataError(
        "it is not clear which column contains the texts",
        got=", ".join(map(str, names)) or "none",
        allowed=f"one column, or one named `{COLUMN}`",
    )
