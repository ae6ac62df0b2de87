"""Which epoch is better on validation, without choosing a threshold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mtlv.evaluation.metrics import Decisions, average_precision, f1_macro


def macro_average_precision(outputs: NDArray, targets: NDArray) -> float:
    """Mean over the tasks of the area under precision over recall."""
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
"""(probabilities [N, T], targets [N, T]) -> value, higher is better; F1 is taken at 0.5."""


def better(new: NDArray, old: NDArray, targets: NDArray, rule: str) -> bool:
    """Whether outputs `new` beat `old`, both [N, T]; a tie keeps the earlier epoch."""
    return RULES[rule](new, targets) > RULES[rule](old, targets)
