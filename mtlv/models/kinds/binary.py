"""Binary tasks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import torch
from torch.nn import functional

from mtlv.models.heads import Head, HeadSize
from mtlv.models.kinds.class_weights import CLASS_WEIGHTS, WeightedHead
from mtlv.models.kinds.kind import Kind, Tensors
from mtlv.plan.task import UNKNOWN


@dataclass(frozen=True)
class Binary(Kind):
    """One logit per task, binary cross-entropy; the score is the probability of yes."""

    class_weights: str | None = None  # one of `CLASS_WEIGHTS`
    learned: WeightedHead | None = None  # the head created for it, if it has weights

    def head(self, shape: HeadSize) -> Head:
        if self.class_weights is None:
            return super().head(shape)
        return WeightedHead(shape, tasks=shape.outputs, classes=2, power=CLASS_WEIGHTS[self.class_weights])

    def bound(self, head: Head) -> Self:
        return replace(self, learned=head) if isinstance(head, WeightedHead) else self

    def losses(self, logits: torch.Tensor, targets: Tensors) -> torch.Tensor:
        wanted = torch.stack(list(targets), dim=1).float()  # [B, T]
        losses = functional.binary_cross_entropy_with_logits(logits.float(), wanted, reduction="none")
        if self.learned is not None:
            of_no, of_yes = self.learned.class_weights.unbind(1)
            losses = losses * torch.where(wanted == 1, of_yes, of_no)
        return (losses * (wanted != UNKNOWN)).mean(0)  # over all documents: each known label counts the same

    def taught(
        self, logits: torch.Tensor, targets: Tensors, *, teacher_outputs: Tensors, temperature: float
    ) -> torch.Tensor:
        wanted = torch.sigmoid(torch.stack(list(teacher_outputs), dim=1) / temperature)  # [B, T]
        own = logits.float() / temperature
        losses = functional.binary_cross_entropy_with_logits(own, wanted, reduction="none")
        return (losses * temperature**2).mean(0)

    def scores(self, logits: torch.Tensor, targets: Tensors = ()) -> Tensors:
        return torch.sigmoid(logits.float()).unbind(1)
