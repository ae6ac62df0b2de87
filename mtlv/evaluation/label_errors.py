"""Confident learning: given labels that are likely wrong, from scores of documents outside training.

Northcutt, Jiang, Chuang, "Confident Learning: Estimating Uncertainty in Dataset Labels", JAIR 70, 2021.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Classes = NDArray[np.int64]


def suspected_classes(probabilities: Floats, given: Classes) -> tuple[Classes, Floats]:
    """Return the class [N] suspected for each document, and the margin [N] of its given class.

    The threshold of a class is its mean probability over the documents labelled with it. Suspected is the
    most probable of the classes that reach their thresholds (the confident joint, equation 1). The margin is
    the probability of the given class minus that: the lowest are the likeliest errors. It is NaN if no class
    reaches its threshold, or the given one is suspected.

    Args:
        probabilities: [N, C], by models that were not trained on the document.
        given: indices [N] of the classes as labelled.

    Example:
        >>> probabilities = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.1, 0.9]])
        >>> suspected, margins = suspected_classes(probabilities, np.array([0, 0, 1, 0]))
        >>> suspected.tolist(), margins.round(1).tolist()
        ([0, 0, 1, 1], [nan, nan, nan, -0.8])
    """
    thresholds = np.full(probabilities.shape[1], np.inf)
    for index in np.unique(given):
        thresholds[index] = probabilities[given == index, index].mean()
    reaching = np.where(probabilities >= thresholds, probabilities, -np.inf)
    suspected = reaching.argmax(axis=1)
    rows = np.arange(len(given))
    margins = probabilities[rows, given] - probabilities[rows, suspected]
    margins[(suspected == given) | ~np.isfinite(reaching.max(axis=1))] = np.nan
    return suspected, margins
