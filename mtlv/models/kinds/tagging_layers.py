"""Layers between the word vectors and their tags: linear, recurrent, or a random field.

A new one needs one more subclass of `TagHead` in `LAYERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from mtlv.models.heads import Head, HeadSize
from mtlv.models.optional import missing

IGNORED = -100  # target of padding and truncated words: PyTorch's default


class TagHead(Head):
    """A linear layer with cross-entropy; the best tag of each word separately."""

    def loss(self, raw: torch.Tensor, tags: torch.Tensor) -> torch.Tensor:
        """Return the mean loss of a word, given the result of `forward` and tags [B, W]; 0 without words."""
        flat, flat_tags = raw.float().flatten(0, 1), tags.flatten()
        summed = functional.cross_entropy(flat, flat_tags, ignore_index=IGNORED, reduction="sum")
        return summed / (flat_tags != IGNORED).sum().clamp(min=1)

    def distillation_loss(self, raw: torch.Tensor, tags: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
        """Return the mean loss of a learned word on a teacher's scores of each tag; both [B, W, C].

        Not for a random field, whose loss is of whole sequences (`mtlv.models.optional.check_taught`).
        """
        learned = tags.flatten() != IGNORED  # multiplied: a choice of words would wait for the device
        soft = torch.softmax(teacher.float(), dim=-1).flatten(0, 1)
        losses = functional.cross_entropy(raw.float().flatten(0, 1), soft, reduction="none")
        return (losses * learned).sum() / learned.sum().clamp(min=1)

    def tags(self, raw: torch.Tensor) -> torch.Tensor:
        """Return tag ids [B, W]; arbitrary for padding."""
        return raw.argmax(-1)


class RecurrentHead(TagHead):
    """A bidirectional LSTM over the words of a document before the linear layer.

    Each direction has half of the encoder's width. Truncated words are not read; they have zero vectors.
    """

    def __init__(self, shape: HeadSize) -> None:
        half = max(shape.width // 2, 1)
        super().__init__(replace(shape, inputs=2 * half))
        self.recurrent = nn.LSTM(shape.inputs or shape.width, half, bidirectional=True, batch_first=True)

    def forward(self, vectors: torch.Tensor, there: torch.Tensor | None = None) -> torch.Tensor:
        """[B, W, inputs] -> [B, W, outputs]."""
        there = _known(vectors, there)
        order, lengths = _present_first(there), there.sum(1)
        # Packed sequences need a positive length: without any words, one is read and not used.
        packed = pack_padded_sequence(
            _take_in_order(vectors, order), lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False
        )
        read, _ = pad_packed_sequence(
            self.recurrent(packed)[0], batch_first=True, total_length=vectors.shape[1]
        )
        back = _take_in_order(read, order.argsort(1))
        return super().forward(back.masked_fill(~there.unsqueeze(-1), 0.0))

    def reset(self, generator: torch.Generator) -> None:
        """Initialize as every head; the LSTM's weights from PyTorch's range, ±1 / sqrt(its width)."""
        super().reset(generator)
        bound = self.recurrent.hidden_size**-0.5
        for weights in self.recurrent.parameters():
            nn.init.uniform_(weights, -bound, bound, generator=generator)


class FieldHead(TagHead):
    """A linear-chain conditional random field (Lafferty and others, 2001) after the linear layer.

    The loss is the negative log-likelihood of all tags of a document, the tags are those of the best
    sequence. Words that are not learned or were truncated are left out of the chain, so the words around them
    become neighbours. The mean is over words, as for the other layers, not over documents.

    Raises:
        PlanError: the package is not installed.
    """

    def __init__(self, shape: HeadSize) -> None:
        super().__init__(shape)
        self.field = _field(shape.outputs)

    def forward(self, vectors: torch.Tensor, there: torch.Tensor | None = None) -> torch.Tensor:
        """[B, W, inputs] -> [B, W, outputs + 1]: scores of each tag, then 1 for words, 0 for padding."""
        scores = super().forward(vectors)
        return torch.cat([scores, _known(vectors, there).unsqueeze(-1).to(scores.dtype)], -1)

    def loss(self, raw: torch.Tensor, tags: torch.Tensor) -> torch.Tensor:
        """Return the negative log-likelihood per word."""
        learned = tags != IGNORED
        rows = learned.any(1)  # the library does not support empty sequences
        if not rows.any():
            return raw.sum() * 0.0
        order, learned = _present_first(learned)[rows], learned[rows]
        scores = _take_in_order(raw[rows, :, :-1].float(), order)
        ordered_tags = tags[rows].gather(1, order).clamp(min=0)
        likelihood = self.field(scores, ordered_tags, mask=learned.gather(1, order), reduction="sum")
        return -likelihood / learned.sum()

    def tags(self, raw: torch.Tensor) -> torch.Tensor:
        """Return tag ids [B, W]; 0 for padding."""
        there = raw[..., -1] > 0
        ids = torch.zeros(there.shape, dtype=torch.long)
        rows = there.any(1)
        if rows.any():
            order, is_word = _present_first(there)[rows], there[rows]
            best = self.field.decode(
                _take_in_order(raw[rows, :, :-1].float(), order), mask=is_word.gather(1, order)
            )
            ids[there.cpu()] = torch.tensor([tag for row in best for tag in row])
        return ids.to(raw.device)

    def reset(self, generator: torch.Generator) -> None:
        """Initialize as every head; transition scores from the library's range, ±0.1."""
        super().reset(generator)
        for weights in self.field.parameters():
            nn.init.uniform_(weights, -0.1, 0.1, generator=generator)


def _field(tags: int) -> Any:
    try:
        from torchcrf import CRF
    except ImportError as error:
        raise missing("crf") from error
    return CRF(tags, batch_first=True)


def _known(vectors: torch.Tensor, there: torch.Tensor | None) -> torch.Tensor:
    return vectors.new_ones(vectors.shape[:2], dtype=torch.bool) if there is None else there


def _present_first(there: torch.Tensor) -> torch.Tensor:
    """Return an order [B, W] that puts existing words first, otherwise unchanged."""
    return (~there).to(torch.uint8).argsort(dim=1, stable=True)


def _take_in_order(vectors: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
    """Return vectors [B, W, H] in another order of words."""
    return vectors.gather(1, order.unsqueeze(-1).expand(-1, -1, vectors.shape[-1]))


TaggingLayer = Callable[[HeadSize], TagHead]
LAYERS: dict[str, TaggingLayer] = {"linear": TagHead, "bilstm": RecurrentHead, "crf": FieldHead}
