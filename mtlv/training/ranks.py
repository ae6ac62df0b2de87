"""Ranks: the operations of one model trained on several devices."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import torch

    from mtlv.data.batches import Batch

T = TypeVar("T")


class Ranks:
    """A single rank, which computes all batches and waits for no other.

    `mtlv.training.group.ProcessGroup` is one of several. All ranks call the same methods in the same order.

    Args:
        rank: from 0.
        world: number of ranks.
    """

    def __init__(self, rank: int = 0, world: int = 1) -> None:
        self.rank, self.world = rank, world

    @property
    def first(self) -> bool:
        """Whether this is the first rank, which reports and writes."""
        return self.rank == 0

    def wrap(self, losses: torch.nn.Module) -> torch.nn.Module:
        """Wrap a module from a batch to its losses, so that its gradients are those of all ranks."""
        return losses

    def begin(self, step: int) -> None:
        """Start an optimizer step, counted from 0."""

    def share(self, batch: Batch) -> Batch:
        """Return the documents of a batch for this rank."""
        return batch

    def takes(self, batch: Batch) -> bool:
        """Whether this rank has documents of a batch; otherwise its share has weight 0."""
        return self.rank < len(batch.index)

    def sum(self, values: torch.Tensor) -> torch.Tensor:
        """Return values [K] summed over the ranks."""
        return values

    def quiet(self, losses: torch.nn.Module) -> AbstractContextManager[Any]:
        """Return a context in which gradients are not summed, for all but the last part of a step."""
        del losses
        return nullcontext()

    def need_all(self) -> None:
        """Raise an error if another rank has ended, because the results are then incomplete."""

    def same(self, value: T) -> T:
        """Return the value of the first rank; plain values only."""
        return value

    def gather(self, value: T) -> list[T]:
        """Return the value of each rank, in order."""
        return [value]


ALONE = Ranks()
