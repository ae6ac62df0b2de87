"""Token ids of a corpus: computed once, kept flat, cut into batches later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Tokens:
    """Token ids of N documents, one after another.

    Args:
        ids: [sum of lengths] token ids.
        offsets: [N + 1]; document n is `ids[offsets[n]:offsets[n + 1]]`.
        pad: the id that fills short documents.
        truncated: how many documents were longer than the maximum length.
    """

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]
    pad: int
    truncated: int

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens per document [N]."""
        return np.diff(self.offsets)

    def padded(self, index: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Ids and mask of some documents, both [B, L], padded to the longest of them."""
        lengths = self.lengths[index]
        mask = np.arange(lengths.max())[None, :] < lengths[:, None]
        ids = np.full(mask.shape, self.pad, dtype=np.int64)
        ids[mask] = np.concatenate([self.ids[self.offsets[i] : self.offsets[i + 1]] for i in index])
        return ids, mask


def tokenise(texts: Sequence[str], tokenizer: Callable[..., Any], *, max_length: int, pad: int) -> Tokens:
    """Tokenise every text once, special tokens included, cut at `max_length` tokens."""
    encoded = tokenizer(
        list(texts),
        truncation=True,
        max_length=max_length,
        return_attention_mask=False,
        return_token_type_ids=False,
        return_overflowing_tokens=False,
    )["input_ids"]
    lengths = np.array([len(ids) for ids in encoded], dtype=np.int64)
    flat = np.fromiter((i for ids in encoded for i in ids), dtype=np.int32, count=int(lengths.sum()))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return Tokens(flat, offsets, pad, int((lengths >= max_length).sum()))
