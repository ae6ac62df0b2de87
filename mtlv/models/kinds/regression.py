"""Regression tasks."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn import functional

from mtlv.models.kinds.kind import Kind


class Regression(Kind):
    """One output per task, squared error; the score is the output."""

    def losses(self, logits: torch.Tensor, targets: Sequence[torch.Tensor]) -> torch.Tensor:
        wanted = torch.stack(list(targets), dim=1).float()  # [B, T]
        return functional.mse_loss(logits.float(), wanted, reduction="none").mean(0)

    def taught(
        self,
        logits: torch.Tensor,
        targets: Sequence[torch.Tensor],
        *,
        teacher_outputs: Sequence[torch.Tensor],
        temperature: float,
    ) -> torch.Tensor:
        return self.losses(logits, teacher_outputs)

    def scores(self, logits: torch.Tensor, targets: Sequence[torch.Tensor] = ()) -> Sequence[torch.Tensor]:
        return logits.float().unbind(1)
