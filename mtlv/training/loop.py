"""The training loop: the only one."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

from mtlv.data.batches import Batch
from mtlv.models.multitask import MultiTaskModel
from mtlv.training.finite import mean_loss
from mtlv.training.hooks import EpochLosses, Hook
from mtlv.training.objective import Objective
from mtlv.training.ranks import ALONE, Ranks
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
    on_pieces: Callable[[int], None] | None = None,
    ranks: Ranks = ALONE,
) -> None:
    """Train a model in place.

    Args:
        trained: the model on the device where it is to be trained, its optimizer, and its scheduler, which is
            stepped once per optimizer step.
        epoch_batches: epoch number -> its batches, the same whenever it is asked.
        objective: what is minimised.
        epochs: how often the documents are seen, unless a hook is done before.
        precision: `fp32` or `bf16`.
        accumulation: batches per optimizer step; the last step of an epoch may have fewer.
        clip_norm: largest norm of the whole gradient; None for no clipping.
        hooks: called after each batch, optimizer step and epoch.
        progress: where to go on; None is the beginning.
        on_pieces: where a batch does not fit the device, it is cut into twice as many pieces whose gradients
            add up, and this hears how many; None raises instead, and is the choice of several ranks.
        ranks: who train the model together, each in a process that calls this with the same batches.

    Raises:
        LossError: a loss is not finite; found at the end of its epoch.
        torch.cuda.OutOfMemoryError: a batch does not fit the device.
    """
    progress = progress or Progress()
    losses = ranks.wrapped(HeadLosses(trained.model, objective, precision))
    step = _Step(trained, objective, losses, ranks, clip_norm, hooks, on_pieces)
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
        if ranks.same(any(hook.done for hook in hooks)):
            return
        progress = progress.next_epoch()


class HeadLosses(nn.Module):
    """From a batch to its heads' losses: all that uses weights, also those that a loss alone reads."""

    def __init__(self, model: MultiTaskModel, objective: Objective, precision: str) -> None:
        super().__init__()
        self.model, self.objective, self.precision = model, objective, precision

    def forward(self, batch: Batch, here: Sequence[int]) -> torch.Tensor:
        """The loss of each of the heads `here` on a batch [here]."""
        names = [self.objective.names[number] for number in here]
        with autocast(batch.input_ids.device, self.precision):
            logits = self.model(
                batch.input_ids,
                batch.attention_mask,
                batch.segments,
                batch.words,
                batch.mentions,
                heads=names,
                padded=batch.padded,
            )
        return self.objective.losses(self.model, logits, batch.targets, here)


@dataclass
class _Step:
    """One optimizer step."""

    trained: Trained
    objective: Objective
    losses: nn.Module
    ranks: Ranks
    clip_norm: float | None
    hooks: Sequence[Hook]
    on_pieces: Callable[[int], None] | None
    pieces: int = 1

    def take(self, batches: Sequence[Batch], progress: Progress) -> None:
        self.ranks.begin(progress.step)
        for batch, (loss, heads) in zip(batches, self._gradients(batches), strict=True):
            progress.count(loss, heads, batch.index)
            for hook in self.hooks:
                hook.on_batch(len(batch.index))
        if self.clip_norm is not None:
            clip_grad_norm_(self.trained.model.parameters(), self.clip_norm)
        self.trained.optimizer.step()
        self.trained.scheduler.step()
        self.trained.optimizer.zero_grad(set_to_none=True)
        progress.step += 1

    def _gradients(self, batches: Sequence[Batch]) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Add up the gradients of all batches; the loss of each, and its heads' losses."""
        largest = max(len(batch.index) for batch in batches)
        last = batches[-1]
        while True:
            try:
                return [self._backward(batch, len(batches), batch is last) for batch in batches]
            except torch.cuda.OutOfMemoryError:
                if self.on_pieces is None or self.pieces >= largest:
                    raise
            self.trained.optimizer.zero_grad(set_to_none=True)
            torch.cuda.empty_cache()
            self.pieces *= 2
            self.on_pieces(self.pieces)

    def _backward(self, batch: Batch, of: int, last: bool) -> tuple[torch.Tensor, torch.Tensor]:
        """The gradient of one of `of` batches; its loss and its heads' losses stay on the device."""
        own = self.ranks.share(batch)
        pieces = own.pieces(self.pieces)
        weights = [piece.size / own.size for piece in pieces] if len(pieces) > 1 else [1.0]
        with nullcontext() if last else self.ranks.quiet(self.losses):
            found = [self._piece(*each, of, batch) for each in zip(pieces, weights, strict=True)]
        losses, heads = zip(*found, strict=True)
        return (losses[0], heads[0]) if len(found) == 1 else (sum(losses), sum(heads))

    def _piece(self, piece: Batch, weight: float, of: int, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """The gradient of a piece of this rank's share of a batch."""
        here = self.objective.here(piece.targets)
        by_word = [self.trained.model.kinds[self.objective.names[number]].by_word for number in here]
        losses = self.losses(piece.to(self.trained.device), here)
        loss, heads = self.objective.combined(self.ranks.joined(losses, batch, by_word), here)
        (loss * weight / of).backward()
        return loss.detach() * weight, heads * weight


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
    means = torch.stack(progress.heads).nanmean(0).tolist()
    return EpochLosses(
        progress.epoch,
        loss,
        {name: mean for name, mean in zip(trained.model.specs, means, strict=True) if not math.isnan(mean)},
        float(trained.scheduler.get_last_lr()[0]),
        time.perf_counter() - begun,  # after the device is done
        progress.documents,
    )
