"""Temperature scaling of probabilities, and how sure a decision is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

SMALLEST = 1e-7  # of probabilities, so that their logarithms are finite


def at_temperature(probabilities: ArrayLike, temperature: float) -> NDArray[np.float64]:
    """Return the probabilities of the same logits divided by `temperature`.

    Args:
        probabilities: of "yes" [N], or of C classes [N, C]; a row of zeros stays one.
        temperature: above 1, probabilities move away from 0 and 1, also rounded ones. Their order stays the
            same.

    Guo et al., "On calibration of modern neural networks", ICML 2017.
    """
    original = np.asarray(probabilities, np.float64)
    if temperature == 1:
        return original
    both = both_classes(original)
    powers = np.maximum(both, SMALLEST) ** (1 / temperature)
    scaled = np.where(both.any(-1, keepdims=True), powers / powers.sum(-1, keepdims=True), 0.0)
    return scaled[:, 1] if original.ndim == 1 else scaled


def both_classes(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return probabilities of C classes [N, C]; for those of "yes" [N], of "no" and "yes" [N, 2]."""
    if probabilities.ndim > 1:
        return probabilities
    return np.stack([1 - probabilities, probabilities], axis=-1)


def confidence(probabilities: ArrayLike, threshold: float = 0.5) -> NDArray[np.float64]:
    """Return the probability of what is decided [N]: of the most likely class, or of yes or no.

    The odds of "yes" are divided by those of the threshold, so that a decision at the threshold has 0.5.

    Args:
        probabilities: of "yes" [N], or of C classes [N, C].
        threshold: of a yes/no task.

    Example:
        >>> confidence([0.9, 0.2, 0.1], threshold=0.2).round(3).tolist()
        [0.973, 0.5, 0.692]
    """
    both = both_classes(np.asarray(probabilities, np.float64))
    if np.ndim(probabilities) == 1:
        limit = min(max(threshold, SMALLEST), 1 - SMALLEST)
        both = both * (limit, 1 - limit)
        both = both / both.sum(axis=1, keepdims=True)
    return both.max(axis=1)


def least_confidence(limits: Sequence[tuple[float, float]], error: float) -> float | None:
    """Return the confidence from which decisions keep an error; None if no bound of it is low enough.

    Args:
        limits: bounds of the error and the confidences that they hold from, by falling coverage.
        error: wanted share of wrong decisions, of those that are made.
    """
    return next((least for bound, least in limits if bound <= error), None)
