"""Heads on the encoder's vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

INIT_STD = 0.02  # BERT's


@dataclass(frozen=True)
class HeadSize:
    """Size of a head."""

    width: int  # H, width of the encoder and of hidden layers
    outputs: int  # outputs of the last layer
    layers: int  # number of layers, at least 1
    dropout: float  # probability of dropping a feature before each layer
    inputs: int | None = None  # size of its input vectors; None is H
    attends: bool = False  # whether it reads the vectors of tokens, and weighs them for each output


class Head(nn.Module):
    """Dropout and a linear layer; each further layer adds a hidden one of the encoder's width before.

    A head that attends has a query u_l for each output l, and gives the mean of the layers' outputs over a
    document's tokens, with weights a_l = softmax(H u_l) for the token vectors H [L, H]. With one layer, this
    is the label-wise attention of CAML (Mullenbach et al. 2018, arXiv:1802.05695, eq. 1-3): y_l = w_l · m_l +
    b_l with m_l = a_l H. LAAT and PLM-ICD put tanh and a matrix between H and u_l, for which the encoder's
    own last layer is trained here. Queries start at 0: the first outputs are those of the mean vector.
    """

    def __init__(self, shape: HeadSize) -> None:
        super().__init__()
        hidden: list[nn.Module] = []
        size = shape.inputs or shape.width
        for _ in range(shape.layers - 1):
            hidden += [nn.Dropout(shape.dropout), nn.Linear(size, shape.width), nn.GELU()]
            size = shape.width
        self.layers = nn.Sequential(*hidden, nn.Dropout(shape.dropout), nn.Linear(size, shape.outputs))
        inputs = shape.inputs or shape.width
        self.queries = nn.Linear(inputs, shape.outputs, bias=False) if shape.attends else None

    def forward(self, vectors: torch.Tensor, there: torch.Tensor | None = None) -> torch.Tensor:
        """[B, inputs] -> [B, outputs], or [B, W, inputs] -> [B, W, outputs], where `there` [B, W] is true for
        words. A head that attends: [B, L, inputs] -> [B, outputs], where it is true for tokens.
        """
        if self.queries is None:
            return self.layers(vectors)
        return (self.attention(vectors, there) * self.layers(vectors)).sum(1)

    def attention(self, vectors: torch.Tensor, there: torch.Tensor | None) -> torch.Tensor:
        """Return weights of tokens for each output [B, L, outputs], with a sum of 1 over L; 0 for padding."""
        assert self.queries is not None
        assert there is not None
        scores, padding = self.queries(vectors).float(), ~there.unsqueeze(-1)
        lowest = torch.finfo(scores.dtype).min  # finite, for documents without tokens
        return torch.softmax(scores.masked_fill(padding, lowest), 1).masked_fill(padding, 0.0)

    def use_encoder(self, encoder: Any) -> None:
        """Use weights of the encoder in `forward`; most heads do not."""

    def start_from(self, published: Mapping[str, torch.Tensor]) -> None:
        """Start from the weights that were published with the encoder; most heads have none."""

    def use_targets(self, targets: Callable[[], Sequence[torch.Tensor]]) -> None:
        """Adapt to the training targets [n] of each task; most heads do not."""

    def reset(self, generator: torch.Generator) -> None:
        """Initialize the weights: the last layer from N(0, 0.02), as in BERT; biases and queries 0.

        Hidden layers follow Glorot and Bengio (2010): from N(0, 0.02) they would pass only two fifths of the
        signal and of the gradient at H = 384, and learn late.
        """
        linear = [layer for layer in self.layers if isinstance(layer, nn.Linear)]
        for layer in linear:
            nn.init.xavier_normal_(layer.weight, generator=generator)
            nn.init.zeros_(layer.bias)
        nn.init.normal_(linear[-1].weight, std=INIT_STD, generator=generator)
        if self.queries is not None:
            nn.init.zeros_(self.queries.weight)
