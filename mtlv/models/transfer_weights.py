"""Loading the weights of an earlier model into a model that continues from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import nn

from mtlv.errors import PlanError

ENCODER = "encoder."
Weights = Mapping[str, torch.Tensor]


def _of_encoder(weights: Weights, own: Weights) -> dict[str, torch.Tensor]:  # noqa: ARG001
    return {name: value for name, value in weights.items() if name.startswith(ENCODER)}


def _of_all(weights: Weights, own: Weights) -> dict[str, torch.Tensor]:
    """Return the weights of encoder and heads; heads with the same name have the same tasks."""
    heads = {name: value for name, value in weights.items() if name in own and not name.startswith(ENCODER)}
    return _of_encoder(weights, own) | heads


CARRY: dict[str, Callable[[Weights, Weights], dict[str, torch.Tensor]]] = {
    "encoder": _of_encoder,
    "encoder_and_heads": _of_all,
}
"""Selection of an earlier model's weights, given those and the model's own."""


def take_over(model: nn.Module, weights: Weights, carry: str) -> None:
    """Load an earlier model's weights into a model; heads that are not in them stay new.

    Raises:
        PlanError: the encoder differs, or heads have other shapes.
    """
    own = model.state_dict()
    taken = CARRY[carry](weights, own)
    missing = [name for name in own if name.startswith(ENCODER) and name not in taken]
    others = [
        name for name, value in taken.items() if name not in own or own[name].shape != value.shape
    ] + missing
    if others:
        raise PlanError(
            "the weights of the earlier stage do not match this encoder and these heads",
            got=", ".join(others[:3]),
            then="set `start.carry: encoder`, or give the heads the same `head_layers`",
        )
    model.load_state_dict(taken, strict=False)
