"""Regression tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch.nn import functional

from mtlv.models.heads import Head, HeadSize
from mtlv.models.kinds.kind import Kind, Tensors


class NumberHead(Head):
    """A head whose layers predict standardised numbers, and whose outputs are in the units of the targets."""

    mean: torch.Tensor
    deviation: torch.Tensor

    def __init__(self, shape: HeadSize) -> None:
        super().__init__(shape)
        self.register_buffer("mean", torch.zeros(shape.outputs))
        self.register_buffer("deviation", torch.ones(shape.outputs))

    def forward(self, vectors: torch.Tensor, there: torch.Tensor | None = None) -> torch.Tensor:
        return super().forward(vectors, there) * self.deviation + self.mean

    def use_targets(self, targets: Callable[[], Sequence[torch.Tensor]]) -> None:
        """Take the mean and the standard deviation of each task's known training targets."""
        for place, values in enumerate(targets()):
            known = values[~values.isnan()].double()
            self.mean[place] = known.mean()
            self.deviation[place] = known.std(correction=0)
        self.deviation[self.deviation == 0] = 1.0


@dataclass(frozen=True)
class Regression(Kind):
    """One output per task; the score is the output.

    The loss is the squared error in units of the training targets' variance, so that it is as large as that
    of other tasks whatever the numbers are, and always answering the mean has a loss of about 1.
    """

    learned: NumberHead | None = None  # the head created for it; see `bind`

    version = 1

    def head(self, shape: HeadSize) -> NumberHead:
        return NumberHead(shape)

    def bind(self, head: Head) -> Self:
        assert isinstance(head, NumberHead)
        return replace(self, learned=head)

    def losses(self, logits: torch.Tensor, targets: Tensors) -> torch.Tensor:
        assert self.learned is not None  # a model binds each head's kind
        unit, values = self.learned.deviation, torch.stack(list(targets), dim=1).float()  # [B, T]
        values = torch.where(values.isnan(), logits.detach().float(), values)  # unknown: no loss
        return functional.mse_loss(logits.float() / unit, values / unit, reduction="none").mean(0)

    def distillation_losses(
        self, logits: torch.Tensor, targets: Tensors, *, teacher_outputs: Tensors, temperature: float
    ) -> torch.Tensor:
        return self.losses(logits, teacher_outputs)

    def scores(self, logits: torch.Tensor, targets: Tensors = ()) -> Tensors:
        return logits.float().unbind(1)
