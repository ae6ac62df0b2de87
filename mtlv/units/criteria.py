"""Validation criteria for the best epoch, without thresholds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from mtlv.evaluation.metrics import Decisions, average_precision, f1_macro
from mtlv.evaluation.mixed import by_source
from mtlv.evaluation.scoring import SCORING, main_figure, task_figures
from mtlv.plan import Scores, Task


def macro_average_precision(outputs: NDArray, targets: NDArray) -> float:
    """Return the mean average precision over the tasks."""
    columns = zip(targets.T == 1, outputs.T, strict=True)
    return float(np.mean([average_precision(truth, scores) for truth, scores in columns]))


def _macro_f1(outputs: NDArray, targets: NDArray) -> float:
    return f1_macro(Decisions.of(targets, outputs >= 0.5))


def _minus_loss(outputs: NDArray, targets: NDArray) -> float:
    p = np.clip(outputs.astype(np.float64), 1e-7, 1 - 1e-7)
    return float((targets * np.log(p) + (1 - targets) * np.log(1 - p)).mean())


RULES: dict[str, Callable[[NDArray, NDArray], float]] = {
    "average_precision": macro_average_precision,
    "f1_macro": _macro_f1,
    "loss": _minus_loss,
}
"""(probabilities [N, T], targets [N, T]) -> value, higher is better; F1 uses the threshold 0.5."""


def value(scores: Scores, tasks: Sequence[Task], rule: str) -> float:
    """Return the value of validation scores, higher is better: the mean over the tasks (T).

    Tasks that need a threshold use `rule`, others their main metric.
    """
    joint = [task for task in tasks if SCORING[task.kind].needs_threshold]
    alone = [task for task in tasks if not SCORING[task.kind].needs_threshold]
    values = [main_figure(task, task_figures(task, scores.tasks[task.name])) for task in alone]
    for names in by_source(joint).values():  # tasks of one source share their documents
        known = scores.tasks[names[0]].mask
        outputs, targets = scores.matrix(names)
        values += [RULES[rule](outputs[known].astype(np.float32), targets[known])] * len(names)
    return float(np.mean(values))
