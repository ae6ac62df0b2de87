"""A trained plan as an MLflow python function, imported only by the code file of a logged model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from mlflow.exceptions import INVALID_PARAMETER_VALUE, MlflowException
from mlflow.pyfunc import PythonModel, PythonModelContext

from mtlv.data.tables.cells import text_of_words, words_of
from mtlv.errors import DataError, MtlvError
from mtlv.serving.frame import as_columns
from mtlv.serving.inputs import OPTIONAL, WORDS
from mtlv.serving.kinds import COLUMNS
from mtlv.serving.model import ServedPlan
from mtlv.serving.texts import COLUMN, InputTexts


class PyfuncPlan(PythonModel):
    """Predicts texts and returns a data frame with a row per text; see `mtlv.serving.frame`."""

    def load_context(self, context: PythonModelContext) -> None:
        config = context.model_config or {}
        self._plan = ServedPlan.load(
            Path(context.artifacts["served"]), device=str(config.get("device", "auto"))
        )

    def predict(
        self,
        context: PythonModelContext,
        model_input: pd.DataFrame,  # or other inputs of `as_frame`; this hint keeps MLflow from converting
        params: dict[str, Any] | None = None,
    ) -> pd.DataFrame:
        """Return columns of every task, with the index of the input; `params` may have `columns` and `tasks`.

        Raises:
            MlflowException: an input that is not text, a row without an input of a task, or an unknown
                value of `columns` or `tasks` (status 400 when served).
        """
        given = params or {}
        try:
            frame = as_frame(model_input)
            found = self._plan.predict(_texts(frame), tasks=_names(given.get("tasks", "")))
            columns = as_columns(found, given.get("columns", COLUMNS[0]))
        except MtlvError as error:
            raise MlflowException(str(error), error_code=INVALID_PARAMETER_VALUE) from error
        return pd.DataFrame(columns, index=frame.index)


def as_frame(given: object) -> pd.DataFrame:
    """Convert one text, a list, tuple, array or series of texts, or a table to a table with a column `text`.

    A list of mappings is also a table, with one row per mapping.

    Raises:
        DataError: another input, or a data frame without a clear text column.
    """
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


def _texts(frame: pd.DataFrame) -> InputTexts:
    names = list(frame.columns)
    more = {name: tuple(frame[name].tolist()) for name in OPTIONAL if names.count(name) == 1}
    return InputTexts(tuple(frame[COLUMN].tolist()), tuple(range(len(frame))), "row", more)


def _names(given: object) -> list[str] | None:
    """Return names of tasks from a parameter: a JSON list, or one name; empty means all."""
    if not given:
        return None
    try:
        return list(words_of(given))
    except ValueError:
        return [str(given)]
