"""Batches as tensors, made from token ids and targets when they are needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mtlv.data.sampling import bucketed_order, longest_first
from mtlv.data.tokens import Tokens

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Batch:
    """Some documents of one source.

    Args:
        index: [B] positions of the documents in their corpus.
        input_ids: [B, L].
        attention_mask: [B, L], true where a token stands.
        targets: [B] per task name.
    """

    index: NDArray[np.int64]
    input_ids: torch.Tensor
    attention_mask: torch.Tensor
    targets: dict[str, torch.Tensor]

    def pieces(self, count: int) -> list[Batch]:
        """The batch in about `count` parts of equal size; padding stays."""
        size = -(-len(self.index) // count)
        return [self._part(slice(at, at + size)) for at in range(0, len(self.index), size)]

    def _part(self, rows: slice) -> Batch:
        targets = {name: target[rows] for name, target in self.targets.items()}
        return Batch(self.index[rows], self.input_ids[rows], self.attention_mask[rows], targets)

    def to(self, device: torch.device) -> Batch:
        """The batch on `device`; copies do not wait where the memory is pinned."""
        if device.type == "cpu":
            return self

        def moved(tensor: torch.Tensor) -> torch.Tensor:
            return tensor.pin_memory().to(device, non_blocking=True)

        targets = {name: moved(target) for name, target in self.targets.items()}
        return Batch(self.index, moved(self.input_ids), moved(self.attention_mask), targets)


@dataclass(frozen=True)
class Documents:
    """The documents of one part of a split, ready to be cut into batches.

    Args:
        tokens: token ids of the whole corpus (N documents).
        targets: [N] per task name.
        index: [n] which documents belong to this part.
    """

    tokens: Tokens
    targets: dict[str, NDArray]
    index: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.index)

    def training(self, batch_size: int, *, seed: int, epoch: int) -> Iterator[Batch]:
        """Every document once, in batches of similar length, shuffled."""
        order = bucketed_order(self.tokens.lengths[self.index], batch_size, seed=seed, epoch=epoch)
        return self._batches(order)

    def inference(self, batch_size: int) -> Iterator[Batch]:
        """Every document once, longest first."""
        return self._batches(longest_first(self.tokens.lengths[self.index], batch_size))

    def _batches(self, order: Sequence[NDArray[np.int64]]) -> Iterator[Batch]:
        import torch

        for positions in order:
            index = self.index[positions]
            ids, mask = self.tokens.padded(index)
            targets = {name: torch.from_numpy(target[index]) for name, target in self.targets.items()}
            yield Batch(index, torch.from_numpy(ids), torch.from_numpy(mask), targets)
