"""Multiclass tasks."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn import functional

from mtlv.models.kinds.class_weights import WeightedKind
from mtlv.models.kinds.kind import Tensors, the_only
from mtlv.plan import Task
from mtlv.plan.task import UNKNOWN


class Multiclass(WeightedKind):
    """A logit per class, cross-entropy; the scores are the classes' probabilities [B, C]."""

    def sizes(self, outputs: int) -> tuple[int, int]:
        return 1, outputs

    def outputs(self, tasks: Sequence[Task]) -> int:
        return len(the_only(tasks).classes)

    def losses(self, logits: torch.Tensor, targets: Tensors) -> torch.Tensor:
        classes = the_only(targets)
        # over all documents, as for yes/no labels: PyTorch's own mean, over the known ones or by its weights,
        # would count a document by the others in its batch
        if self.learned is None:
            summed = functional.cross_entropy(logits.float(), classes, ignore_index=UNKNOWN, reduction="sum")
            return (summed / len(classes)).unsqueeze(0)
        losses = functional.cross_entropy(logits.float(), classes, ignore_index=UNKNOWN, reduction="none")
        return (losses * self.learned.class_weights[0, classes]).mean().unsqueeze(0)

    def teacher_outputs(self, logits: torch.Tensor) -> Tensors:
        return (logits.float(),)

    def distillation_losses(
        self, logits: torch.Tensor, targets: Tensors, *, teacher_outputs: Tensors, temperature: float
    ) -> torch.Tensor:
        probabilities = torch.softmax(the_only(teacher_outputs) / temperature, dim=1)  # [B, C]
        loss = functional.cross_entropy(logits.float() / temperature, probabilities)
        return loss.unsqueeze(0) * temperature**2

    def scores(self, logits: torch.Tensor, targets: Tensors = ()) -> Tensors:
        return (torch.softmax(logits.float(), dim=1),)
