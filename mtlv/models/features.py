"""One vector per document, from an encoder's last layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from mtlv.errors import EncoderError, PlanError

Featurizer = Callable[[Any, torch.Tensor], torch.Tensor]
"""(output of the encoder, attention mask [B, L]) -> [B, H]."""


def cls_vector(output: Any, mask: torch.Tensor) -> torch.Tensor:  # noqa: ARG001
    """The first token's vector [B, H]."""
    return output.last_hidden_state[:, 0]


def pooler_vector(output: Any, mask: torch.Tensor) -> torch.Tensor:  # noqa: ARG001
    """The encoder's own pooler: for BERT a dense layer and tanh on the first token [B, H]."""
    return output.pooler_output


def mean_vector(output: Any, mask: torch.Tensor) -> torch.Tensor:
    """The mean over a document's tokens, special tokens included [B, H]."""
    weights = mask.unsqueeze(-1).to(output.last_hidden_state.dtype)  # [B, L, 1]
    return (output.last_hidden_state * weights).sum(1) / weights.sum(1)


def word_vectors(output: Any, words: torch.Tensor | None) -> torch.Tensor:
    """The vector of each word's first token [B, W, H]; of a word that has none, the document's first.

    Raises:
        PlanError: the documents were not given as words.
    """
    if words is None:
        raise PlanError("tags need documents that are given as words")
    places = words.clamp(min=0).unsqueeze(-1)  # [B, W, 1]
    return output.last_hidden_state.gather(1, places.expand(-1, -1, output.last_hidden_state.shape[-1]))


FEATURES: dict[str, Featurizer] = {"cls": cls_vector, "pooler": pooler_vector, "mean": mean_vector}


def prepare_pooler(encoder: Any, features: str) -> None:
    """Drop the pooler where nothing reads it, so that every weight left can learn.

    Raises:
        EncoderError: the pooler is asked for and the encoder has none.
    """
    pooler = getattr(encoder, "pooler", None)
    if features == "pooler" and pooler is None:
        raise EncoderError(
            "`encoder.features`: this encoder has no pooler", got="pooler", allowed="cls, mean"
        )
    if features != "pooler" and pooler is not None:
        encoder.pooler = None
