"""Batches as tensors, made from token ids and targets on demand."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mtlv.data.columns import TargetColumn
from mtlv.data.masking import Masking
from mtlv.data.sampling import longest_first, random_batches
from mtlv.data.tokens import NO_WORD, Tokens

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Batch:
    """Some documents of one source.

    Args:
        index: [B] indices of the documents in their corpus.
        input_ids: [B, L].
        attention_mask: [B, L], true for tokens.
        targets: [B] by task name, or [B, W] with a target per word, or [B, W, 3] per masked piece
            (`mtlv.data.masking`).
        segments: [B, L] text of a pair that each token belongs to; None without pairs.
        words: [B, W] index of each word's first token, or `CUT_OFF`, `NO_WORD`; or of each masked piece;
            None without words and masked pieces.
        mentions: [B, M, 2] first token of each marked entity and the one after its last, or `CUT_OFF`,
            `NO_WORD`; None without marked entities.
        windows: [B, W] row of the inputs of each window of a document, `NO_WORD` for none: inputs then have
            more rows than B. None if each document is a row.
        tokens: number of tokens; stored here to avoid a synchronization with the device.
        teacher_outputs: of each task with teachers: their raw outputs [B], [B, C] or [B, W, C].
    """

    index: NDArray[np.int64]
    input_ids: torch.Tensor
    attention_mask: torch.Tensor
    tokens: int
    targets: dict[str, torch.Tensor]
    segments: torch.Tensor | None = None
    words: torch.Tensor | None = None
    mentions: torch.Tensor | None = None
    teacher_outputs: dict[str, torch.Tensor] = field(default_factory=dict)
    windows: torch.Tensor | None = None

    def count_items(self, by_word: bool) -> int:
        """Return the number of items in a mean loss: words that were read, or documents."""
        if not by_word:
            return len(self.index)
        return 0 if self.words is None else int((self.words >= 0).sum())

    def pieces(self, count: int) -> list[Batch]:
        """Split the batch into about `count` parts of equal size, each as long as its longest document."""
        size = -(-len(self.index) // count)
        if size >= len(self.index):
            return [self]
        return [self.part(slice(at, at + size)).trim() for at in range(0, len(self.index), size)]

    def trim(self) -> Batch:
        """Remove the columns without tokens; synchronizes with the device of the tensors."""
        longest = int(self.attention_mask.sum(1).max())
        return replace(
            self,
            input_ids=self.input_ids[:, :longest],
            attention_mask=self.attention_mask[:, :longest],
            segments=None if self.segments is None else self.segments[:, :longest],
        )

    def part(self, rows: slice) -> Batch:
        """Return some of the documents, with the padding; synchronizes with the device of the tensors."""
        part = replace(self._map(lambda tensor: tensor[rows]), index=self.index[rows])
        if self.windows is not None and part.windows is not None:
            first, last = int(part.windows[0, 0]), int(part.windows.max())
            inputs = slice(first, last + 1)
            part = replace(
                part,
                input_ids=self.input_ids[inputs],
                attention_mask=self.attention_mask[inputs],
                segments=None if self.segments is None else self.segments[inputs],
                windows=(part.windows - first).clamp(min=NO_WORD),
            )
        return replace(part, tokens=int(part.attention_mask.sum()))

    def to(self, device: torch.device) -> Batch:
        """Return the batch on `device`, with one asynchronous copy."""
        return self if device.type == "cpu" else self.in_a_block(device)

    def in_a_block(self, device: torch.device) -> Batch:
        """Return a copy on `device` whose tensors are in one block of memory."""
        tensors: list[torch.Tensor] = []

        def collect(tensor: torch.Tensor) -> torch.Tensor:
            tensors.append(tensor)
            return tensor

        self._map(collect)
        copies = iter(copy_to_device(tensors, device))
        return self._map(lambda _: next(copies))

    def _map(self, change: Callable[[torch.Tensor], torch.Tensor]) -> Batch:
        """Return the batch with changed tensors; those of its mappings too."""
        changed: dict[str, Any] = {}
        for name, value in vars(self).items():
            if isinstance(value, dict):
                changed[name] = {key: change(tensor) for key, tensor in value.items()}
            elif value is not None and name not in ("index", "tokens"):
                changed[name] = change(value)
        return replace(self, **changed)


ALIGNED = 16  # bytes: more than the size of any element


def copy_to_device(tensors: Sequence[torch.Tensor], device: torch.device) -> list[torch.Tensor]:
    """Copy tensors to `device` in one block of memory, because many small copies are slower.

    Copies to a CUDA device are from pinned memory, and asynchronous.
    """
    import torch

    sizes = [tensor.numel() * tensor.element_size() for tensor in tensors]
    starts = list(accumulate((-(-size // ALIGNED) * ALIGNED for size in sizes), initial=0))
    flat = torch.empty(starts[-1], dtype=torch.uint8, pin_memory=device.type == "cuda")
    for tensor, start, size in zip(tensors, starts, sizes, strict=False):
        flat[start : start + size] = tensor.contiguous().view(-1).view(torch.uint8)
    there = flat.to(device, non_blocking=True)
    return [
        there[start : start + size].view(tensor.dtype).view(tensor.shape)
        for tensor, start, size in zip(tensors, starts, sizes, strict=False)
    ]


UNCHANGING = (0, 0)
"""Seed of the pieces that are masked outside training, equal in every epoch and run."""


@dataclass(frozen=True)
class PartDocuments:
    """Documents of one part of a split, ready for batching.

    Args:
        tokens: token ids of the whole corpus (N documents).
        targets: targets of N documents by task name.
        index: [n] indices of the documents of this part.
        multiple: L of every batch is a multiple of it, up to the longest document.
        masking: masks pieces of the texts, which are then the targets of the tasks; None if documents have
            targets.
        targeted: tasks with targets of their own, if pieces are masked.
        teacher_outputs: raw outputs of teachers by task name.
        first: first index of the documents' source, from which masks count, so that they do not depend on
            other sources.
    """

    tokens: Tokens
    targets: Mapping[str, TargetColumn]
    index: NDArray[np.int64]
    multiple: int = 1
    masking: Masking | None = None
    teacher_outputs: Mapping[str, TargetColumn] = field(default_factory=dict)
    first: int = 0
    targeted: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.index)

    def training(self, batch_size: int, *, seed: int, epoch: int) -> Iterator[Batch]:
        """Yield every document once, in random batches that differ in each epoch."""
        order = random_batches(self.tokens.lengths[self.index], batch_size, seed=seed, epoch=epoch)
        return self._batches(order, (seed, epoch + 1), epoch)

    def inference(self, batch_size: int, *, tokens: int | None = None) -> Iterator[Batch]:
        """Yield every document once, longest first, with at most `tokens` in a batch; see `longest_first`."""
        order = longest_first(self.tokens.lengths[self.index], batch_size, tokens=tokens)
        return self._batches(order)

    def _batches(
        self, order: Sequence[NDArray[np.int64]], seed: tuple[int, ...] = UNCHANGING, epoch: float = math.inf
    ) -> Iterator[Batch]:
        for number, positions in enumerate(order):
            batch = self._batch(self.index[positions])
            masking = self.masking and self.masking.after(epoch + number / len(order))
            yield batch if masking is None else self._hide_pieces(batch, masking, seed)

    def _hide_pieces(self, batch: Batch, masking: Masking, seed: tuple[int, ...]) -> Batch:
        import torch

        seeds = [(*seed, row - self.first) for row in batch.index.tolist()]
        masked = masking.hide(batch.input_ids.numpy(), batch.attention_mask.numpy(), seeds=seeds)
        return replace(
            batch,
            input_ids=torch.from_numpy(masked.ids),
            words=torch.from_numpy(masked.places),
            targets={
                name: values if name in self.targeted else torch.from_numpy(masked.targets)
                for name, values in batch.targets.items()
            },
        )

    def _batch(self, index: NDArray[np.int64]) -> Batch:
        import torch

        ids, mask = self.tokens.pad_rows(index, self.multiple)
        segments = self.tokens.pad_segments(index, self.multiple)
        words = None if self.tokens.words is None else self.tokens.words.batch(index)
        mentions, windows = self.tokens.pad_mentions(index), self.tokens.place_windows(index)
        return Batch(
            index,
            torch.from_numpy(ids),
            torch.from_numpy(mask),
            int(mask.sum()),
            {name: column.batch(index) for name, column in self.targets.items()},
            None if segments is None else torch.from_numpy(segments),
            words if words is not None and words.shape[1] else None,  # one of several sources may lack words
            None if mentions is None else torch.from_numpy(mentions),
            teacher_outputs={name: column.batch(index) for name, column in self.teacher_outputs.items()},
            windows=None if windows is None else torch.from_numpy(windows),
        )
