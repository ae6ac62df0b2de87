"""Base of the kinds of task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, TypeVar

import torch

from mtlv.errors import PlanError
from mtlv.models.heads import Head, HeadSize
from mtlv.plan import Task

T = TypeVar("T")
Tensors = Sequence[torch.Tensor]
"""One for each of the T tasks of a head."""


class Kind:
    """Operations of a head on its tasks, T of them; by default a plain head, without weights of the kind.

    Args:
        by_word: whether a head reads one vector per word [B, W, H] instead of per document [B, H].
        scored_by_word: whether there is a score per word.
        adversarial: weight in `mtlv.training.adversarial`.
        version: part of the keys of units with such tasks, unless 0. Increase it when the same settings give
            different weights, so that old units are not used for new ones.
    """

    by_word = False
    scored_by_word = False
    adversarial = 0.0
    version = 0

    def outputs(self, tasks: Sequence[Task]) -> int:
        """Return the number of outputs of a head for these tasks; by default one for each."""
        return len(tasks)

    def head(self, shape: HeadSize) -> Head:
        """Return the trainable module."""
        return Head(shape)

    def bind(self, head: Head) -> Self:
        """Return the kind for one head, whose weights its losses and scores may need."""
        return self

    def losses(self, logits: torch.Tensor, targets: Tensors) -> torch.Tensor:
        """Return the mean loss of each task [T], given the logits and the tasks' targets [B] or [B, W]."""
        raise NotImplementedError

    def scores(self, logits: torch.Tensor, targets: Tensors) -> Tensors:
        """Return raw scores of each of the T tasks, before any threshold: [B], [B, C] or [B, W].

        Only masked language modelling needs the targets, which a new text does not have.
        """
        raise NotImplementedError

    def teacher_outputs(self, logits: torch.Tensor) -> Tensors:
        """Return what another model can learn of each of the T tasks: [B], [B, C] or [B, W, C]."""
        return logits.float().unbind(1)

    def distillation_losses(
        self, logits: torch.Tensor, targets: Tensors, *, teacher_outputs: Tensors, temperature: float
    ) -> torch.Tensor:
        """Return the mean loss of each task [T] on a teacher's outputs, as `losses` does on targets.

        Args:
            logits: the student's logits.
            targets: the tasks' targets, for the words that are learned.
            teacher_outputs: the teacher's `teacher_outputs`.
            temperature: divides both, if they are logits of probabilities; its square multiplies the loss, so
                that gradients are as large as at 1 (Hinton et al. 2015).
        """
        raise NotImplementedError


def the_only(items: Sequence[T]) -> T:
    """Return the only item of a kind whose tasks do not share a head: a plan gives each its own.

    Raises:
        PlanError: there are several.
    """
    if len(items) != 1:
        raise PlanError("a task with classes shares a head", got=f"{len(items)} tasks", allowed="one task")
    return items[0]
