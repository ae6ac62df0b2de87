"""Cache of the outputs of an encoder's frozen layers, shared by all models that have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from mtlv.models.fast.packing import Packing, encode
from mtlv.models.layers import lowest, split

Lower = Callable[[torch.Tensor, torch.Tensor, torch.Tensor | None], torch.Tensor]
"""(ids [B, L], mask [B, L], segments [B, L] or None) -> vectors above the frozen layers [B, L, H]."""


class FrozenCache:
    """Vectors above the frozen layers, by a document's tokens, in main memory and in fp32.

    For one encoder with one number of frozen layers in one precision. Equal to the results in a batch except
    for rounding. Documents beyond `room` bytes are computed each time.
    """

    def __init__(self, room: int) -> None:
        self.left = room
        self._kept: dict[bytes, NDArray[np.float32]] = {}

    def vectors(
        self, lower: Lower, ids: torch.Tensor, mask: torch.Tensor, segments: torch.Tensor | None
    ) -> torch.Tensor:
        """Return vectors of a batch's documents [B, L, H] on a CPU, 0 for padding; `lower` computes missing
        ones.

        Ids, mask and segments [B, L] are those of `mtlv.data.batches.Batch`.
        """
        parts = [part for part in (ids, segments) if part is not None]
        by_document = [
            self._of_one(lower, [part[row, there] for part in parts]) for row, there in enumerate(mask)
        ]
        out = by_document[0].new_zeros((*ids.shape, by_document[0].shape[-1]))
        out[mask] = torch.cat(by_document)
        return out

    def _of_one(self, lower: Lower, parts: list[torch.Tensor]) -> torch.Tensor:
        """Return vectors [L, H] of one document, given its tokens and optional segments, both [L].

        Computed separately, without padding, so that not even rounding depends on previous calls.
        """
        key = b"|".join(part.to(torch.int32).numpy().tobytes() for part in parts)
        if key in self._kept:
            return torch.from_numpy(self._kept[key])
        ids, segments = parts[0][None], parts[1][None] if len(parts) > 1 else None
        with torch.no_grad():
            vectors: torch.Tensor = lower(ids, torch.ones_like(ids, dtype=torch.bool), segments)[0].float()
        if vectors.nbytes <= self.left:
            self._kept[key] = vectors.numpy().copy()
            self.left -= vectors.nbytes
        return vectors


class AboveFrozen(nn.Module):
    """An encoder on a CPU that reads the output of its frozen layers from a cache.

    Args:
        encoder: a Transformers base model; its embeddings and lowest layers are frozen in place.
        frozen_layers: number of frozen layers, 1 or more.
        cache: cache of their outputs, shared with other encoders that have the same frozen layers.
    """

    def __init__(self, encoder: Any, frozen_layers: int, cache: FrozenCache) -> None:
        super().__init__()
        for part in lowest(encoder, frozen_layers):
            part.requires_grad_(False)
        self.config = encoder.config
        self.lower, self.upper = split(encoder, frozen_layers)
        self._cache = cache

    @property
    def can_be_kept(self) -> bool:
        """Whether nothing below is trained, such as tables that all layers share."""
        return not any(weight.requires_grad for weight in self.lower.parameters())

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
        packing: Packing | None = None,
    ) -> Any:
        """Return the encoder's output for tokens [B, L]; with `packing`, computed without padding.

        Positions are not read again: the frozen layers below have added them.
        """
        hidden = self._cache.vectors(self._below, input_ids, attention_mask, token_type_ids)
        self.upper.embeddings.hidden = hidden if packing is None else packing.row(hidden)
        if packing is not None:
            return encode(self.upper, input_ids, packing, {})
        return self.upper(input_ids=input_ids, attention_mask=attention_mask)

    def _below(self, *rows: torch.Tensor | None) -> torch.Tensor:
        names = ("input_ids", "attention_mask", "token_type_ids")
        inputs = {name: part for name, part in zip(names, rows, strict=True) if part is not None}
        vectors: torch.Tensor = self.lower(**inputs).last_hidden_state
        return vectors
