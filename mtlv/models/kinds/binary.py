"""Binary tasks."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn import functional

from mtlv.models.kinds.documents import DocumentKind
from mtlv.plan import Task


class Binary(DocumentKind):
    """One logit per task, binary cross-entropy; the score is the probability of yes."""

    def outputs(self, tasks: Sequence[Task]) -> int:
        return len(tasks)

    def losses(self, logits: torch.Tensor, targets: Sequence[torch.Tensor]) -> torch.Tensor:
        wanted = torch.stack(list(targets), dim=1).float()  # [B, T]
        losses = functional.binary_cross_entropy_with_logits(logits.float(), wanted, reduction="none")
        return losses.mean(0)

    def scores(self, logits: torch.Tensor) -> Sequence[torch.Tensor]:
        return torch.sigmoid(logits.float()).unbind(1)
