"""Heads: what stands behind the encoder's vectors."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

INIT_STD = 0.02  # BERT's


@dataclass(frozen=True)
class HeadSize:
    """How large a head is.

    Args:
        width: H, the encoder's width and that of hidden layers.
        outputs: columns of the last layer.
        layers: at least 1.
        dropout: probability of dropping a feature before each layer.
        inputs: size of the vectors that it reads; None is H.
    """

    width: int
    outputs: int
    layers: int
    dropout: float
    inputs: int | None = None


class Head(nn.Module):
    """Dropout and a linear layer; each further layer puts a hidden one of the encoder's width before."""

    def __init__(self, shape: HeadSize) -> None:
        super().__init__()
        hidden: list[nn.Module] = []
        size = shape.inputs or shape.width
        for _ in range(shape.layers - 1):
            hidden += [nn.Dropout(shape.dropout), nn.Linear(size, shape.width), nn.GELU()]
            size = shape.width
        self.layers = nn.Sequential(*hidden, nn.Dropout(shape.dropout), nn.Linear(size, shape.outputs))

    def forward(self, vectors: torch.Tensor, there: torch.Tensor | None = None) -> torch.Tensor:  # noqa: ARG002
        """[B, inputs] -> [B, outputs], or [B, W, inputs] -> [B, W, outputs].

        Args:
            vectors: of documents, or of words.
            there: [B, W] true where a word stands; None for documents.
        """
        return self.layers(vectors)

    def reset(self, generator: torch.Generator) -> None:
        """Draw new weights: the last layer from N(0, 0.02), as BERT does; biases 0.

        Hidden layers follow Glorot and Bengio (2010): from N(0, 0.02) they would pass on two fifths of the
        signal and of the gradient at H = 384, and learn late.
        """
        linear = [layer for layer in self.layers if isinstance(layer, nn.Linear)]
        for layer in linear:
            nn.init.xavier_normal_(layer.weight, generator=generator)
            nn.init.zeros_(layer.bias)
        nn.init.normal_(linear[-1].weight, std=INIT_STD, generator=generator)
