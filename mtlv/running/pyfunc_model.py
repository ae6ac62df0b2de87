"""A trained plan as MLflow's python function. Only the code file of a tracked model imports this module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from mlflow.exceptions import INVALID_PARAMETER_VALUE, MlflowException
from mlflow.pyfunc import PythonModel, PythonModelContext

from mtlv.errors import MtlvError
from mtlv.running.frame import COLUMNS, as_columns
from mtlv.running.served import ServedPlan


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
        model_input: pd.DataFrame,
        params: dict[str, Any] | None = None,
    ) -> pd.DataFrame:
        """Probabilities and decisions; MLflow has made a frame with one column of texts of the input.

        Raises:
            MlflowException: an input that is not text, or an unknown value of `columns` (400 when served).
        """
        try:
            found = self._plan.predict(model_input.iloc[:, 0].tolist())
            columns = as_columns(found, (params or {}).get("columns", COLUMNS[0]))
        except MtlvError as error:
            raise MlflowException(str(error), error_code=INVALID_PARAMETER_VALUE) from error
        return pd.DataFrame(columns, index=model_input.index)
