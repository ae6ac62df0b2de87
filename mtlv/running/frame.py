"""Columns of the table that a served plan gives."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import NDArray

from mtlv.errors import DataError
from mtlv.running.served import Prediction

COLUMNS = ("both", "probabilities", "decisions")
"""What a caller may ask for; the first is what it gets unasked."""


def column_types(tasks: Sequence[str]) -> dict[str, str]:
    """Name and type of the columns of `both`: `TASK probability` (double), `TASK decided` (boolean), ...

    Each has a word behind the task's name, so no name of a task can be the column of another.
    """
    return {
        name: kind
        for task in tasks
        for name, kind in ((f"{task} probability", "double"), (f"{task} decided", "boolean"))
    }


def as_columns(found: Prediction, wanted: str) -> dict[str, NDArray]:
    """Columns [N] by name: those of `column_types`, or a column per task, by the task's own name.

    Raises:
        DataError: `wanted` is not among `COLUMNS`.
    """
    if wanted not in COLUMNS:
        raise DataError("`columns`", got=wanted, allowed=", ".join(COLUMNS))
    parts: dict[str, NDArray] = {"probabilities": found.probabilities, "decisions": found.decided}
    if wanted in parts:
        return {task: parts[wanted][:, t] for t, task in enumerate(found.tasks)}
    stacked = [part[:, t] for t in range(len(found.tasks)) for part in parts.values()]
    return dict(zip(column_types(found.tasks), stacked, strict=True))
