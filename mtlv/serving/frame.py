"""Columns of the table that a served plan returns."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import NDArray

from mtlv.errors import DataError
from mtlv.plan import Task
from mtlv.serving.kinds import ANSWERS, BOTH, COLUMNS, OutputColumn, TaskPrediction
from mtlv.serving.model import Prediction


def column_types(tasks: Sequence[Task]) -> dict[str, str]:
    """Return name and type of the columns of `both`, task by task: `TASK probability` (double), `TASK
    decided` (boolean), `TASK class` (string), ...

    Each has a word after the task's name. If a name occurs a second time (a class named like
    another task), primes are appended.
    """
    return {name: column.type for name, (_, column) in _columns(tasks, BOTH).items()}


def as_columns(prediction: Prediction, selection: str) -> dict[str, NDArray]:
    """Return columns [N] by name: those of `column_types`, or only `probabilities` or `decisions`.

    A task with one of these columns has it under its own name. Rows without an answer have NaN or None,
    decisions that are abstained from None.

    Raises:
        DataError: `selection` is not among `COLUMNS`.
    """
    if selection not in COLUMNS:
        raise DataError("`columns`", got=selection, allowed=", ".join(COLUMNS))
    columns = _columns([one.task for one in prediction.predictions], selection)
    return {name: _answers(column, prediction.predictions[at]) for name, (at, column) in columns.items()}


def _answers(column: OutputColumn, prediction: TaskPrediction) -> NDArray:
    values = column.values(prediction)
    if values.dtype.kind != "f" and (len(prediction.empty) or prediction.unsure.any()):
        values = values.astype(object)
        values[prediction.empty] = values[prediction.unsure] = None
    return values


def _columns(tasks: Sequence[Task], selection: str) -> dict[str, tuple[int, OutputColumn]]:
    """Return the task's number and the column, by column name."""
    out: dict[str, tuple[int, OutputColumn]] = {}
    for at, task in enumerate(tasks):
        for column in ANSWERS[task.kind].columns(task, selection):
            name = column.name
            while name in out:
                name += "'"
            out[name] = (at, column)
    return out
