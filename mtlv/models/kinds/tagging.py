"""A tag for each word."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn import functional

from mtlv.models.kinds.alone import the_only
from mtlv.plan import Task
from mtlv.plan.tagging import BIO, Scheme, Tags

IGNORED = -100  # the target of what is no word, or was cut off: PyTorch's own default


class Tagging:
    """A logit per tag for each word's first piece, cross-entropy over words; the scores are tags [B, W].

    Continuations of a word and special tokens are no tags of their own: a tag of theirs would count as a
    chunk where it is predicted wrongly (see the docs).

    Args:
        scheme: how spans become tags.
    """

    by_word = True

    def __init__(self, scheme: Scheme = BIO) -> None:
        self.scheme = scheme

    def outputs(self, tasks: Sequence[Task]) -> int:
        return len(Tags(self.scheme, the_only(tasks).classes).names)

    def losses(self, logits: torch.Tensor, targets: Sequence[torch.Tensor]) -> torch.Tensor:
        flat, wanted = logits.float().flatten(0, 1), the_only(targets).flatten()
        summed = functional.cross_entropy(flat, wanted, ignore_index=IGNORED, reduction="sum")
        return (summed / (wanted != IGNORED).sum().clamp(min=1)).unsqueeze(0)

    def scores(self, logits: torch.Tensor) -> Sequence[torch.Tensor]:
        return (logits.argmax(-1),)
