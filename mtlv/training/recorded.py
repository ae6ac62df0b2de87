"""Training steps whose passes are recorded as CUDA graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from mtlv.data.batches import Batch
from mtlv.models.fast.graphs import Graphed
from mtlv.training.teaching import NO_TEACHER

if TYPE_CHECKING:
    from mtlv.training.loop import HeadLosses

MakeGraphed = Callable[..., Graphed]
"""(module, precision of its products) -> the module with recorded passes."""
TARGET_PREFIX = "target of "


class RecordedLosses:
    """Losses of a batch's heads, as `HeadLosses`, with recorded passes.

    The passes of the model with its losses are recorded, or, with items per word or teachers, those of its
    encoder alone: the shapes of their tensors do not follow from the numbers of documents and tokens, and the
    share of a teacher changes with each step.

    Args:
        losses: the losses.
        make: returns a module with recorded passes.
    """

    def __init__(self, losses: HeadLosses, make: MakeGraphed) -> None:
        self._losses, model = losses, losses.model
        has_items_per_word = any(kind.by_word for kind in model.kinds.values())
        self._records_model = losses.objective.teaching is NO_TEACHER and not has_items_per_word
        precision = torch.bfloat16 if losses.precision == "bf16" else None
        self._graphed = make(_OfTensors(losses), precision) if self._records_model else model.use_graphs(make)

    def __call__(self, batch: Batch, here: Sequence[int]) -> torch.Tensor:
        """Return the loss of each of the terms `here` on a batch [here]."""
        row = self._losses.model.row(batch.attention_mask, batch.tokens)
        if not self._records_model:
            of_encoder: torch.Tensor = self._losses(batch, here, row)
            return of_encoder
        inputs = {"input_ids": batch.input_ids, "attention_mask": batch.attention_mask}
        inputs |= {f"{TARGET_PREFIX}{task}": targets for task, targets in batch.targets.items()}
        if batch.segments is not None:
            inputs["segments"] = batch.segments
        if batch.mentions is not None:
            inputs["mentions"] = batch.mentions
        losses: torch.Tensor = self._graphed(here=tuple(here), row=row, **inputs)
        return losses

    def gradient(self) -> torch.Tensor | None:
        """Return the gradient of the whole model as one tensor, if it is in one."""
        return self._graphed.gradient() if self._records_model else None

    def release(self) -> bool:
        """Free the memory of all recordings, and record nothing more; return whether there were any."""
        return self._graphed.release()

    def __enter__(self) -> None:
        """Do nothing: the recordings are released at the end."""

    def __exit__(self, *_: object) -> None:
        self.release()
        self._losses.model.end_graphs()


class _OfTensors(nn.Module):
    """Losses as a function of the tensors of a batch."""

    def __init__(self, losses: HeadLosses) -> None:
        super().__init__()
        self.losses = losses

    def forward(
        self,
        here: Sequence[int],
        row: int | None,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        segments: torch.Tensor | None = None,
        mentions: torch.Tensor | None = None,
        **targets: torch.Tensor,
    ) -> torch.Tensor:
        # The number of tokens differs between batches of one shape, so 0: the encoder always gets a mask.
        of_tasks = {name.removeprefix(TARGET_PREFIX): target for name, target in targets.items()}
        batch = Batch(
            np.empty(0, np.int64),
            input_ids,
            attention_mask,
            0,
            of_tasks,
            segments=segments,
            mentions=mentions,
        )
        losses: torch.Tensor = self.losses(batch, here, row)
        return losses
