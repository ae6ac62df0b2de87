"""Precision, recall and F1 of counts per document.

Counts are [N, 3]: correct, predicted, and true items. They can be summed over any documents, which is all
that a bootstrap needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from mtlv.evaluation.metrics import ratio
from mtlv.evaluation.sums import Floats, Sums

Counts = NDArray[np.int64]


def overlaps(truth: Iterable[set], predicted: Iterable[set]) -> Counts:
    """Return counts [N, 3] of the true and the predicted items of each document."""
    pairs = zip(truth, predicted, strict=True)
    counts = [(len(gold & answers), len(answers), len(gold)) for gold, answers in pairs]
    return np.array(counts, np.int64).reshape(-1, 3)


def precision_of(sums: NDArray) -> Floats:
    """Return the precision Σ correct / Σ predicted of sums of counts, [..., 3] -> [...]."""
    return ratio(sums[..., 0], sums[..., 1])


def recall_of(sums: NDArray) -> Floats:
    """Return the recall Σ correct / Σ true of sums of counts, [..., 3] -> [...]."""
    return ratio(sums[..., 0], sums[..., 2])


def f1_of(sums: NDArray) -> Floats:
    """Return 2 Σ correct / (Σ predicted + Σ true), the harmonic mean of both, [..., 3] -> [...]."""
    return ratio(2 * sums[..., 0], sums[..., 1] + sums[..., 2])


def mean_f1(counts: Sequence[Counts]) -> Sums:
    """Return the mean F1 of several counts of the same documents."""
    shape = (len(counts), 3)
    return Sums(np.concatenate(counts, axis=1), lambda sums: f1_of(sums.reshape(-1, *shape)).mean(axis=1))
