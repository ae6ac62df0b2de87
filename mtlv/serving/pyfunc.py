"""A trained plan as an MLflow python function, imported only by the code file of a logged model."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pandas as pd
from mlflow.exceptions import INVALID_PARAMETER_VALUE, MlflowException
from mlflow.pyfunc import PythonModel, PythonModelContext

from mtlv.data.tables.cells import words_of
from mtlv.errors import MtlvError
from mtlv.serving.frame import as_columns
from mtlv.serving.input_frame import as_frame, as_texts
from mtlv.serving.kinds import COLUMNS
from mtlv.serving.model import ServedPlan


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
        """Return columns of every task, with the index of the input; `params` may have `columns`, `tasks`,
        `calibrated` and `abstain`. Rows that are empty or cannot be read have None, and a warning says
        which these are.

        Raises:
            MlflowException: no row can be read, or an unknown value of `columns` or `tasks` (status 400 when
                served).
        """
        options = params or {}
        try:
            frame = as_frame(model_input, self._plan.description.columns)
            prediction = self._plan.predict(
                as_texts(frame),
                tasks=_names(options.get("tasks", "")),
                calibrated=bool(options.get("calibrated")),
                abstain=options.get("abstain") or None,
            )
            columns = as_columns(prediction, options.get("columns", COLUMNS[0]))
        except MtlvError as error:
            raise MlflowException(str(error), error_code=INVALID_PARAMETER_VALUE) from error
        for note in prediction.notes:
            warnings.warn(note, stacklevel=2)
        out = pd.DataFrame(columns, index=frame.index)
        some = out.columns[out.isna().any()]
        # A service would write NaN, which is not JSON.
        return out.assign(**{name: out[name].astype(object).where(out[name].notna(), None) for name in some})


def _names(value: object) -> list[str] | None:
    """Return names of tasks from a parameter: a JSON list, or one name; empty means all."""
    if not value:
        return None
    try:
        return list(words_of(value))
    except ValueError:
        return [str(value)]
