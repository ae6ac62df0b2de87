"""Metrics of regression tasks: correlations between predicted and true numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mtlv.errors import TrainingError
from mtlv.evaluation.sums import Floats, Sums

LEAST = 1e-20  # product of two sums of squares, of vectors of length 1; smaller values are rounding errors


def pearson(truth: ArrayLike, predicted: ArrayLike) -> float:
    """Pearson's correlation: Σ (x - x̄)(y - ȳ) / sqrt(Σ (x - x̄)² · Σ (y - ȳ)²). BLURB and BLUE: similarity.

    0 if one side is constant (SciPy returns NaN), because such predictions have no information.

    Raises:
        TrainingError: a prediction is not a finite number.
    """
    return sums(truth, predicted)["pearson"].value


def spearman(truth: ArrayLike, predicted: ArrayLike) -> float:
    """Spearman's correlation: Pearson's of the ranks; equal values share the mean of their ranks.

    0 if one side is constant.

    Raises:
        TrainingError: a prediction is not a finite number.
    """
    return pearson(mean_ranks(_finite(truth)), mean_ranks(_finite(predicted)))


def mean_ranks(values: Floats) -> Floats:
    """Return ranks from 1 [N]; equal values share their mean rank.

    Equal to `scipy.stats.rankdata`, which takes a second to import.
    """
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[place]


def _finite(values: ArrayLike) -> Floats:
    values = np.asarray(values, np.float64)
    if not np.isfinite(values).all():
        raise TrainingError("predicted numbers are not all finite", then="lower the learning rate")
    return values


def _direction(values: Floats) -> Floats:
    """Return the differences from the mean, scaled to length 1, or zeros if all values are equal."""
    if values.size == 0 or values.min() == values.max():
        return np.zeros_like(values)
    scaled = values / np.abs(values).max()  # avoids overflow and underflow of squares
    away = scaled - scaled.mean()
    return away / np.linalg.norm(away)


def sums(truth: ArrayLike, predicted: ArrayLike) -> dict[str, Sums]:
    """Pearson's correlation as a function of sums over documents; Spearman's is none, as ranks change."""
    x, y = _direction(_finite(truth)), _direction(_finite(predicted))  # or small spreads are lost in rounding
    if x.shape != y.shape:
        raise ValueError(f"{len(x)} true and {len(y)} predicted numbers")
    return {"pearson": Sums(np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1), _pearson_of)}


def _pearson_of(sums: Floats) -> Floats:
    """Return the correlation from sums [R, 6] of 1, x, y, x², y² and xy; 0 if one side is constant."""
    n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    n = np.maximum(n, 1)
    spread = np.maximum(xx - x * x / n, 0) * np.maximum(yy - y * y / n, 0)
    known = spread > LEAST
    correlation = np.divide(xy - x * y / n, np.sqrt(spread), out=np.zeros_like(xy), where=known)
    return np.clip(correlation, -1.0, 1.0)
