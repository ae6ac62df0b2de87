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


class Head(nn.Module):
    """Dropout and a linear layer; each further layer adds a hidden one of the encoder's width before."""

    def __init__(self, shape: HeadSize) -> None:
        super().__init__()
        hidden: list[nn.Module] = []
        size = shape.inputs or shape.width
        for _ in range(shape.layers - 1):
            hidden += [nn.Dropout(shape.dropout), nn.Linear(size, shape.width), nn.GELU()]
            size = shape.width
        self.layers = nn.Sequential(*hidden, nn.Dropout(shape.dropout), nn.Linear(size, shape.outputs))

    def forward(self, vectors: torch.Tensor, there: torch.Tensor | None = None) -> torch.Tensor:
        """[B, inputs] -> [B, outputs], or [B, W, inputs] -> [B, W, outputs], where `there` [B, W] is true for
        words.
        """
        return self.layers(vectors)

    def use_encoder(self, encoder: Any) -> None:
        """Use weights of the encoder in `forward`; most heads do not."""

    def start_from(self, published: Mapping[str, torch.Tensor]) -> None:
        """Start from the weights that were published with the encoder; most heads have none."""

    def use_targets(self, targets: Callable[[], Sequence[torch.Tensor]]) -> None:
        """Adapt to the training targets [n] of each task; most heads do not."""

    def reset(self, generator: torch.Generator) -> None:
        """Initialize the weights: the last layer from N(0, 0.02), as in BERT; biases 0.

        Hidden layers follow Glorot and Bengio (2010): from N(0, 0.02) they would pass only two fifths of the
        signal and of the gradient at H = 384, and learn late.
        """
        linear = [layer for layer in self.layers if isinstance(layer, nn.Linear)]
        for layer in linear:
            nn.init.xavier_normal_(layer.weight, generator=generator)
            nn.init.zeros_(layer.bias)
        nn.init.normal_(linear[-1].weight, std=INIT_STD, generator=generator)
