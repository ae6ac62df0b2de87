"""Kinds of task: what a head's raw outputs mean, how they are learned and scored.

A new kind is one more module with a class, named in `KINDS`, and its targets in `mtlv.data.targets`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch

from mtlv.models.heads import Head, HeadSize
from mtlv.models.kinds.binary import Binary
from mtlv.models.kinds.multiclass import Multiclass
from mtlv.models.kinds.regression import Regression
from mtlv.models.kinds.tagging import Tagging
from mtlv.models.kinds.tagging_layers import LAYERS
from mtlv.plan import Task
from mtlv.plan.tagging import SCHEMES


class Kind(Protocol):
    """What a head needs to know about its tasks, T of them.

    Args:
        by_word: whether a head reads a vector for each word [B, W, H], and not one for each document [B, H].
    """

    @property
    def by_word(self) -> bool: ...

    def outputs(self, tasks: Sequence[Task]) -> int:
        """How many columns a head for these tasks has."""
        ...

    def head(self, shape: HeadSize) -> Head:
        """The module that learns."""
        ...

    def bound(self, head: Head) -> Kind:
        """The kind as one head has it: its losses and scores may need the head's weights."""
        ...

    def losses(self, logits: torch.Tensor, targets: Sequence[torch.Tensor]) -> torch.Tensor:
        """Mean loss of each task [T], from the head's logits and each task's targets [B] or [B, W]."""
        ...

    def scores(self, logits: torch.Tensor) -> Sequence[torch.Tensor]:
        """Raw scores of each of the T tasks, before any threshold: [B], [B, C] or [B, W]."""
        ...


KINDS: dict[str, Kind] = {
    "binary": Binary(),
    "multiclass": Multiclass(),
    "regression": Regression(),
    "tagging": Tagging(),
}


def kinds_with(*, tagging_scheme: str, tagging_layer: str) -> dict[str, Kind]:
    """`KINDS`, with tags of one of `SCHEMES` behind one of `LAYERS`.

    Raises:
        KeyError: of neither.
    """
    return {**KINDS, "tagging": Tagging(SCHEMES[tagging_scheme], LAYERS[tagging_layer])}
