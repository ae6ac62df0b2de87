"""Cache of the outputs of an encoder's frozen layers, shared by all models that have them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

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
        out: torch.Tensor | None = None
        for row, there in enumerate(mask):
            parts = [part[row, there] for part in (ids, segments) if part is not None]
            vectors = self._of_one(lower, parts)
            if out is None:
                out = vectors.new_zeros((*ids.shape, vectors.shape[-1]))
            out[row, there] = vectors
        assert out is not None
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
