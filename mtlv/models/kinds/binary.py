"""Binary tasks."""

from __future__ import annotations

import torch
from torch.nn import functional

from mtlv.models.kinds.class_weights import WeightedKind
from mtlv.models.kinds.kind import Tensors
from mtlv.plan.task import UNKNOWN


class Binary(WeightedKind):
    """One logit per task, binary cross-entropy; the score is the probability of yes."""

    def sizes(self, outputs: int) -> tuple[int, int]:
        return outputs, 2

    def losses(self, logits: torch.Tensor, targets: Tensors) -> torch.Tensor:
        labels = torch.stack(list(targets), dim=1).float()  # [B, T]
        losses = functional.binary_cross_entropy_with_logits(logits.float(), labels, reduction="none")
        if self.learned is not None:
            of_no, of_yes = self.learned.class_weights.unbind(1)
            losses = losses * torch.where(labels == 1, of_yes, of_no)
        return (losses * (labels != UNKNOWN)).mean(0)  # over all documents: each known label counts the same

    def distillation_losses(
        self, logits: torch.Tensor, targets: Tensors, *, teacher_outputs: Tensors, temperature: float
    ) -> torch.Tensor:
        probabilities = torch.sigmoid(torch.stack(list(teacher_outputs), dim=1) / temperature)  # [B, T]
        student_logits = logits.float() / temperature
        losses = functional.binary_cross_entropy_with_logits(student_logits, probabilities, reduction="none")
        return (losses * temperature**2).mean(0)

    def scores(self, logits: torch.Tensor, targets: Tensors = ()) -> Tensors:
        return torch.sigmoid(logits.float()).unbind(1)
