"""Columns of the table that a served plan gives."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import NDArray

from mtlv.errors import DataError
from mtlv.plan import Task
from mtlv.serving.kinds import ANSWERS, BOTH, COLUMNS, OutputColumn
from mtlv.serving.model import Prediction


def column_types(tasks: Sequence[Task]) -> dict[str, str]:
    """Name and type of the columns of `both`, task by task: `TASK probability` (double), `TASK decided`
    (boolean), `TASK class` (string), ...

    Each has a word behind the task's name. Should a name come a second time (of a class that is called like
    another task), primes stand behind it.
    """
    return {name: column.type for name, (_, column) in _columns(tasks, BOTH).items()}


def as_columns(found: Prediction, wanted: str) -> dict[str, NDArray]:
    """Columns [N] by name: those of `column_types`, or of `probabilities` or `decisions` alone.

    A task with one column of these has it by its own name.

    Raises:
        DataError: `wanted` is not among `COLUMNS`.
    """
    if wanted not in COLUMNS:
        raise DataError("`columns`", got=wanted, allowed=", ".join(COLUMNS))
    columns = _columns([prediction.task for prediction in found.predictions], wanted)
    return {name: column.values(found.predictions[at]) for name, (at, column) in columns.items()}


def _columns(tasks: Sequence[Task], wanted: str) -> dict[str, tuple[int, OutputColumn]]:
    """By name: the task's number and the column."""
    out: dict[str, tuple[int, OutputColumn]] = {}
    for at, task in enumerate(tasks):
        for column in ANSWERS[task.kind].columns(task, wanted):
            name = column.name
            while name in out:
                name += "'"
            out[name] = (at, column)
    return out
