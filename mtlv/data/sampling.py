"""Which documents make a batch, and in what order: drawn anew every epoch from a seed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Documents are sorted by length inside windows of this many batches: wide enough to waste little
# padding, narrow enough that batches differ from epoch to epoch.
WINDOW = 50


def bucketed_order(
    lengths: NDArray[np.int64], batch_size: int, *, seed: int, epoch: int
) -> list[NDArray[np.int64]]:
    """Batches of similar length that cover every document once.

    Args:
        lengths: [N] tokens per document.
        batch_size: documents per batch (the last may be smaller).
        seed: the unit's seed for order.
        epoch: from 0; each epoch has its own batches.

    Returns:
        Arrays of positions in `lengths`, in the order in which they are to be trained on.
    """
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths))
    batches = []
    for start in range(0, len(order), WINDOW * batch_size):
        window = order[start : start + WINDOW * batch_size]
        window = window[np.argsort(-lengths[window], kind="stable")]
        batches += [window[i : i + batch_size] for i in range(0, len(window), batch_size)]
    return [batches[i] for i in rng.permutation(len(batches))]


def longest_first(
    lengths: NDArray[np.int64], batch_size: int, *, tokens: int | None = None
) -> list[NDArray[np.int64]]:
    """Batches for inference: sorted by length, longest first, so that too little memory shows at once.

    Args:
        lengths: [N] tokens per document.
        batch_size: documents per batch at most.
        tokens: of a batch at most, its padding among them, so that short documents come in larger batches; a
            document that is longer is a batch of its own. None is any number.
    """
    order = np.argsort(-lengths, kind="stable")
    batches, at = [], 0
    while at < len(order):
        longest = max(int(lengths[order[at]]), 1)
        size = batch_size if tokens is None else min(batch_size, max(tokens // longest, 1))
        batches.append(order[at : at + size])
        at += size
    return batches
