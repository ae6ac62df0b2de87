"""An optimizer step, divided into parts that are computed one by one."""

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
        heads: numbers of the heads that learn from them.
        place: where these heads stand among those of the step.
        shares: of each of these heads, the part's share of the step's documents; of the words that were read,
            where the head's loss is a mean over words.
    """

    batch: Batch
    heads: Heads
    place: slice
    shares: tuple[float, ...]

    def weighted(self, losses: torch.Tensor) -> torch.Tensor:
        """What the part adds to its heads' losses over the step, from their means [heads] over the part."""
        if all(share == 1 for share in self.shares):
            return losses
        return torch.stack([loss * share for loss, share in zip(losses, self.shares, strict=True)])


@dataclass(frozen=True)
class OptimizerStep:
    """An optimizer step.

    Args:
        sources: each source's heads, and its share of the step's batches. All together they are the H heads
            of the step, in this order.
        parts: in the order in which they are computed.
    """

    sources: dict[Heads, float]
    parts: tuple[BatchPart, ...]

    def zeros(self, device: torch.device) -> torch.Tensor:
        """[H]."""
        return torch.zeros(sum(map(len, self.sources)), device=device)


def divide(
    batches: Sequence[Batch], objective: Objective, *, by_word: Sequence[bool], ranks: Ranks, pieces: int
) -> OptimizerStep:
    """Divide the batches of a step.

    Args:
        batches: of the step, each of one source.
        objective: knows the heads.
        by_word: per head, whether its loss is a mean over words and not over documents.
        ranks: who train together; the parts are those of this rank.
        pieces: in about how many parts of equal size each batch is taken.
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
