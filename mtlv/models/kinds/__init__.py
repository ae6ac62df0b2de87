"""Kinds of task: the meaning of a head's outputs, their losses and scores.

A new kind needs one more module with a class in `KINDS`; CONTRIBUTING.md names the other registries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch

from mtlv.models.heads import Head, HeadSize
from mtlv.models.kinds.binary import Binary
from mtlv.models.kinds.masked import MaskedPieces
from mtlv.models.kinds.multiclass import Multiclass
from mtlv.models.kinds.regression import Regression
from mtlv.models.kinds.tagging import Tagging
from mtlv.models.kinds.tagging_layers import LAYERS
from mtlv.plan import Task
from mtlv.plan.tagging import SCHEMES


class Kind(Protocol):
    """Operations of a head on its tasks, T of them.

    Args:
        by_word: whether a head reads one vector per word [B, W, H] instead of per document [B, H].
        scored_by_word: whether there is a score per word.
    """

    by_word: bool
    scored_by_word: bool

    def outputs(self, tasks: Sequence[Task]) -> int:
        """Return the number of outputs of a head for these tasks."""
        ...

    def head(self, shape: HeadSize) -> Head:
        """Return the trainable module."""
        ...

    def bound(self, head: Head) -> Kind:
        """Return the kind for one head, whose weights its losses and scores may need."""
        ...

    def losses(self, logits: torch.Tensor, targets: Sequence[torch.Tensor]) -> torch.Tensor:
        """Return the mean loss of each task [T], given the logits and the tasks' targets [B] or [B, W]."""
        ...

    def scores(self, logits: torch.Tensor, targets: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """Return raw scores of each of the T tasks, before any threshold: [B], [B, C] or [B, W].

        Only masked language modelling needs the targets, which a new text does not have.
        """
        ...

    def lessons(self, logits: torch.Tensor) -> Sequence[torch.Tensor]:
        """Return what another model can learn of each of the T tasks: [B], [B, C] or [B, W, C]."""
        ...

    def taught(
        self,
        logits: torch.Tensor,
        targets: Sequence[torch.Tensor],
        *,
        lessons: Sequence[torch.Tensor],
        temperature: float,
    ) -> torch.Tensor:
        """Return the mean loss of each task [T] on a teacher's outputs, as `losses` does on targets.

        Args:
            logits: the student's logits.
            targets: the tasks' targets, for the words that are learned.
            lessons: the teacher's `lessons`.
            temperature: divides both, if they are logits of probabilities; its square multiplies the loss, so
                that gradients are as large as at 1 (Hinton et al. 2015).
        """
        ...


KINDS: dict[str, Kind] = {
    "binary": Binary(),
    "multiclass": Multiclass(),
    "regression": Regression(),
    "tagging": Tagging(),
    "mlm": MaskedPieces(),
}


def kinds_with(*, tagging_scheme: str, tagging_layer: str) -> dict[str, Kind]:
    """Return `KINDS`, with one of `SCHEMES` and one of `LAYERS` for tagging.

    Raises:
        KeyError: an unknown scheme or layer.
    """
    return {**KINDS, "tagging": Tagging(SCHEMES[tagging_scheme], LAYERS[tagging_layer])}
