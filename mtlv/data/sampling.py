"""Assignment of documents to batches, and their order: drawn every epoch from a seed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def random_batches(
    lengths: NDArray[np.int64], batch_size: int, *, seed: int, epoch: int
) -> list[NDArray[np.int64]]:
    """Return random batches that cover every document once, independent of their lengths.

    Short documents often have other labels than long ones. Batches of similar length save padding, but would
    also have similar labels (`experiments/batch-composition`).

    Args:
        lengths: [N] tokens per document.
        batch_size: maximum documents per batch. Sizes differ by at most one, so there is no small last batch.
        seed: the unit's seed for order.
        epoch: epoch from 0; each epoch has different batches.

    Returns:
        Arrays of indices into `lengths`, each with the longest document first, in the order of training.
    """
    rng = np.random.default_rng([seed, epoch])
    count = -(-len(lengths) // batch_size)
    drawn = np.array_split(rng.permutation(len(lengths)), count) if count else []
    return [batch[np.argsort(-lengths[batch], kind="stable")] for batch in drawn]


def longest_first(
    lengths: NDArray[np.int64], batch_size: int, *, tokens: int | None = None
) -> list[NDArray[np.int64]]:
    """Return batches for inference, sorted by length, longest first, so that a lack of memory shows at once.

    Args:
        lengths: [N] tokens per document.
        batch_size: maximum documents per batch.
        tokens: maximum tokens of a batch, including padding, so that batches of short documents are larger; a
            longer document is a separate batch. None is no limit.
    """
    order = np.argsort(-lengths, kind="stable")
    batches, at = [], 0
    while at < len(order):
        longest = max(int(lengths[order[at]]), 1)
        size = batch_size if tokens is None else min(batch_size, max(tokens // longest, 1))
        batches.append(order[at : at + size])
        at += size
    return batches
