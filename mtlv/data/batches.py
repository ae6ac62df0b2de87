"""Batches as tensors, made from token ids and targets when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mtlv.data.columns import TargetColumn
from mtlv.data.sampling import longest_first, random_batches
from mtlv.data.tokens import Tokens

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Batch:
    """Some documents of one source.

    Args:
        index: [B] positions of the documents in their corpus.
        input_ids: [B, L].
        attention_mask: [B, L], true where a token stands.
        targets: [B] per task name, or [B, W] where each word has one.
        segments: [B, L] which text of a pair a token belongs to; None without pairs.
        words: [B, W] place of each word's first token, or `CUT_OFF`, `NO_WORD`; None where documents are not
            given as words.
        mentions: [B, M, 2] first token of each marked entity and the one behind its last, or `CUT_OFF`,
            `NO_WORD`; None where none is marked.
        padded: whether a document may be shorter than L. False spares an encoder its mask, and known here no
            device needs to be asked.
    """

    index: NDArray[np.int64]
    input_ids: torch.Tensor
    attention_mask: torch.Tensor
    targets: dict[str, torch.Tensor]
    segments: torch.Tensor | None = None
    words: torch.Tensor | None = None
    mentions: torch.Tensor | None = None
    padded: bool = True

    def counted(self, by_word: bool) -> int:
        """What a mean loss is the mean of: how many words that were read, or documents, it has."""
        if not by_word:
            return len(self.index)
        return 0 if self.words is None else int((self.words >= 0).sum())

    def pieces(self, count: int) -> list[Batch]:
        """The batch in about `count` parts of equal size, each as long as its longest document."""
        size = -(-len(self.index) // count)
        if size >= len(self.index):
            return [self]
        return [self.part(slice(at, at + size)).trimmed() for at in range(0, len(self.index), size)]

    def trimmed(self) -> Batch:
        """Without the columns in which no document has a token; asks where its tensors are."""
        longest = int(self.attention_mask.sum(1).max())
        return replace(
            self,
            input_ids=self.input_ids[:, :longest],
            attention_mask=self.attention_mask[:, :longest],
            segments=None if self.segments is None else self.segments[:, :longest],
            padded=not bool(self.attention_mask[:, :longest].all()),
        )

    def part(self, rows: slice) -> Batch:
        """Some of its documents; padding stays."""
        return replace(self._each(lambda tensor: tensor[rows]), index=self.index[rows])

    def to(self, device: torch.device) -> Batch:
        """The batch on `device`, by one copy that is not waited for."""
        if device.type == "cpu":
            return self
        held: list[torch.Tensor] = []

        def hold(tensor: torch.Tensor) -> torch.Tensor:
            held.append(tensor)
            return tensor

        self._each(hold)
        there = iter(moved(held, device))
        return self._each(lambda _: next(there))

    def _each(self, change: Callable[[torch.Tensor], torch.Tensor]) -> Batch:
        return replace(
            self,
            input_ids=change(self.input_ids),
            attention_mask=change(self.attention_mask),
            targets={name: change(target) for name, target in self.targets.items()},
            segments=None if self.segments is None else change(self.segments),
            words=None if self.words is None else change(self.words),
            mentions=None if self.mentions is None else change(self.mentions),
        )


ALIGNED = 16  # bytes: more than any element has


def moved(tensors: Sequence[torch.Tensor], device: torch.device) -> list[torch.Tensor]:
    """Tensors on `device`, one behind the other in one piece of memory: many small copies cost more.

    To a CUDA device from pinned memory, so that nobody waits for the copy.
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


@dataclass(frozen=True)
class PartDocuments:
    """The documents of one part of a split, ready to be cut into batches.

    Args:
        tokens: token ids of the whole corpus (N documents).
        targets: of N documents per task name.
        index: [n] which documents belong to this part.
        multiple: of which L is in every batch, where the longest document is not reached before.
    """

    tokens: Tokens
    targets: Mapping[str, TargetColumn]
    index: NDArray[np.int64]
    multiple: int = 1

    def __len__(self) -> int:
        return len(self.index)

    def training(self, batch_size: int, *, seed: int, epoch: int) -> Iterator[Batch]:
        """Every document once, in batches drawn anew for each epoch."""
        order = random_batches(self.tokens.lengths[self.index], batch_size, seed=seed, epoch=epoch)
        return self._batches(order)

    def inference(
        self, batch_size: int, *, tokens: int | None = None, which: slice = slice(None)
    ) -> Iterator[Batch]:
        """Every document once, longest first; at most `tokens` in a batch, see `longest_first`.

        Args:
            batch_size: documents of a batch at most.
            tokens: of a batch at most.
            which: of the batches; the others are somebody else's.
        """
        order = longest_first(self.tokens.lengths[self.index], batch_size, tokens=tokens)
        return self._batches(order[which])

    def _batches(self, order: Sequence[NDArray[np.int64]]) -> Iterator[Batch]:
        for positions in order:
            yield self._batch(self.index[positions])

    def _batch(self, index: NDArray[np.int64]) -> Batch:
        import torch

        ids, mask = self.tokens.padded(index, self.multiple)
        segments = self.tokens.padded_segments(index, self.multiple)
        words = None if self.tokens.words is None else self.tokens.words.batch(index)
        mentions = self.tokens.padded_mentions(index)
        return Batch(
            index,
            torch.from_numpy(ids),
            torch.from_numpy(mask),
            {name: column.batch(index) for name, column in self.targets.items()},
            None if segments is None else torch.from_numpy(segments),
            words if words is not None and words.shape[1] else None,  # a source of several may have no words
            None if mentions is None else torch.from_numpy(mentions),
            padded=not mask.all(),
        )
