"""A trained plan as MLflow's python function. Only the code file of a tracked model imports this module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from mlflow.exceptions import INVALID_PARAMETER_VALUE, MlflowException
from mlflow.pyfunc import PythonModel, PythonModelContext

from mtlv.errors import DataError, MtlvError
from mtlv.running.frame import COLUMNS, as_columns
from mtlv.running.served import ServedPlan
from mtlv.running.texts import COLUMN


class PyfuncPlan(PythonModel):
    """Texts in, a data frame with a row per text out; see `mtlv.running.frame`."""

    def load_context(self, context: PythonModelContext) -> None:
        config = context.model_config or {}
        self._plan = ServedPlan.load(
            Path(context.artifacts["served"]), device=str(config.get("device", "auto"))
        )

    def predict(
        self,
        context: PythonModelContext,  # noqa: ARG002 - MLflow's signature
        model_input: pd.DataFrame,  # or what else `as_series` takes: with this hint MLflow leaves it as it is
        params: dict[str, Any] | None = None,
    ) -> pd.DataFrame:
        """Probabilities and decisions, with the index of the input.

        Raises:
            MlflowException: an input that is not text, or an unknown value of `columns` (400 when served).
        """
        try:
            texts = as_series(model_input)
            found = self._plan.predict(texts.tolist())
            columns = as_columns(found, (params or {}).get("columns", COLUMNS[0]))
        except MtlvError as error:
            raise MlflowException(str(error), error_code=INVALID_PARAMETER_VALUE) from error
        return pd.DataFrame(columns, index=texts.index)


def as_series(given: object) -> pd.Series:
    """One text, or several in a list, tuple, array, series or data frame, as a series.

    Raises:
        DataError: something else, or a data frame of which no column is the texts for certain.
    """
    if isinstance(given, str):
        return pd.Series([given], dtype=object)
    if isinstance(given, pd.DataFrame):
        return _column(given)
    if isinstance(given, pd.Series):
        return given
    if isinstance(given, (list, tuple)) or (isinstance(given, np.ndarray) and given.ndim == 1):
        return pd.Series(list(given), dtype=object)
    raise DataError(
        "the input",
        got=type(given).__name__,
        allowed="a text, a list of texts, or a table with a column of them",
    )


def _column(frame: pd.DataFrame) -> pd.Series:
    if frame.shape[1] == 1:
        return frame.iloc[:, 0]
    if list(frame.columns).count(COLUMN) == 1:
        return frame[COLUMN]
    names = ", ".join(map(str, frame.columns)) or "none"
    raise DataError(
        "which column holds the texts is not clear",
        got=names,
        allowed=f"one column, or one called `{COLUMN}`",
    )
