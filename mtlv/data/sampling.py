"""Which documents make a batch, and in what order: drawn anew every epoch from a seed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def random_batches(
    lengths: NDArray[np.int64], batch_size: int, *, seed: int, epoch: int
) -> list[NDArray[np.int64]]:
    """Batches that cover every document once, drawn at random: no length decides who is in a batch with whom.

    Short documents often have other labels than long ones. Batches of similar length save padding, but are
    then batches of similar labels (`experiments/batch-composition`).

    Args:
        lengths: [N] tokens per document.
        batch_size: documents per batch at most. Batches differ by one document at most: none is a small rest.
        seed: the unit's seed for order.
        epoch: from 0; each epoch has its own batches.

    Returns:
        Arrays of positions in `lengths`, in each the longest document first, in the order of training.
    """
    rng = np.random.default_rng([seed, epoch])
    count = -(-len(lengths) // batch_size)
    drawn = np.array_split(rng.permutation(len(lengths)), count) if count else []
    return [batch[np.argsort(-lengths[batch], kind="stable")] for batch in drawn]


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
