"""Loading the weights of an earlier model into a model that continues from it."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import nn

from mtlv.errors import PlanError

ENCODER = "encoder."

CARRY = {"encoder": False, "encoder_and_heads": True}
"""Whether heads are taken over, too; those with the same name have the same tasks."""


def take_over(model: nn.Module, weights: Mapping[str, torch.Tensor], carry: str) -> None:
    """Load an earlier model's weights into a model; heads that are not in them stay new.

    Raises:
        PlanError: the encoder differs, or heads have other shapes.
    """
    state = model.state_dict()
    taken = {
        name: value
        for name, value in weights.items()
        if name.startswith(ENCODER) or (CARRY[carry] and name in state)
    }
    missing = [name for name in state if name.startswith(ENCODER) and name not in taken]
    others = [
        name for name, value in taken.items() if name not in state or state[name].shape != value.shape
    ] + missing
    if others:
        raise PlanError(
            "the weights of the earlier stage do not match this encoder and these heads",
            got=", ".join(others[:3]),
            then="set `start.carry: encoder`, or give the heads the same `head_layers`",
        )
    model.load_state_dict(taken, strict=False)
