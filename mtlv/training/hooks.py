"""Where callers listen to the loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mtlv.training.state import EpochProgress


@dataclass(frozen=True)
class EpochLosses:
    """What one epoch of training came to.

    Args:
        epoch: from 0.
        loss: mean of the objective over the epoch's optimizer steps.
        heads: loss of each head that had a batch, the mean over the steps that had one, by name.
        learning_rate: at the epoch's end.
        seconds: of training, without validation.
        documents: trained on in this epoch.
    """

    epoch: int
    loss: float
    heads: dict[str, float]
    learning_rate: float
    seconds: float
    documents: int


class Hook:
    """Does nothing; override what you need.

    `done` is read after each epoch: whether training has no reason to go on.
    """

    done = False

    def on_batch(self, documents: int) -> None:
        """After each batch: how many documents it held. Must not wait for the device."""

    def on_step(self, progress: EpochProgress) -> None:
        """After each optimizer step, the only place where training can be gone on with later."""

    def on_epoch(self, losses: EpochLosses) -> None:
        """After each epoch; the model may be used for prediction here."""
