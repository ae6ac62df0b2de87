"""Division of an optimizer step into parts that are computed separately."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from mtlv.data.batches import Batch
from mtlv.training.objective import Objective, Terms


@dataclass(frozen=True)
class BatchPart:
    """Documents of one batch that are computed at once.

    Args:
        batch: the documents.
        terms: indices of the objective's terms that learn from them.
        place: position of these terms among those of the step.
        shares: for each of these terms, the part's share of the step's documents, or of the words that were
            read if its loss is a mean over words.
    """

    batch: Batch
    terms: Terms
    place: slice
    shares: tuple[float, ...]

    def contribution(self, losses: torch.Tensor) -> torch.Tensor:
        """Return the part's contribution to its terms in the step, from their means [terms]."""
        if all(share == 1 for share in self.shares):
            return losses
        return torch.stack([loss * share for loss, share in zip(losses, self.shares, strict=True)])


@dataclass(frozen=True)
class OptimizerStep:
    """An optimizer step.

    Args:
        sources: each source's terms, and its share of the step's batches. Together they are the R terms
            of the step, in this order.
        parts: parts in the order of computation.
    """

    sources: dict[Terms, float]
    parts: tuple[BatchPart, ...]

    def zeros(self, device: torch.device) -> torch.Tensor:
        """Return zeros [R]."""
        return torch.zeros(sum(map(len, self.sources)), device=device)


def divide(
    batches: Sequence[Batch], objective: Objective, *, by_word: Sequence[bool], pieces: int
) -> OptimizerStep:
    """Divide the batches of a step.

    Args:
        batches: batches of the step, each from one source.
        objective: objective with the terms.
        by_word: per term, whether its loss is a mean over words instead of documents.
        pieces: approximate number of equal parts per batch.
    """
    sources: dict[Terms, list[Batch]] = {}
    for batch in batches:
        sources.setdefault(objective.here(batch.targets), []).append(batch)
    order = [term for terms in sources for term in terms]
    totals = {
        term: max(sum(batch.count_items(by_word[term]) for batch in of_source), 1)
        for terms, of_source in sources.items()
        for term in terms
    }
    parts = []
    for batch in batches:
        terms = objective.here(batch.targets)
        first = order.index(terms[0])
        for piece in batch.pieces(pieces):
            counts = [piece.count_items(by_word[term]) for term in terms]
            shares = tuple(count / totals[term] for count, term in zip(counts, terms, strict=True))
            parts.append(BatchPart(piece, terms, slice(first, first + len(terms)), shares))
    source_shares = {terms: len(of_source) / len(batches) for terms, of_source in sources.items()}
    return OptimizerStep(source_shares, tuple(parts))
