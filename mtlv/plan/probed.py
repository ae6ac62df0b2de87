"""Comparison of the gradients of a unit's tasks in training, as it is kept with the unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = Sequence[Sequence[float]]


@dataclass(frozen=True)
class EpochConflicts:
    """Means over the probes of an epoch; `null` is between two halves of the documents of the same task.

    Args:
        epoch: from 0.
        probes: number of probes.
        cosine: cosine of the gradients of two tasks.
        cosine_null: of the same task, on other documents.
        conflicts: share of the pairs of tasks whose cosine is negative.
        conflicts_null: share of the tasks whose cosine with themselves, on other documents, is negative.
    """

    epoch: int
    probes: int
    cosine: float
    cosine_null: float
    conflicts: float
    conflicts_null: float


@dataclass(frozen=True)
class ProbeRecord:
    """What the gradient probe of a unit found (`training.probe`). Rows of matrices receive, columns give.

    Args:
        tasks: names of T tasks.
        probes: number of odd and of even probes.
        affinities: [2, T, T] mean affinity over the odd and the even probes.
        cosines: [T, T] mean cosine of two gradients; the diagonal is the null.
        conflicts: [T, T] share of the probes in which the cosine was negative; the diagonal is the null.
        epochs: means over the tasks, for each epoch with a probe.
    """

    tasks: tuple[str, ...]
    probes: tuple[int, int]
    affinities: Sequence[Matrix]
    cosines: Matrix
    conflicts: Matrix
    epochs: Sequence[EpochConflicts]

    @property
    def count(self) -> int:
        """Number of probes."""
        return self.probes[0] + self.probes[1]

    @property
    def affinity(self) -> NDArray[np.float64]:
        """Mean affinity over all probes [T, T]: what a step along the giver's gradient takes off the
        receiver's loss, as a share of that loss, per unit of learning rate. NaN without a probe."""
        weights = np.array(self.probes, np.float64)
        with np.errstate(invalid="ignore"):
            return np.tensordot(weights / weights.sum(), np.array(self.affinities), 1)

    @property
    def reliable(self) -> NDArray[np.bool_]:
        """Whether odd and even probes agree on the sign of an affinity [T, T]."""
        odd, even = np.sign(self.affinities)
        return np.asarray((odd == even) & (min(self.probes) > 0))

    @property
    def sign_agreement(self) -> float:
        """Share of the pairs of tasks on whose sign odd and even probes agree."""
        return float(self.reliable[~np.eye(len(self.tasks), dtype=bool)].mean())


def from_json(content: Mapping[str, Any]) -> ProbeRecord:
    """Return a record from the result of `dataclasses.asdict`."""
    epochs = [EpochConflicts(**epoch) for epoch in content["epochs"]]
    changes = {"tasks": tuple(content["tasks"]), "probes": tuple(content["probes"]), "epochs": epochs}
    return ProbeRecord(**{**content, **changes})
