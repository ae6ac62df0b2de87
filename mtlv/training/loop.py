"""The training loop: the only one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
from torch.nn.utils import clip_grad_norm_

from mtlv.data.batches import Batch
from mtlv.errors import TrainingError
from mtlv.models.multitask import MultiTaskModel
from mtlv.training.hooks import EpochLosses, Hook
from mtlv.training.objective import Objective


def autocast(device: torch.device, precision: str) -> AbstractContextManager:
    """bf16 matrix products over fp32 weights, or nothing."""
    return torch.autocast(device.type, torch.bfloat16) if precision == "bf16" else nullcontext()


def train(
    model: MultiTaskModel,
    epoch_batches: Callable[[int], Iterable[Batch]],
    *,
    objective: Objective,
    optimizer: torch.optim.Optimizer,
    scheduler: torch.optim.lr_scheduler.LRScheduler,
    epochs: int,
    precision: str = "fp32",
    accumulation: int = 1,
    clip_norm: float | None = 1.0,
    hooks: Sequence[Hook] = (),
) -> None:
    """Train `model` in place.

    Args:
        model: on the device where it is to be trained.
        epoch_batches: epoch number -> its batches.
        objective: what is minimised.
        optimizer: of the model's parameters.
        scheduler: stepped once per optimizer step.
        epochs: how often the documents are seen.
        precision: `fp32` or `bf16`.
        accumulation: batches per optimizer step; the last step of an epoch may have fewer.
        clip_norm: largest norm of the whole gradient; None for no clipping.
        hooks: called after each batch and epoch.

    Raises:
        TrainingError: an epoch's loss is not finite.
    """
    device = next(model.parameters()).device
    for epoch in range(epochs):
        model.train()
        start, losses, heads, documents = time.perf_counter(), [], [], 0
        for batches in _groups(epoch_batches(epoch), accumulation):
            for batch in batches:
                batch = batch.to(device)
                with autocast(device, precision):
                    logits = model(batch.input_ids, batch.attention_mask)
                loss, per_head = objective(model, logits, batch.targets)
                (loss / len(batches)).backward()
                losses.append(loss.detach())  # stays on the device: reading it here would wait for it
                heads.append(per_head)
                documents += len(batch.index)
                _call(hooks, len(batch.index))
            if clip_norm is not None:
                clip_grad_norm_(model.parameters(), clip_norm)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad(set_to_none=True)
        record = _record(epoch, model, losses, heads, scheduler, documents, start)
        for hook in hooks:
            hook.on_epoch(record)


def _groups(batches: Iterable[Batch], size: int) -> Iterable[list[Batch]]:
    group: list[Batch] = []
    for batch in batches:
        group.append(batch)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


def _call(hooks: Sequence[Hook], documents: int) -> None:
    for hook in hooks:
        hook.on_batch(documents)


def _record(
    epoch: int,
    model: MultiTaskModel,
    losses: list[torch.Tensor],
    heads: list[torch.Tensor],
    scheduler: torch.optim.lr_scheduler.LRScheduler,
    documents: int,
    start: float,
) -> EpochLosses:
    loss = torch.stack(losses).mean().item()
    seconds = time.perf_counter() - start
    if not torch.isfinite(torch.tensor(loss)):
        raise TrainingError(
            f"the training loss of epoch {epoch} is not finite",
            got=loss,
            then="lower `training.learning_rate`, or set `training.precision: fp32`",
        )
    means = torch.stack(heads).mean(0).tolist()
    by_head = dict(zip(model.specs, means, strict=True))
    return EpochLosses(epoch, loss, by_head, float(scheduler.get_last_lr()[0]), seconds, documents)
