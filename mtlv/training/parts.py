"""Division of an optimizer step into parts that are computed separately."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from mtlv.data.batches import Batch
from mtlv.training.objective import Heads, Objective
from mtlv.training.ranks import Ranks


@dataclass(frozen=True)
class BatchPart:
    """Documents of one batch that are computed at once.

    Args:
        batch: the documents.
        heads: indices of the heads that learn from them.
        place: position of these heads among those of the step.
        shares: for each of these heads, the part's share of the step's documents, or of the words that were
            read if the head's loss is a mean over words.
    """

    batch: Batch
    heads: Heads
    place: slice
    shares: tuple[float, ...]

    def weighted(self, losses: torch.Tensor) -> torch.Tensor:
        """Return the part's contribution to its heads' losses in the step, from their means [heads]."""
        if all(share == 1 for share in self.shares):
            return losses
        return torch.stack([loss * share for loss, share in zip(losses, self.shares, strict=True)])


@dataclass(frozen=True)
class OptimizerStep:
    """An optimizer step.

    Args:
        sources: each source's heads, and its share of the step's batches. Together they are the H heads
            of the step, in this order.
        parts: parts in the order of computation.
    """

    sources: dict[Heads, float]
    parts: tuple[BatchPart, ...]

    def zeros(self, device: torch.device) -> torch.Tensor:
        """Return zeros [H]."""
        return torch.zeros(sum(map(len, self.sources)), device=device)


def divide(
    batches: Sequence[Batch], objective: Objective, *, by_word: Sequence[bool], ranks: Ranks, pieces: int
) -> OptimizerStep:
    """Divide the batches of a step.

    Args:
        batches: batches of the step, each from one source.
        objective: objective with the heads.
        by_word: per head, whether its loss is a mean over words instead of documents.
        ranks: ranks that train together; returns the parts of this rank.
        pieces: approximate number of equal parts per batch.
    """
    sources: dict[Heads, list[Batch]] = {}
    for batch in batches:
        sources.setdefault(objective.here(batch.targets), []).append(batch)
    order = [head for heads in sources for head in heads]
    whole = {
        head: max(sum(batch.counted(by_word[head]) for batch in held), 1)
        for heads, held in sources.items()
        for head in heads
    }
    parts = []
    for batch in batches:
        heads = objective.here(batch.targets)
        first = order.index(heads[0])
        for piece in ranks.share(batch).pieces(pieces):
            counts = [piece.counted(by_word[head]) if ranks.takes(batch) else 0 for head in heads]
            shares = tuple(count / whole[head] for count, head in zip(counts, heads, strict=True))
            parts.append(BatchPart(piece, heads, slice(first, first + len(heads)), shares))
    return OptimizerStep({heads: len(held) / len(batches) for heads, held in sources.items()}, tuple(parts))
