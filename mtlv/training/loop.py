"""The training loop: the only one."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

from mtlv.data.batches import Batch
from mtlv.models.multitask import MultiTaskModel
from mtlv.training.adversarial import adversarial_losses
from mtlv.training.gramian import gramian_of, vectors_of
from mtlv.training.hooks import EpochLosses, Hook
from mtlv.training.memory import keep_gradients
from mtlv.training.objective import Objective
from mtlv.training.parts import BatchPart, OptimizerStep, divide
from mtlv.training.recorded import MakeGraphed, RecordedLosses
from mtlv.training.state import EpochProgress, TrainingState, mean_loss

StepValues = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""The objective of a step, the losses [heads] and the balancer's factors [K or 0], on the device."""
DOCUMENTS_PER_PART = 8
"""Documents per part on a CPU: with fewer, smaller matrix products cost as much as the saved padding."""


@contextmanager
def autocast(device: torch.device, precision: str) -> Iterator[None]:
    """Compute matrix products in bf16, with fp32 weights, if `precision` is bf16.

    Without cuDNN's attention, which takes about 0.1 s to prepare each new shape: with it, the first epoch of
    BERT-base, 160 batches of many lengths, took 21 s, and the second 6 s (benchmarks/results/README.md).
    """
    cudnn = torch.backends.cuda.cudnn_sdp_enabled()
    torch.backends.cuda.enable_cudnn_sdp(False)
    try:
        with torch.autocast(device.type, torch.bfloat16) if precision == "bf16" else nullcontext():
            yield
    finally:
        torch.backends.cuda.enable_cudnn_sdp(cudnn)


def train(*arguments: Any, **more: Any) -> None:
    """Train a model in place, with the arguments of `train_by_steps`."""
    for _ in train_by_steps(*arguments, **more):
        pass


def train_by_steps(
    trained: TrainingState,
    epoch_batches: Callable[[int], Iterable[Batch]],
    *,
    objective: Objective,
    epochs: int,
    precision: str = "fp32",
    accumulation: int = 1,
    clip_norm: float | None = 1.0,
    hooks: Sequence[Hook] = (),
    progress: EpochProgress | None = None,
    on_pieces: Callable[[int], None] | None = None,
    graphed: MakeGraphed | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[DueStep]:
    """Train a model in place, and yield each optimizer step when it is due.

    A step is taken on continuing, unless the caller has taken it together with those of other models.

    Args:
        trained: the model on its device, its optimizer, and its scheduler, which is
            stepped once per optimizer step.
        epoch_batches: epoch number -> its batches, deterministic.
        objective: the objective to minimise.
        epochs: number of passes over the documents, unless hooks stop training before.
        precision: `fp32` or `bf16`.
        accumulation: batches per optimizer step, weighted like one large batch; the last
            step of an epoch may have fewer.
        clip_norm: maximum norm of the whole gradient; None for no clipping.
        hooks: called after each batch, optimizer step and epoch.
        progress: progress from which to resume; None is the beginning.
        on_pieces: if a batch does not fit in the device's memory, each is split into twice as many pieces
            whose gradients are accumulated, and this is called with their number; None raises the error.
        graphed: records passes as CUDA graphs; None records nothing.
        clock: returns seconds, of which the records have differences.

    Raises:
        LossError: a loss is not finite; found at the end of its epoch.
        torch.cuda.OutOfMemoryError: a batch does not fit in the device's memory.
    """
    progress = progress or EpochProgress()
    losses = HeadLosses(trained.model, objective, precision)
    recorded = None if graphed is None else RecordedLosses(losses, graphed)
    step = Step(trained, objective, losses, recorded, clip_norm, hooks, on_pieces)
    on_cpu = trained.device.type == "cpu"
    with keep_gradients(trained.model) if on_cpu else nullcontext(), recorded or nullcontext():
        while progress.epoch < epochs:
            trained.model.train()
            begun = clock() - progress.seconds
            left = islice(epoch_batches(progress.epoch), progress.batches, None)
            for batches in _groups(left, accumulation):
                due = DueStep(step, batches, progress)
                yield due
                if not due.is_taken:
                    step.take(batches, progress)
                progress.seconds = clock() - begun
                for hook in hooks:
                    hook.on_step(progress)
            loss = mean_loss(progress)  # the device has finished
            record = _record(trained, objective, progress, loss, clock() - begun)
            objective.balancer.end_epoch()
            for hook in hooks:
                hook.on_epoch(record)
            if any(hook.done for hook in hooks):
                return
            progress = progress.next_epoch()


def logits_of(
    model: MultiTaskModel, batch: Batch, heads: Sequence[str], row: int | None = None, **more: Any
) -> dict[str, torch.Tensor]:
    """Return the logits of some heads on a batch; see `MultiTaskModel.forward`."""
    logits: dict[str, torch.Tensor] = model(
        batch.input_ids,
        batch.attention_mask,
        batch.segments,
        batch.words,
        batch.mentions,
        heads=heads,
        tokens=batch.tokens,
        row=row,
        windows=batch.windows,
        **more,
    )
    return logits


class HeadLosses(nn.Module):
    """Computes the losses of a batch's heads, including all that uses weights."""

    def __init__(self, model: MultiTaskModel, objective: Objective, precision: str) -> None:
        super().__init__()
        self.model, self.objective, self.precision = model, objective, precision

    def forward(self, batch: Batch, here: Sequence[int], row: int | None = None) -> torch.Tensor:
        """Return the loss of each of the terms `here` on a batch [here]; see `MultiTaskModel.row`."""
        names = [self.objective.names[number] for number in here]
        with autocast(batch.input_ids.device, self.precision):
            compute = partial(logits_of, self.model, batch, names, row)
            is_plain = not self.model.is_perturbed
            logits, added = (compute(), {}) if is_plain else adversarial_losses(self.model, compute)
        return self.objective.losses(self.model, logits, batch.targets, here, batch.teacher_outputs, added)


@dataclass
class Step:
    """Takes the optimizer steps of one model."""

    trained: TrainingState
    objective: Objective
    losses: HeadLosses
    recorded: RecordedLosses | None
    clip_norm: float | None
    hooks: Sequence[Hook]
    on_pieces: Callable[[int], None] | None
    pieces: int = 1

    def take(self, batches: Sequence[Batch], progress: EpochProgress) -> None:
        """Take a step of some batches."""
        self.objective.begin(progress.step)
        self.end(batches, progress, self._gradient(batches))

    def end(
        self, batches: Sequence[Batch], progress: EpochProgress, values: StepValues, *, updated: bool = False
    ) -> None:
        """Change the weights by their gradients, unless they are `updated`, and count the step."""
        progress.count(*values, np.concatenate([batch.index for batch in batches]))
        progress.tokens += sum(batch.tokens for batch in batches)
        for batch in batches:
            for hook in self.hooks:
                hook.on_batch(len(batch.index))
        if self.clip_norm is not None and not updated:
            self._clip(self.clip_norm)
        if not updated:
            self.trained.optimizer.step()
        self.trained.scheduler.step()
        self.trained.optimizer.zero_grad(set_to_none=True)
        progress.step += 1
        progress.batches += len(batches)

    def _clip(self, norm: float) -> None:
        """Scale the gradient down to a norm if it is longer, as `clip_grad_norm_`."""
        flat = None if self.recorded is None else self.recorded.gradient()
        if flat is None:
            clip_grad_norm_(self.trained.model.parameters(), norm)
        else:  # two operations instead of some for each weight
            flat.mul_((norm / (flat.norm() + 1e-6)).clamp(max=1))

    def _gradient(self, batches: Sequence[Batch]) -> StepValues:
        """Accumulate the gradient of a step, and return its values."""
        largest = max(len(batch.index) for batch in batches)
        # windows of a document, so that parts have the usual memory
        windows = max(-(-len(batch.input_ids) // len(batch.index)) for batch in batches)
        while True:
            pieces = max(self.pieces, self._by_length(largest), windows)
            try:
                return self._backward(self.divide(batches, pieces))
            except torch.cuda.OutOfMemoryError:
                freed = self.recorded is not None and self.recorded.release()
                if not freed and (self.on_pieces is None or self.pieces >= largest):
                    raise
            self.trained.optimizer.zero_grad(set_to_none=True)
            torch.cuda.empty_cache()
            if not freed and self.on_pieces is not None:
                self.pieces *= 2
                self.on_pieces(self.pieces)

    def divide(self, batches: Sequence[Batch], pieces: int) -> OptimizerStep:
        """Divide a step into parts that are computed separately, about `pieces` of each batch."""
        by_word = [self.trained.model.kinds[name].by_word for name in self.objective.names]
        return divide(batches, self.objective, by_word=by_word, pieces=pieces)

    def _by_length(self, largest: int) -> int:
        """Return the number of parts per batch: documents are sorted by length, so parts need less padding.

        It is 1 if the model needs no padding, on a GPU, where large batches are faster, and if factors depend
        on losses or gradients, which would need another pass.
        """
        padded = self.trained.device.type == "cpu" and not self.trained.model.packs
        return -(-largest // DOCUMENTS_PER_PART) if padded and not self.objective.looks_ahead else 1

    def _backward(self, step: OptimizerStep) -> StepValues:
        """Compute the gradient of a step in parts: that of the sum of factor * share * mean loss."""
        ahead = self._ahead(step) if self.objective.looks_ahead and len(step.parts) > 1 else None
        step_losses = step.zeros(self.trained.device)
        for part in step.parts:
            part_losses, gramian = (
                self._losses_and_gramian(part) if ahead is None else (self._losses(part), None)
            )
            step_losses[part.place] += part_losses.detach()
            if gramian is not None:
                self.objective.compare(gramian, step_losses, step.sources)
            factors = self.objective.factors(step_losses if ahead is None else ahead, step.sources)
            (factors[part.place] * part_losses).sum().backward()
            del part_losses  # with its graph, whose nodes a recording of the next part may not meet
        return self.learn(step, factors, step_losses)

    def learn(self, step: OptimizerStep, factors: torch.Tensor, losses: torch.Tensor) -> StepValues:
        """Let the balancer learn from the factors and losses [R] of a step, and return its values."""
        self.objective.learn(losses, step.sources)
        loss, heads = (factors * losses).sum(), self.objective.record(losses, step.sources)
        return loss, heads, self.objective.balanced

    def _ahead(self, step: OptimizerStep) -> torch.Tensor:
        """Return the losses [R] of a step's terms in a pass without updates, with the same dropout masks."""
        losses, gramians = step.zeros(self.trained.device), []
        device = self.trained.device
        with torch.random.fork_rng([device] if device.type == "cuda" else []):
            for part in step.parts:
                with torch.set_grad_enabled(self.objective.balancer.gradients):
                    part_losses, gramian = self._losses_and_gramian(part)
                losses[part.place] += part_losses.detach()
                del part_losses  # with its graph
                gramians += [] if gramian is None else [gramian]
        if gramians:  # gradients of different documents have no vector in common, so products add up
            self.objective.compare(torch.stack(gramians).sum(0), losses, step.sources)
        return losses

    def _losses_and_gramian(self, part: BatchPart) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return the losses of a part, and the products of their gradients if the balancer needs them."""
        if not self.objective.balancer.gradients:
            return self._losses(part), None
        with vectors_of(self.trained.model.heads.values()) as vectors:
            losses = self._losses(part)
        return losses, gramian_of(losses, vectors)

    def _losses(self, part: BatchPart) -> torch.Tensor:
        """Return the contribution of a part to the losses of its terms."""
        losses = self.losses if self.recorded is None else self.recorded
        return part.contribution(losses(part.batch.to(self.trained.device), part.terms))


@dataclass
class DueStep:
    """A step that is due, and whether it was taken with those of other models."""

    step: Step
    batches: Sequence[Batch]
    progress: EpochProgress
    is_taken: bool = False


def _groups(batches: Iterable[Batch], size: int) -> Iterable[list[Batch]]:
    group: list[Batch] = []
    for batch in batches:
        group.append(batch)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


def _record(
    trained: TrainingState, objective: Objective, progress: EpochProgress, loss: float, seconds: float
) -> EpochLosses:
    return EpochLosses(
        progress.epoch,
        loss,
        _means(trained.model.specs, progress.heads),
        float(trained.scheduler.get_last_lr()[0]),
        seconds,
        progress.documents,
        progress.tokens,
        _means(objective.term_names, progress.factors),
    )


def _means(names: Iterable[str], steps: list[torch.Tensor]) -> dict[str, float]:
    """Return the means over the steps that have a value; empty for older checkpoints, which have none."""
    means = torch.stack(steps).nanmean(0).tolist() if steps else []
    return {name: mean for name, mean in zip(names, means, strict=bool(means)) if not math.isnan(mean)}
