"""Masked language modelling: the masked pieces of a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from mtlv.errors import PlanError
from mtlv.models.heads import Head, HeadSize
from mtlv.models.kinds.kind import Kind, Tensors, the_only
from mtlv.models.kinds.tagging_layers import IGNORED
from mtlv.plan import Task

MOST_WORDS = 2**20  # in a document, which is at most as long as the encoder can read


class MaskedHead(Head):
    """BERT's head: dense layer, GELU, norm, and a decoder that shares the encoder's word embeddings.

    The dense layer and the norm are as wide as these embeddings; ALBERT has narrower ones than layers.
    """

    def __init__(self, shape: HeadSize) -> None:
        super().__init__(replace(shape, outputs=shape.width, layers=1, dropout=0.0))
        self.norm = nn.LayerNorm(shape.width, eps=1e-12)  # as in BERT
        self.bias = nn.Parameter(torch.zeros(0))
        self._encoder: tuple[Any, ...] = ()  # a tuple: not registered, its weights are the encoder's

    def use_encoder(self, encoder: Any) -> None:
        self._encoder = (encoder,)
        pieces, width = encoder.get_input_embeddings().weight.shape
        if width != len(self.norm.weight):
            dense = self.layers[-1]
            assert isinstance(dense, nn.Linear)
            self.layers[-1] = nn.utils.skip_init(nn.Linear, dense.in_features, width)  # `reset` draws it
            self.norm = nn.LayerNorm(width, eps=self.norm.eps)
        self.norm.eps = getattr(encoder.config, "layer_norm_eps", self.norm.eps)  # RoBERTa's is 1e-5
        self.bias = nn.Parameter(torch.zeros(pieces))

    def start_from(self, published: Mapping[str, torch.Tensor]) -> None:
        weights = self.state_dict()
        for name, weight in published.items():
            weights[name][: len(weight)].copy_(weight)  # tokens added to the vocabulary have no bias

    def forward(self, vectors: torch.Tensor, there: torch.Tensor | None = None) -> torch.Tensor:
        """[B, M, H] -> [n, V], for the n masked pieces of all documents, so that padding is not decoded."""
        masked = vectors.flatten(0, 1) if there is None else vectors[there]
        hidden = self.norm(functional.gelu(self.layers(masked)))
        return functional.linear(hidden, self._encoder[0].get_input_embeddings().weight, self.bias)


@dataclass(frozen=True)
class MaskedPieces(Kind):
    """Scores of all V pieces for each masked one, cross-entropy.

    The scores of a document are sums over its masked pieces [6]: cross-entropy in nats, pieces, pieces that
    were found, words, words of which all pieces were found, characters.
    """

    by_word = True
    adversarial: float = 0.0

    def outputs(self, tasks: Sequence[Task]) -> int:
        the_only(tasks)
        return 0  # as many as the encoder has pieces

    def head(self, shape: HeadSize) -> MaskedHead:
        return MaskedHead(shape)

    def losses(self, logits: torch.Tensor, targets: Tensors) -> torch.Tensor:
        ids = the_only(targets)[..., 0]
        pieces = ids[ids != IGNORED]
        summed = functional.cross_entropy(logits.float(), pieces, reduction="sum")
        return (summed / max(len(pieces), 1)).unsqueeze(0)

    def teacher_outputs(self, logits: torch.Tensor) -> Tensors:
        """Refuse: other pieces are masked in every epoch."""
        raise PlanError("masked words have no teacher")

    def scores(self, logits: torch.Tensor, targets: Tensors) -> Tensors:
        rows = the_only(targets)
        known = rows[..., 0] != IGNORED
        pieces, words, characters = rows[known].unbind(-1)
        document = known.nonzero()[:, 0]
        nats = functional.cross_entropy(logits.float(), pieces, reduction="none")
        correct = (logits.argmax(-1) == pieces).float()
        # A word is found if all its masked pieces are.
        masked_words, of_word = torch.unique(document * MOST_WORDS + words, return_inverse=True)
        missed = correct.new_zeros(len(masked_words)).index_add(0, of_word, 1 - correct)
        sums = nats.new_zeros(len(rows), 6)
        by_piece = torch.stack([nats, torch.ones_like(nats), correct, characters.float()], 1)
        sums[:, [0, 1, 2, 5]] = nats.new_zeros(len(rows), 4).index_add(0, document, by_piece)
        by_word = torch.stack([torch.ones_like(missed), (missed == 0).float()], 1)
        sums[:, [3, 4]] = nats.new_zeros(len(rows), 2).index_add(0, masked_words // MOST_WORDS, by_word)
        return (sums,)
