"""Losses that are not finite: which batch had the first."""

from __future__ import annotations

import math

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
        LossError: one is not finite, or their mean is not.
    """
    losses = torch.stack(progress.losses)
    mean = float(losses.mean())
    if not math.isfinite(mean):
        wrong = (~torch.isfinite(losses)).nonzero()
        batch = int(wrong[0] if len(wrong) else losses.abs().argmax())  # finite losses can add up to infinity
        place = batch - (len(losses) - len(progress.indices))  # of those since the loop was entered
        index = progress.indices[place] if place >= 0 else np.zeros(0, np.int64)
        raise LossError(progress.epoch, batch, float(losses[batch]), index)
    return mean
