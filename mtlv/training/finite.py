"""Detection of the first loss that is not finite."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray

from mtlv.training.state import EpochProgress


class LossError(Exception):
    """A loss is not finite.

    Args:
        epoch: from 0.
        step: step of the epoch, from 0.
        loss: value of the loss.
        index: indices of its documents in their corpus.
    """

    def __init__(self, epoch: int, step: int, loss: float, index: NDArray[np.int64]) -> None:
        super().__init__(f"loss {loss} in step {step} of epoch {epoch}")
        self.epoch, self.step, self.loss, self.index = epoch, step, loss, index


def mean_loss(progress: EpochProgress) -> float:
    """Return the mean loss of the epoch's steps so far; synchronizes with the device.

    Raises:
        LossError: a loss or the mean is not finite.
    """
    losses = torch.stack(progress.losses)
    mean = float(losses.mean())
    if not math.isfinite(mean):
        wrong = (~torch.isfinite(losses)).nonzero()
        step = int(wrong[0] if len(wrong) else losses.abs().argmax())  # finite losses can add up to infinity
        place = step - (len(losses) - len(progress.indices))  # relative to the start of the loop
        index = progress.indices[place] if place >= 0 else np.zeros(0, np.int64)
        raise LossError(progress.epoch, step, float(losses[step]), index)
    return mean
