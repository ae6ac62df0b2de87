"""Losses that are not finite: which step had the first."""

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
        step: of the epoch, from 0.
        loss: its value.
        index: positions of its documents in their corpus.
    """

    def __init__(self, epoch: int, step: int, loss: float, index: NDArray[np.int64]) -> None:
        super().__init__(f"loss {loss} in step {step} of epoch {epoch}")
        self.epoch, self.step, self.loss, self.index = epoch, step, loss, index


def mean_loss(progress: EpochProgress) -> float:
    """Mean loss of the epoch's steps so far; waits for the device.

    Raises:
        LossError: one is not finite, or their mean is not.
    """
    losses = torch.stack(progress.losses)
    mean = float(losses.mean())
    if not math.isfinite(mean):
        wrong = (~torch.isfinite(losses)).nonzero()
        step = int(wrong[0] if len(wrong) else losses.abs().argmax())  # finite losses can add up to infinity
        place = step - (len(losses) - len(progress.indices))  # of those since the loop was entered
        index = progress.indices[place] if place >= 0 else np.zeros(0, np.int64)
        raise LossError(progress.epoch, step, float(losses[step]), index)
    return mean
