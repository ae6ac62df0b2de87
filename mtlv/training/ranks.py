"""One model on several devices: what each of its ranks does by itself, and where they meet."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import torch

    from mtlv.data.batches import Batch

T = TypeVar("T")


class Ranks:
    """A world of one rank, which has every batch to itself and waits for nobody.

    `mtlv.training.group.ProcessGroup` is one of several. All ranks ask for the same, in the same order.

    Args:
        rank: from 0.
        world: how many.
    """

    def __init__(self, rank: int = 0, world: int = 1) -> None:
        self.rank, self.world = rank, world

    @property
    def first(self) -> bool:
        """Whether this is the rank that is heard and writes."""
        return self.rank == 0

    def wrapped(self, losses: torch.nn.Module) -> torch.nn.Module:
        """A module from a batch to its losses whose gradients become those of all ranks."""
        return losses

    def begin(self, step: int) -> None:
        """Before an optimizer step, counted from 0."""

    def share(self, batch: Batch) -> Batch:
        """The documents of a batch that are this rank's."""
        return batch

    def takes(self, batch: Batch) -> bool:
        """Whether some of a batch's documents are this rank's; else its share is one that counts nothing."""
        return self.rank < len(batch.index)

    def summed(self, values: torch.Tensor) -> torch.Tensor:
        """Values [K], added up over the ranks."""
        return values

    def quiet(self, losses: torch.nn.Module) -> AbstractContextManager[Any]:
        """In it gradients stay with the rank: more of the same step come."""
        del losses
        return nullcontext()

    def need_all(self) -> None:
        """Refuse to keep what was computed since another rank has ended."""

    def same(self, value: T) -> T:
        """The first rank's value, a plain one."""
        return value

    def gathered(self, value: T) -> list[T]:
        """The value of each rank, in their order."""
        return [value]


ALONE = Ranks()
