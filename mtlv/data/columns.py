"""Targets of tasks of any kind as tensors of a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class DenseColumn:
    """One value for each document, or one row of values, such as a teacher's outputs."""

    values: NDArray  # [N] or [N, C]

    def batch(self, index: NDArray[np.int64]) -> torch.Tensor:
        """Return the targets of the documents `index` [B]: [B], or [B, C]."""
        import torch

        return torch.from_numpy(self.values[index])


def dense(targets: Mapping[str, NDArray]) -> dict[str, DenseColumn]:
    """Return targets with one value per document as columns by task name."""
    return {name: DenseColumn(np.asarray(values)) for name, values in targets.items()}


@dataclass(frozen=True)
class RaggedColumn:
    """One number for each word of each document, or one row of numbers.

    Args:
        flat: [sum of words] or [sum of words, C], the documents concatenated.
        offsets: [N + 1]; document n has `flat[offsets[n]:offsets[n + 1]]`.
        fill: padding after the last word of short documents.
    """

    flat: NDArray
    offsets: NDArray[np.int64]
    fill: int

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]], fill: int) -> RaggedColumn:
        """Create a column from one row of numbers per document."""
        lengths = [len(row) for row in rows]
        flat = np.fromiter((value for row in rows for value in row), dtype=np.int64, count=sum(lengths))
        return cls(flat, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]), fill)

    def pad_rows(self, index: NDArray[np.int64]) -> NDArray:
        """Return the documents' numbers [B, W] or [B, W, C]."""
        lengths = np.diff(self.offsets)[index]
        mask = np.arange(lengths.max(initial=0))[None, :] < lengths[:, None]
        out = np.full((*mask.shape, *self.flat.shape[1:]), self.fill, self.flat.dtype)
        if mask.any():
            out[mask] = np.concatenate([self.flat[self.offsets[i] : self.offsets[i + 1]] for i in index])
        return out

    def batch(self, index: NDArray[np.int64]) -> torch.Tensor:
        """Return the targets of the documents `index` [B]: [B, W], or [B, W, C]."""
        import torch

        return torch.from_numpy(self.pad_rows(index))


TargetColumn = DenseColumn | RaggedColumn
"""Targets of N documents, or a teacher's outputs for them."""


def of_objects(rows: Sequence[object]) -> NDArray[np.object_]:
    """Return an object array [N]; NumPy would otherwise make a matrix of rows of equal length."""
    column = np.empty(len(rows), dtype=object)
    for at, row in enumerate(rows):
        column[at] = row
    return column
