"""Hooks for callers of the training loop."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mtlv.training.state import EpochProgress


@dataclass(frozen=True)
class EpochLosses:
    """Losses of one epoch of training.

    Args:
        epoch: from 0.
        loss: mean of the objective over the epoch's optimizer steps.
        heads: mean loss of each head over the steps in which it had a batch, by name.
        learning_rate: learning rate at the end of the epoch.
        seconds: seconds of training, without validation.
        documents: number of training documents in this epoch.
        tokens: number of their tokens, without padding.
        factors: mean factor of each task or head over the steps, by name; empty without a balancer.
    """

    epoch: int
    loss: float
    heads: dict[str, float]
    learning_rate: float
    seconds: float
    documents: int
    tokens: int
    factors: dict[str, float] = field(default_factory=dict)


class Hook:
    """Base class that does nothing; override what you need.

    `done` is read after each epoch; if all hooks are done, training stops.
    """

    done = False

    def on_batch(self, documents: int) -> None:
        """Called after each batch with its number of documents. Must not wait for the device."""

    def on_step(self, progress: EpochProgress) -> None:
        """Called after each optimizer step, the only point from which training can resume."""

    def on_epoch(self, losses: EpochLosses) -> None:
        """Called after each epoch; the model may be used for prediction."""
