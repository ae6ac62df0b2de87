"""Metrics as functions of sums over documents: all draws of a bootstrap are then one matrix product."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Sums:
    """A metric as a function of sums over documents; this defines it.

    Args:
        cells: contribution of each document, [N, K].
        figure: sums [R, K] of R resamples of documents -> the metric of each resample, [R].
    """

    cells: NDArray
    figure: Callable[[Floats], Floats]

    @property
    def value(self) -> float:
        """The metric of all documents."""
        return float(self.figure(self.cells.sum(axis=0, dtype=np.float64)[None])[0])

    def of_draws(self, weights: NDArray[np.float32]) -> Floats:
        """Return the metric of each resample [R], given how often each document was drawn, [R, N]."""
        # Integers below 2**24 are exact in float32, which is several times faster.
        kind = np.float32 if np.issubdtype(self.cells.dtype, np.integer) else np.float64
        return self.figure((weights.astype(kind) @ self.cells.astype(kind)).astype(np.float64))


def values(metrics: Mapping[str, Sums]) -> dict[str, float]:
    """The metrics of all documents, by name."""
    return {name: sums.value for name, sums in metrics.items()}
