"""Tagging tasks: a tag for each word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch

from mtlv.models.heads import Head, HeadSize
from mtlv.models.kinds.kind import Kind, Tensors, the_only
from mtlv.models.kinds.tagging_layers import LAYERS, TaggingLayer, TagHead
from mtlv.plan import Task
from mtlv.plan.tagging import BIO, Scheme, Tags


@dataclass(frozen=True)
class Tagging(Kind):
    """Scores of each tag for each word's first token; the loss is a mean over words, the scores are tag ids.

    Other tokens of a word and special tokens have no tags; a wrong tag for them would count as a
    chunk (see the docs).
    """

    scheme: Scheme = BIO
    layer: TaggingLayer = LAYERS["linear"]  # one of `LAYERS`, between the word vectors and their tags
    learned: TagHead | None = None  # the head created for it; see `bind`

    by_word = True
    scored_by_word = True

    def outputs(self, tasks: Sequence[Task]) -> int:
        return len(Tags(self.scheme, the_only(tasks).classes).names)

    def head(self, shape: HeadSize) -> TagHead:
        return self.layer(shape)

    def bind(self, head: Head) -> Self:
        """Return the kind for one head, whose weights may be needed to score a sequence of tags."""
        assert isinstance(head, TagHead)
        return replace(self, learned=head)

    def losses(self, logits: torch.Tensor, targets: Tensors) -> torch.Tensor:
        return self._bound.loss(logits, the_only(targets)).unsqueeze(0)

    def teacher_outputs(self, logits: torch.Tensor) -> Tensors:
        return (logits.float(),)

    def distillation_losses(
        self, logits: torch.Tensor, targets: Tensors, *, teacher_outputs: Tensors, temperature: float
    ) -> torch.Tensor:
        student_scores, teacher_scores = logits / temperature, the_only(teacher_outputs) / temperature
        loss = self._bound.distillation_loss(student_scores, the_only(targets), teacher_scores)
        return loss.unsqueeze(0) * temperature**2

    def scores(self, logits: torch.Tensor, targets: Tensors = ()) -> Tensors:
        return (self._bound.tags(logits),)

    @property
    def _bound(self) -> TagHead:
        assert self.learned is not None  # a model binds each head's kind
        return self.learned
