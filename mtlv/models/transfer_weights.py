"""Weights of one model taken over by another that goes on from it."""

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
    """A head's name in the state is that of its tasks, so what has the same name learned the same."""
    heads = {name: value for name, value in weights.items() if name in own and not name.startswith(ENCODER)}
    return _of_encoder(weights, own) | heads


CARRY: dict[str, Callable[[Weights, Weights], dict[str, torch.Tensor]]] = {
    "encoder": _of_encoder,
    "encoder_and_heads": _of_all,
}
"""What of an earlier model's weights is taken over, given those and the model's own."""


def take_over(model: nn.Module, weights: Weights, carry: str) -> None:
    """Put an earlier model's weights into a model; heads that it does not have stay new.

    Args:
        model: that goes on, a `MultiTaskModel`.
        weights: the state of the earlier one.
        carry: one of `CARRY`.

    Raises:
        PlanError: they are of another encoder, or of heads of other shapes.
    """
    own = model.state_dict()
    taken = CARRY[carry](weights, own)
    missing = [name for name in own if name.startswith(ENCODER) and name not in taken]
    others = [
        name for name, value in taken.items() if name not in own or own[name].shape != value.shape
    ] + missing
    if others:
        raise PlanError(
            "the weights of the earlier stage are not of this encoder and these heads",
            got=", ".join(others[:3]),
            then="set `start.carry: encoder`, or give the heads the same `head_layers`",
        )
    model.load_state_dict(taken, strict=False)
