"""A tag for each word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch

from mtlv.models.heads import Head, HeadSize
from mtlv.models.kinds.alone import the_only
from mtlv.models.kinds.tagging_layers import LAYERS, TaggingLayer, TagHead
from mtlv.plan import Task
from mtlv.plan.tagging import BIO, Scheme, Tags


@dataclass(frozen=True)
class Tagging:
    """Raw scores of each tag for each word's first piece; the loss is a mean over words, the scores are tags.

    Continuations of a word and special tokens are no tags of their own: a tag of theirs would count as a
    chunk where it is predicted wrongly (see the docs).

    Args:
        scheme: how spans become tags.
        layer: one of `LAYERS`, which stands between the words' vectors and their tags.
        learned: the head that was made of it; see `bound`.
    """

    scheme: Scheme = BIO
    layer: TaggingLayer = LAYERS["linear"]
    learned: TagHead | None = None

    by_word = True

    def outputs(self, tasks: Sequence[Task]) -> int:
        return len(Tags(self.scheme, the_only(tasks).classes).names)

    def head(self, shape: HeadSize) -> TagHead:
        return self.layer(shape)

    def bound(self, head: Head) -> Self:
        """The kind as one head has it, whose weights may be needed to score a sequence of tags."""
        assert isinstance(head, TagHead)
        return replace(self, learned=head)

    def losses(self, logits: torch.Tensor, targets: Sequence[torch.Tensor]) -> torch.Tensor:
        return self._bound.loss(logits, the_only(targets)).unsqueeze(0)

    def scores(self, logits: torch.Tensor) -> Sequence[torch.Tensor]:
        return (self._bound.tags(logits),)

    @property
    def _bound(self) -> TagHead:
        assert self.learned is not None  # a model binds each head's kind
        return self.learned
