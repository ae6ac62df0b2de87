"""State of training as tensors and numbers: saved between optimizer steps, restored bit for bit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mtlv.models.multitask import MultiTaskModel
from mtlv.training.balancing import Balancer, Sum


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


@dataclass
class EpochProgress:
    """Progress within an epoch, updated by the loop.

    Args:
        epoch: from 0.
        step: optimizer steps in all epochs.
        batches: batches in this epoch.
        documents: documents in this epoch.
        tokens: their tokens, without padding.
        seconds: seconds of this epoch before the loop was last entered.
        losses: objective of each optimizer step of this epoch, on the device.
        heads: [heads] losses of each step, on the device.
        factors: [K] factors of the balancer in each step, on the device; [0] without a balancer.
        indices: documents of each step; not saved, because earlier steps are known to be valid.
    """

    epoch: int = 0
    step: int = 0
    batches: int = 0
    documents: int = 0
    tokens: int = 0
    seconds: float = 0.0
    losses: list[torch.Tensor] = field(default_factory=list)
    heads: list[torch.Tensor] = field(default_factory=list)
    factors: list[torch.Tensor] = field(default_factory=list)
    indices: list[NDArray[np.int64]] = field(default_factory=list)

    def count(
        self, loss: torch.Tensor, heads: torch.Tensor, factors: torch.Tensor, index: NDArray[np.int64]
    ) -> None:
        """Add a step. Values stay on the device, because reading them would synchronize."""
        self.losses.append(loss)
        self.heads.append(heads)
        self.factors.append(factors)
        self.indices.append(index)
        self.documents += len(index)

    def next_epoch(self) -> EpochProgress:
        return EpochProgress(self.epoch + 1, self.step)


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


@dataclass(frozen=True)
class TrainingState:
    """Everything that training changes.

    Args:
        model: model on its device.
        optimizer: optimizer of its parameters.
        scheduler: scheduler of the optimizer.
        balancer: balancer of the objective.
    """

    model: MultiTaskModel
    optimizer: torch.optim.Optimizer
    scheduler: torch.optim.lr_scheduler.LRScheduler
    balancer: Balancer = field(default_factory=lambda: Sum(1))

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def take(self, progress: EpochProgress) -> dict[str, Any]:
        """Return copies in main memory of everything that affects the rest of training."""
        return {
            "model": _copy_tensors(self.model.state_dict()),
            "optimizer": _copy_tensors(self.optimizer.state_dict()),
            "scheduler": _copy_tensors(self.scheduler.state_dict()),
            "balancer": _copy_tensors(self.balancer.state),
            "random": _copy_tensors(random_state(self.device)),
            "progress": {
                key: _copy_tensors(value) for key, value in vars(progress).items() if key != "indices"
            },
        }

    def put_back(self, state: Mapping[str, Any]) -> EpochProgress:
        """Restore the result of `take`: on the same kind of device, training continues bit for bit.

        Raises:
            KeyError, ValueError, RuntimeError: the state does not match this model.
        """
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(dict(state["scheduler"]))
        self.balancer.put_back(state.get("balancer", {}))  # older checkpoints have none
        put_back_random(state["random"], self.device)
        progress = EpochProgress(**state["progress"])
        progress.losses = [loss.to(self.device) for loss in progress.losses]
        progress.heads = [heads.to(self.device) for heads in progress.heads]
        progress.factors = [factors.to(self.device) for factors in progress.factors]
        return progress


def put_back_random(states: Mapping[str, torch.Tensor], device: torch.device) -> None:
    """Restore the result of `_random_state`."""
    torch.set_rng_state(states["cpu"])
    if device.type == "cuda" and "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"], device)


def random_state(device: torch.device) -> dict[str, torch.Tensor]:
    """Return the states of PyTorch's generators for a device."""
    states = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    return states


def _copy_tensors(tree: Any) -> Any:
    """Return the same structure with a copy of every tensor in main memory."""
    if isinstance(tree, torch.Tensor):
        return tree.detach().to("cpu", copy=True)
    if isinstance(tree, Mapping):
        return {key: _copy_tensors(value) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [_copy_tensors(value) for value in tree]
    return tree
