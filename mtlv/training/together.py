"""Steps of several models taken together: their encoders are computed as one, everything else by each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import functional

from mtlv.data.batches import Batch
from mtlv.models.base import token_types
from mtlv.models.fast.stacked import StackedEncoder, stacks
from mtlv.training.loop import DueStep, Step, StepValues, autocast


class TogetherSteps:
    """Takes steps of K models whose encoders have one structure; see `mtlv.models.fast.stacked.stacks`.

    Losses and weights are those of each model alone, up to rounding and the masks of dropout.

    Args:
        steps: the steps of the models, with one batch each, and without balancers that look ahead.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = tuple(steps)
        self._encoder = StackedEncoder([step.trained.model.encoder for step in steps])
        self._encoder.keep()

    @staticmethod
    def suit(step: Step) -> bool:
        """Whether steps of models with the encoder of this one can be taken together."""
        return stacks(step.trained.model.encoder)

    def take(self, due: Sequence[DueStep]) -> None:
        """Take the steps that are due, one of each model in their order."""
        values = self._gradients(due)
        for one, its_values in zip(due, values, strict=True):
            one.step.end(one.batches, one.progress, its_values)
            one.is_taken = True

    def _gradients(self, due: Sequence[DueStep]) -> list[StepValues]:
        """Compute the gradients of all models, and return the values of their steps."""
        for one in due:
            one.step.objective.begin(one.progress.step)
        divided = [one.step.divide(one.batches, 1) for one in due]
        batches = [step.parts[0].batch.to(self._device) for step in divided]
        values: list[StepValues] = []
        weighted: list[torch.Tensor] = []
        for one, step, batch, output in zip(due, divided, batches, self._encode(batches), strict=True):
            model, objective = one.step.trained.model, one.step.objective
            model.encoded = output
            try:
                losses = one.step.losses(batch, step.parts[0].terms)
            finally:
                model.encoded = None
            factors = objective.factors(losses.detach(), step.sources)
            weighted.append((factors * losses).sum())
            values.append(one.step.learn(step, factors, losses.detach()))
        torch.stack(weighted).sum().backward()
        self._encoder.share_gradients()
        return values

    @property
    def _device(self) -> torch.device:
        return self.steps[0].trained.device

    def _encode(self, batches: Sequence[Batch]) -> list[Any]:
        """Return the encoders' outputs for a batch of each, all padded to one shape."""
        count, length = (max(batch.input_ids.shape[side] for batch in batches) for side in (0, 1))
        mask = torch.cat([_pad(batch.attention_mask, count, length) for batch in batches])
        mask[:, 0] = True  # also of documents that are added: attention needs a token
        texts = [_pad(batch.segments, count, length) for batch in batches if batch.segments is not None]
        others = token_types(self.steps[0].trained.model.encoder, torch.cat(texts) if texts else None)
        with autocast(self._device, self.steps[0].losses.precision):
            ids = torch.cat([_pad(batch.input_ids, count, length) for batch in batches])
            output = self._encoder(ids, mask, self._row(batches, mask), **others)
        return [_part(output, number, batch, count) for number, batch in enumerate(batches)]

    def _row(self, batches: Sequence[Batch], mask: torch.Tensor) -> int | None:
        """Return the length of the rows in which a GPU computes batches without padding, if it does."""
        if self._device.type == "cpu":
            return None
        documents = len(mask) // len(batches)
        tokens = max(batch.tokens + documents - len(batch.index) for batch in batches)
        return self.steps[0].trained.model.row(mask[:documents], tokens)


def _pad(values: torch.Tensor, count: int, length: int) -> torch.Tensor:
    """Return [count, length] with values [B, L] and zeros."""
    return functional.pad(values, (0, length - values.shape[1], 0, count - len(values)))


def _part(output: Any, number: int, batch: Batch, count: int) -> Any:
    """Return the part of a stack's output that is of one encoder, for its documents and tokens."""
    documents, length = batch.input_ids.shape
    rows = slice(number * count, number * count + documents)
    parts = {name: values[rows] for name, values in output.items()}
    parts["last_hidden_state"] = parts["last_hidden_state"][:, :length]
    return type(output)(**parts)
