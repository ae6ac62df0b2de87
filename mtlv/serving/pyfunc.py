"""A trained plan as MLflow's python function. Only the code file of a tracked model imports this module."""

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
    """Texts in, a data frame with a row per text out; see `mtlv.serving.frame`."""

    def load_context(self, context: PythonModelContext) -> None:
        config = context.model_config or {}
        self._plan = ServedPlan.load(
            Path(context.artifacts["served"]), device=str(config.get("device", "auto"))
        )

    def predict(
        self,
        context: PythonModelContext,  # noqa: ARG002 - MLflow's signature
        model_input: pd.DataFrame,  # or what else `as_frame` takes: with this hint MLflow leaves it as it is
        params: dict[str, Any] | None = None,
    ) -> pd.DataFrame:
        """Columns of every task, with the index of the input; `params` may name `columns` and `tasks`.

        Raises:
            MlflowException: an input that is not text, a row that lacks what a task reads, or an unknown
                value of `columns` or `tasks` (400 when served).
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
    """One text, or several in a list, tuple, array or series, or a table, as a table with a column `text`.

    A list of mappings is a table too, with a row for each.

    Raises:
        DataError: something else, or a data frame of which no column is the texts for certain.
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
        "which column holds the texts is not clear",
        got=", ".join(map(str, names)) or "none",
        allowed=f"one column, or one called `{COLUMN}`",
    )


def _texts(frame: pd.DataFrame) -> InputTexts:
    names = list(frame.columns)
    more = {name: tuple(frame[name].tolist()) for name in OPTIONAL if names.count(name) == 1}
    return InputTexts(tuple(frame[COLUMN].tolist()), tuple(range(len(frame))), "row", more)


def _names(given: object) -> list[str] | None:
    """Names of tasks from a parameter: a list in JSON, or one name; empty is all."""
    if not given:
        return None
    try:
        return list(words_of(given))
    except ValueError:
        return [str(given)]
