"""Validation criteria for the best epoch, without thresholds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from mtlv.evaluation.metrics import Decisions, Flags, average_precision, f1_macro, known_cells
from mtlv.evaluation.mixed import by_source
from mtlv.evaluation.scoring import SCORING, main_figure, task_figures
from mtlv.plan import Scores, Task


def macro_average_precision(outputs: NDArray, truth: Flags, known: Flags) -> float:
    """Return the mean average precision over the tasks."""
    columns = zip(outputs.T, truth.T, known.T, strict=True)
    return float(
        np.mean([average_precision(yes[is_known], scores[is_known]) for scores, yes, is_known in columns])
    )


def _minus_loss(outputs: NDArray, truth: Flags, known: Flags) -> float:
    p = np.clip(outputs.astype(np.float64), 1e-7, 1 - 1e-7)
    return float(np.log(np.where(truth, p, 1 - p))[known].mean())


RULES: dict[str, Callable[[NDArray, Flags, Flags], float]] = {
    "average_precision": macro_average_precision,
    "f1_macro": lambda p, truth, known: f1_macro(Decisions(truth, (p >= 0.5) & known, known)),
    "loss": _minus_loss,
}
"""(probabilities, whether the label is yes, and whether it is known, [N, T] each) -> value, higher is better.

F1 uses the threshold 0.5.
"""


def value(scores: Scores, tasks: Sequence[Task], rule: str) -> float:
    """Return the value of validation scores, higher is better: the mean over the tasks (T).

    Tasks that need a threshold use `rule`, others their main metric.
    """
    joint = [task for task in tasks if SCORING[task.kind].needs_threshold]
    alone = [task for task in tasks if not SCORING[task.kind].needs_threshold]
    values = [main_figure(task, task_figures(task, scores.tasks[task.name])) for task in alone]
    for names in by_source(joint).values():  # tasks of one source share their documents
        known, (outputs, targets) = known_cells(scores, names), scores.matrix(names)
        truth = (targets == 1) & known
        values += [RULES[rule](outputs.astype(np.float32), truth, known)] * len(names)
    return float(np.mean(values))
