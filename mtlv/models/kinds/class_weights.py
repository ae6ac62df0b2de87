"""Weights of classes, with which rare ones count more in the loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch

from mtlv.models.heads import Head, HeadSize
from mtlv.models.kinds.kind import Kind
from mtlv.plan.task import UNKNOWN

CLASS_WEIGHTS: Mapping[str, float] = {"balanced": 1.0, "sqrt": 0.5}
"""Setting `training.class_weights` -> power of the number of documents that divides a class's weight."""


class WeightedHead(Head):
    """A head that knows the weights of its tasks' classes; only training needs them, so they are not saved.

    Args:
        shape: size of the head.
        tasks: T.
        classes: C, of each task.
        power: see `class_weights`.
    """

    class_weights: torch.Tensor  # [T, C]

    def __init__(self, shape: HeadSize, *, tasks: int, classes: int, power: float) -> None:
        super().__init__(shape)
        self.power = power
        self.register_buffer("class_weights", torch.ones(tasks, classes), persistent=False)

    def use_targets(self, targets: Callable[[], Sequence[torch.Tensor]]) -> None:
        """Count the classes of the training documents with a target."""
        for weights, values in zip(self.class_weights, targets(), strict=True):
            weights.copy_(class_weights(values[values != UNKNOWN], len(weights), self.power))


@dataclass(frozen=True)
class WeightedKind(Kind):
    """A kind of task whose documents have one of several classes, which may have weights in the loss."""

    class_weights: str | None = None  # one of `CLASS_WEIGHTS`
    learned: WeightedHead | None = None  # the head created for it, if it has weights

    def sizes(self, outputs: int) -> tuple[int, int]:
        """Return the number of tasks of a head with these outputs, and of the classes of each."""
        raise NotImplementedError

    def head(self, shape: HeadSize) -> Head:
        if self.class_weights is None:
            return super().head(shape)
        tasks, classes = self.sizes(shape.outputs)
        return WeightedHead(shape, tasks=tasks, classes=classes, power=CLASS_WEIGHTS[self.class_weights])

    def bind(self, head: Head) -> Self:
        return replace(self, learned=head) if isinstance(head, WeightedHead) else self


def class_weights(targets: torch.Tensor, classes: int, power: float) -> torch.Tensor:
    """Return the weight of each class [C], given the class of each document [n].

    The weight is the number of documents of the class to the power of `-power`, times a factor that makes the
    mean weight of a document 1. With power 1 it is n / (C n_c), scikit-learn's `class_weight="balanced"`.
    """
    counts = torch.bincount(targets.long(), minlength=classes).double()
    weights = counts.clamp(min=1) ** -power  # a class without documents is not used
    return weights * counts.sum() / (weights * counts).sum()
