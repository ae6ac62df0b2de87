"""Which documents make a batch, and in what order: drawn anew every epoch from a seed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Documents of so many batches are drawn together and shared out by length. With two, documents that shared a
# batch do so again at most twice as often as by chance, and half of the padding is saved. With three it is
# 2.4 times as often.
TOGETHER = 2
# Below so many batches each is drawn by itself: the two of an epoch of two would be the same in every epoch.
FEW = 8


def length_pairs(
    lengths: NDArray[np.int64], batch_size: int, *, seed: int, epoch: int
) -> list[NDArray[np.int64]]:
    """Batches that cover every document once, close to random in what they hold, with little padding.

    Documents are drawn at random for two batches at a time: the longer half makes one, the shorter the other.

    Args:
        lengths: [N] tokens per document.
        batch_size: documents per batch at most. Batches differ by one document at most: none is a small rest.
        seed: the unit's seed for order.
        epoch: from 0; each epoch has its own batches.

    Returns:
        Arrays of positions in `lengths`, the longest document first, in the order of training.
    """
    rng = np.random.default_rng([seed, epoch])
    count = -(-len(lengths) // batch_size)
    if not count:
        return []
    drawn = np.array_split(rng.permutation(len(lengths)), count)
    together = TOGETHER if count >= FEW else 1
    batches = []
    for first in range(0, count, together):
        parts = drawn[first : first + together]
        both = np.concatenate(parts)
        ends = np.cumsum([len(part) for part in parts])[:-1]
        batches += np.split(both[np.argsort(-lengths[both], kind="stable")], ends)
    return [batches[place] for place in rng.permutation(count)]


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
