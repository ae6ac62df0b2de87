"""Temperature scaling of probabilities."""

from __future__ import annotations

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
