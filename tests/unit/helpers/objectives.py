"""What an objective comes to on one batch, in a single part."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from mtlv.models.multitask import MultiTaskModel
from mtlv.training.objective import Objective


def on_batch(
    aim: Objective,
    model: MultiTaskModel,
    logits: Mapping[str, torch.Tensor],
    targets: Mapping[str, torch.Tensor],
) -> tuple[torch.Tensor, torch.Tensor]:
    """The scalar to minimise, and each head's own loss [heads]; NaN for heads without targets."""
    here = aim.here(targets)
    losses = aim.losses(model, logits, targets, here)
    found = losses.detach()
    return (aim.factors(found, {here: 1.0}) * losses).sum(), aim.record(found, [here])
