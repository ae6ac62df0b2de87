"""The training loop: the only one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice

import torch
from torch.nn.utils import clip_grad_norm_

from mtlv.data.batches import Batch
from mtlv.training.finite import mean_loss
from mtlv.training.hooks import EpochLosses, Hook
from mtlv.training.objective import Objective
from mtlv.training.state import Progress, Trained


def autocast(device: torch.device, precision: str) -> AbstractContextManager:
    """bf16 matrix products over fp32 weights, or nothing."""
    return torch.autocast(device.type, torch.bfloat16) if precision == "bf16" else nullcontext()


def train(
    trained: Trained,
    epoch_batches: Callable[[int], Iterable[Batch]],
    *,
    objective: Objective,
    epochs: int,
    precision: str = "fp32",
    accumulation: int = 1,
    clip_norm: float | None = 1.0,
    hooks: Sequence[Hook] = (),
    progress: Progress | None = None,
) -> None:
    """Train a model in place.

    Args:
        trained: the model on the device where it is to be trained, its optimizer, and its scheduler, which is
            stepped once per optimizer step.
        epoch_batches: epoch number -> its batches, the same whenever it is asked.
        objective: what is minimised.
        epochs: how often the documents are seen.
        precision: `fp32` or `bf16`.
        accumulation: batches per optimizer step; the last step of an epoch may have fewer.
        clip_norm: largest norm of the whole gradient; None for no clipping.
        hooks: called after each batch, optimizer step and epoch.
        progress: where to go on; None is the beginning.

    Raises:
        LossError: a loss is not finite; found at the end of its epoch.
    """
    progress = progress or Progress()
    step = _Step(trained, objective, precision, clip_norm, hooks)
    while progress.epoch < epochs:
        trained.model.train()
        begun = time.perf_counter() - progress.seconds
        left = islice(epoch_batches(progress.epoch), progress.batches, None)
        for batches in _groups(left, accumulation):
            step.take(batches, progress)
            progress.seconds = time.perf_counter() - begun
            for hook in hooks:
                hook.on_step(progress)
        record = _record(trained, progress, begun)
        for hook in hooks:
            hook.on_epoch(record)
        progress = progress.next_epoch()


@dataclass(frozen=True)
class _Step:
    """One optimizer step."""

    trained: Trained
    objective: Objective
    precision: str
    clip_norm: float | None
    hooks: Sequence[Hook]

    def take(self, batches: Sequence[Batch], progress: Progress) -> None:
        model, device = self.trained.model, self.trained.device
        for batch in batches:
            batch = batch.to(device)
            with autocast(device, self.precision):
                logits = model(batch.input_ids, batch.attention_mask)
            loss, heads = self.objective(model, logits, batch.targets)
            (loss / len(batches)).backward()
            progress.count(loss.detach(), heads, batch.index)
            for hook in self.hooks:
                hook.on_batch(len(batch.index))
        if self.clip_norm is not None:
            clip_grad_norm_(model.parameters(), self.clip_norm)
        self.trained.optimizer.step()
        self.trained.scheduler.step()
        self.trained.optimizer.zero_grad(set_to_none=True)
        progress.step += 1


def _groups(batches: Iterable[Batch], size: int) -> Iterable[list[Batch]]:
    group: list[Batch] = []
    for batch in batches:
        group.append(batch)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


def _record(trained: Trained, progress: Progress, begun: float) -> EpochLosses:
    loss = mean_loss(progress)
    means = torch.stack(progress.heads).mean(0).tolist()
    return EpochLosses(
        progress.epoch,
        loss,
        dict(zip(trained.model.specs, means, strict=True)),
        float(trained.scheduler.get_last_lr()[0]),
        time.perf_counter() - begun,  # after the device is done
        progress.documents,
    )
