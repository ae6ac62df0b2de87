"""Kinds of task: what a head's raw outputs mean, how they are learned and scored.

A new kind is one more class in `KINDS`.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch.nn import functional


class Kind(Protocol):
    """What a head needs to know about its tasks."""

    def outputs(self, tasks: int) -> int:
        """How many columns a head for so many tasks has."""
        ...

    def losses(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Mean loss of each task [T], from logits [B, outputs] and targets [B, T]."""
        ...

    def scores(self, logits: torch.Tensor) -> torch.Tensor:
        """Raw scores of each task [B, T], before any threshold."""
        ...


class Binary:
    """Yes or no: one logit per task, binary cross-entropy, the score is the probability of yes."""

    def outputs(self, tasks: int) -> int:
        return tasks

    def losses(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        losses = functional.binary_cross_entropy_with_logits(
            logits.float(), targets.float(), reduction="none"
        )
        return losses.mean(0)

    def scores(self, logits: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(logits.float())


KINDS: dict[str, Kind] = {"binary": Binary()}
