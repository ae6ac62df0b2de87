"""Base of kinds whose heads read one vector per document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import torch

from mtlv.models.heads import Head, HeadSize
from mtlv.plan import Task


class DocumentKind:
    """A plain head, whose outputs are interpreted without weights."""

    by_word = False
    scored_by_word = False

    def outputs(self, tasks: Sequence[Task]) -> int:
        """Return one output for each task."""
        return len(tasks)

    def head(self, shape: HeadSize) -> Head:
        """Return the trainable module."""
        return Head(shape)

    def bound(self, head: Head) -> Self:
        """Return the kind for one head."""
        return self

    def lessons(self, logits: torch.Tensor) -> Sequence[torch.Tensor]:
        """Return the output of each task [B]."""
        return logits.float().unbind(1)
