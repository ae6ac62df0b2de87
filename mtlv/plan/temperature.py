"""Temperature scaling of probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def at_temperature(probabilities: ArrayLike, temperature: float) -> NDArray[np.float64]:
    """Return the probabilities of the same logits divided by `temperature`.

    Args:
        probabilities: of "yes" [N], or of C classes [N, C]; a row of zeros stays one.
        temperature: above 1, probabilities move away from 0 and 1. Their order stays the same.

    Guo et al., "On calibration of modern neural networks", ICML 2017.
    """
    given = np.asarray(probabilities, np.float64)
    powers = both_classes(given) ** (1 / temperature)
    sums = powers.sum(-1, keepdims=True)
    scaled: NDArray[np.float64] = powers / np.where(sums > 0, sums, 1.0)
    return scaled[:, 1] if given.ndim == 1 else scaled


def both_classes(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return probabilities of C classes [N, C]; for those of "yes" [N], of "no" and "yes" [N, 2]."""
    if probabilities.ndim > 1:
        return probabilities
    return np.stack([1 - probabilities, probabilities], axis=-1)
