"""Assignment of documents to batches, and their order: drawn every epoch from a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from mtlv.data.batches import PartDocuments


Batching = Callable[..., list[NDArray[np.int64]]]
"""Batches of an epoch, such as `random_batches`."""


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
    return [_longest_first(batch, lengths) for batch in drawn]


def _longest_first(batch: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return batch[np.argsort(-lengths[batch], kind="stable")]


@dataclass(frozen=True)
class Pace:
    """Random batches of documents that are easy enough for the model's competence (Platanios et al. 2019).

    An epoch has as many batches of the same sizes as without a pace. Until the model's competence is 1, each
    is drawn from the easiest documents, so that a document may come more than once in an epoch, or never.
    """

    order: NDArray[np.int64]  # [N] documents from easy to hard
    epochs: float  # epochs until the competence is 1, and `random_batches` are used
    start: float  # competence at the first step: the share of the documents that it draws from

    def competence(self, epoch: float) -> float:
        """Return the share of the documents that are drawn from after so many epochs."""
        return min(1.0, (epoch / self.epochs * (1 - self.start**2) + self.start**2) ** 0.5)

    def __call__(
        self, lengths: NDArray[np.int64], batch_size: int, *, seed: int, epoch: int
    ) -> list[NDArray[np.int64]]:
        """Return the batches of an epoch; see `random_batches`."""
        usual = random_batches(lengths, batch_size, seed=seed, epoch=epoch)
        if epoch >= self.epochs:
            return usual
        rng = np.random.default_rng([seed, epoch, len(self.order)])
        batches = []
        for number, batch in enumerate(usual):
            share = self.competence(epoch + number / len(usual))
            easy = self.order[: max(round(share * len(self.order)), len(batch))]
            batches.append(_longest_first(rng.choice(easy, len(batch), replace=False), lengths))
        return batches


def _rarity(part: PartDocuments) -> NDArray[np.float64]:
    """Return the negative log-likelihood of each document's tokens, by their shares in the whole part."""
    tokens = part.tokens
    documents = [tokens.ids[tokens.offsets[row] : tokens.offsets[row + 1]] for row in part.index]
    counts = np.bincount(np.concatenate(documents))
    rarity = -np.log(np.maximum(counts, 1) / counts.sum())
    return np.array([rarity[ids].sum() for ids in documents])


Difficulty = Callable[["PartDocuments", int], NDArray]
DIFFICULTIES: dict[str, Difficulty] = {
    "length": lambda part, _: part.tokens.lengths[part.index],
    "rarity": lambda part, _: _rarity(part),
    "random": lambda part, seed: np.random.default_rng(seed).random(len(part)),
}
"""Difficulty of the documents of a part by name in a config, from the part and the unit's seed."""


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
