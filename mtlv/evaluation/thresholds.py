"""Thresholds, fitted only on validation scores after a plan's models are gathered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mtlv.errors import PlanError
from mtlv.evaluation.metrics import check_scores, known_cells, ratio
from mtlv.plan.scores import Scores

Scope = Literal["per_plan", "per_task", "fixed"]
TIE = 1e-12  # means of equal fractions may differ in the last bits


@dataclass(frozen=True)
class Thresholds:
    """Decision thresholds of tasks: the smallest probability that is predicted as yes."""

    values: dict[str, float]  # thresholds by task name
    scope: Scope  # `per_plan`, `per_task` or `fixed`
    warnings: tuple[str, ...] = ()  # tasks whose threshold could not be fitted, and why


def grid_values(start: float, stop: float, step: float) -> tuple[float, ...]:
    """Return `start`, `start + step`, ... up to and including `stop`, rounded so that 0.15 is 0.15."""
    if step <= 0 or stop < start:
        raise PlanError(
            "the threshold grid is empty", got=(start, stop, step), allowed="start <= stop, step > 0"
        )
    count = int(np.floor((stop - start) / step + 1e-9)) + 1
    return tuple(round(start + i * step, 10) for i in range(count))


def fit_thresholds(
    validation: Scores, names: Sequence[str], *, scope: Scope, fixed: float, grid: Sequence[float]
) -> Thresholds:
    """Return the thresholds of the tasks `names` from their validation scores.

    `per_plan` uses the one value of the grid with the highest macro F1, `per_task` each task's value with
    the highest F1, `fixed` uses `fixed`. Ties go to the value closest to 0.5, then to the lower one. A task
    without positive validation documents gets `fixed` (`per_task`) and a warning.

    Raises:
        PlanError: the scores are not of the validation part.
        TrainingError: an output is not a finite number.
    """
    if validation.part != "validation":
        raise PlanError("thresholds are fitted on validation scores only", got=validation.part)
    check_scores(validation, names)
    if scope == "fixed":
        return Thresholds(dict.fromkeys(names, fixed), scope)
    f1, positive = f1_on_grid(validation, names, grid)
    if scope == "per_task":
        values = {name: _best(f1[:, t], grid) if positive[t] else fixed for t, name in enumerate(names)}
        stays = f"has no positive document in validation; its threshold stays at {fixed:g}"
        lost = (name for name, count in zip(names, positive, strict=True) if not count)
        return Thresholds(values, scope, tuple(f"task `{name}` {stays}" for name in lost))
    if positive.any():
        return Thresholds(dict.fromkeys(names, _best(f1.mean(axis=1), grid)), scope)
    warning = f"no task has a positive document in validation; the threshold stays at {fixed:g}"
    return Thresholds(dict.fromkeys(names, fixed), scope, (warning,))


def f1_on_grid(
    scores: Scores, names: Sequence[str], grid: Sequence[float]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return F1 of each task at each of G grid values [G, T], and positive documents [T].

    Counts outputs at or above each value by binary search in the sorted outputs, so the memory is [N, T].
    """
    outputs, targets = scores.matrix(names)
    known = known_cells(scores, names)
    values = np.asarray(grid, np.float64)
    f1 = np.zeros((values.size, len(names)))
    positive = np.zeros(len(names), np.int64)
    for t in range(len(names)):
        every = np.sort(outputs[known[:, t], t])
        right = np.sort(outputs[known[:, t] & (targets[:, t] == 1), t])
        predicted = every.size - np.searchsorted(every, values, side="left")
        hits = right.size - np.searchsorted(right, values, side="left")
        f1[:, t] = ratio(2 * hits, predicted + right.size)
        positive[t] = right.size
    return f1, positive


def _best(f1: NDArray[np.float64], grid: Sequence[float]) -> float:
    """Return the grid value with the highest F1 [G]; ties go to the value closest to 0.5, then the lower."""
    tied = np.asarray(grid, np.float64)[f1 >= f1.max() - TIE]
    return min((float(value) for value in tied), key=lambda value: (round(abs(value - 0.5), 9), value))
