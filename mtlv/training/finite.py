"""Losses that are not finite: which batch had the first."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from mtlv.training.state import Progress


class LossError(Exception):
    """A loss is not finite.

    Args:
        epoch: from 0.
        batch: of the epoch, from 0.
        loss: its value.
        index: [B] positions of its documents in their corpus.
    """

    def __init__(self, epoch: int, batch: int, loss: float, index: NDArray[np.int64]) -> None:
        super().__init__(f"loss {loss} in batch {batch} of epoch {epoch}")
        self.epoch, self.batch, self.loss, self.index = epoch, batch, loss, index


def mean_loss(progress: Progress) -> float:
    """Mean loss of the epoch's batches so far; waits for the device.

    Raises:
        LossError: one is not finite.
    """
    losses = torch.stack(progress.losses)
    finite = torch.isfinite(losses)
    if not finite.all():
        batch = int((~finite).nonzero()[0])
        # Those before the loop was entered were found finite when they were written down.
        index = progress.indices[batch - (len(losses) - len(progress.indices))]
        raise LossError(progress.epoch, batch, float(losses[batch]), index)
    return float(losses.mean())
