"""Precision, recall and F1 of counts per document.

Counts are [N, 3]: what was found and right, what was found, and what was to be found. They can be summed over
any documents, so a bootstrap needs nothing else.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mtlv.evaluation.metrics import ratio

Counts = NDArray[np.int64]


def counted(rows: list[tuple[int, int, int]]) -> Counts:
    """Counts [N, 3] of a triple for each document."""
    return np.array(rows, np.int64).reshape(-1, 3)


def precision(counts: Counts) -> float:
    """Σ right / Σ found."""
    right, found, _ = counts.sum(axis=0)
    return float(ratio(right, found))


def recall(counts: Counts) -> float:
    """Σ right / Σ to be found."""
    right, _, there = counts.sum(axis=0)
    return float(ratio(right, there))


def f1(counts: Counts) -> float:
    """2 Σ right / (Σ found + Σ to be found), the harmonic mean of precision and recall."""
    right, found, there = counts.sum(axis=0)
    return float(ratio(2 * right, found + there))
