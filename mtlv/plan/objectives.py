"""Objectives: combine the losses of several heads into one loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Combine:
    """A choice of `training.head_loss`: the sum of the losses of K heads, each multiplied by its factor.

    Args:
        factors: function of (losses [K], weights [K]) that returns factors [K]. They are constants: a
            gradient through the shares of `loss_proportional` would increase the loss of easy heads.
        by_loss: whether the factors depend on the losses.
        weighted: whether they depend on `training.head_weights`.
        normed: whether the factor of a single head is always 1, regardless of its loss and weight.
        title: a line for users.
    """

    factors: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    by_loss: bool = False
    weighted: bool = False
    normed: bool = False
    title: str = ""


total = Combine(lambda _, weights: weights.new_ones(len(weights)), title="the sum of the losses")
mean = Combine(
    lambda _, weights: weights.new_full((len(weights),), 1 / len(weights)), normed=True, title="their mean"
)
weighted_sum = Combine(
    lambda _, weights: weights, weighted=True, title="their sum, weighted by `head_weights`"
)
weighted_mean = Combine(
    lambda _, weights: weights / weights.sum(),
    weighted=True,
    normed=True,
    title="their mean, weighted by `head_weights`",
)
loss_proportional = Combine(
    lambda losses, _: losses / losses.mean(),
    by_loss=True,
    normed=True,
    title="each weighted by its share of the mean loss",
)
