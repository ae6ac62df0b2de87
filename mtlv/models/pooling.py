"""Inputs of heads from an encoder's last layer: vectors of documents, words and marked entities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch.nn import functional

from mtlv.errors import EncoderError, PlanError


@dataclass(frozen=True)
class TokenPositions:
    """Token positions in B documents.

    Args:
        mask: [B, L], true for tokens.
        words: [B, W] index of each word's first token, negative if there is none; None without words.
        mentions: [B, M, 2] first token of each marked entity and the one after its last, negative if
            there is none; None without marked entities.
    """

    mask: torch.Tensor
    words: torch.Tensor | None = None
    mentions: torch.Tensor | None = None


class Pooler(Protocol):
    """Computes the vectors for a head; `by_token`, those of all tokens, which the head weighs."""

    by_token: bool = False

    def width(self, hidden: int) -> int:
        """Return the size of a vector, for an encoder of width `hidden`; by default the same."""
        return hidden

    def __call__(self, output: Any, places: TokenPositions) -> torch.Tensor:
        """Return [B, width], or [B, W, width] for words, from the encoder's output."""
        ...


Featurizer = Callable[[Any, torch.Tensor], torch.Tensor]
"""(output of the encoder, attention mask [B, L]) -> [B, H]."""


def cls_vector(output: Any, mask: torch.Tensor) -> torch.Tensor:  # noqa: ARG001
    """Return the first token's vector [B, H]."""
    return output.last_hidden_state[:, 0]


def pooler_vector(output: Any, mask: torch.Tensor) -> torch.Tensor:  # noqa: ARG001
    """Return the encoder's own pooler output: for BERT a dense layer and tanh on the first token [B, H]."""
    return output.pooler_output


def mean_vector(output: Any, mask: torch.Tensor) -> torch.Tensor:
    """Return the mean over a document's tokens, those of `mask` [B, H]; 0 without tokens."""
    weights = mask.unsqueeze(-1).to(output.last_hidden_state.dtype)  # [B, L, 1]
    return (output.last_hidden_state * weights).sum(1) / weights.sum(1).clamp(min=1)


def last_vector(output: Any, mask: torch.Tensor) -> torch.Tensor:
    """Return the last token's vector [B, H], with padding on either side."""
    at = torch.arange(mask.shape[1], device=mask.device)  # [L]
    return _gather(output.last_hidden_state, (mask * at).argmax(1, keepdim=True))[:, 0]


def _gather(hidden: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Return vectors [B, P, H] at `places` [B, P]; the document's first for negative ones."""
    at = places.clamp(min=0).unsqueeze(-1)  # [B, P, 1]
    return hidden.gather(1, at.expand(-1, -1, hidden.shape[-1]))


WindowPooling = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""(vectors of windows [B, W, H], their numbers of tokens [B, W], 0 for none) -> vectors [B, H]."""


def mean_of_windows(vectors: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """Return the mean over a document's windows, weighted by their tokens [B, H]."""
    shares = (tokens / tokens.sum(1, keepdim=True)).to(vectors.dtype)  # exactly 1 for a single window
    return (vectors * shares.unsqueeze(-1)).sum(1)


def largest_of_windows(vectors: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """Return the maximum over a document's windows, in each dimension [B, H]."""
    return vectors.masked_fill(tokens.unsqueeze(-1) == 0, -torch.inf).amax(1)


WINDOW_POOLINGS: dict[str, WindowPooling] = {"mean": mean_of_windows, "max": largest_of_windows}
"""One vector of a document's windows, by name in a config (Sun et al. 2019, arXiv:1905.05583, § 5.3.1)."""


def pool_windows(
    pooling: WindowPooling, vectors: torch.Tensor, mask: torch.Tensor, windows: torch.Tensor
) -> torch.Tensor:
    """Return one vector per document [B, H].

    Args:
        pooling: one of `WINDOW_POOLINGS`.
        vectors: [R, H] vectors of windows.
        mask: [R, L], true for their tokens.
        windows: [B, W] row of each window of a document, negative for none.
    """
    rows = windows.clamp(min=0)
    return pooling(vectors[rows], mask.sum(1)[rows].masked_fill(windows < 0, 0))


def join_windows(values: torch.Tensor, windows: torch.Tensor | None) -> torch.Tensor:
    """Return values of the tokens of documents [B, W * L, ...] from those of windows [R, L, ...], 0 for none.

    Each document is a row already if `windows` [B, W] is None; see `pool_windows`.
    """
    if windows is None:
        return values
    missing = (windows < 0).view(*windows.shape, *[1] * (values.ndim - 1))
    return values[windows.clamp(min=0)].masked_fill(missing, 0).flatten(1, 2)


@dataclass(frozen=True)
class DocumentPooler(Pooler):
    """One vector per document [B, H], or `by_token` those of its tokens [B, L, H]."""

    vector: Featurizer
    by_token: bool = False

    def __call__(self, output: Any, places: TokenPositions) -> torch.Tensor:
        return self.vector(output, places.mask)


FEATURES: dict[str, Pooler] = {
    "cls": DocumentPooler(cls_vector),
    "pooler": DocumentPooler(pooler_vector),
    "mean": DocumentPooler(mean_vector),
    "last": DocumentPooler(last_vector),
    "attention": DocumentPooler(lambda output, _: output.last_hidden_state, by_token=True),
}
"""What the heads of documents read, by name in a config."""


@dataclass(frozen=True)
class WordPooler(Pooler):
    """One vector per word [B, W, H]: its first token's; without one, the document's first vector.

    Raises:
        PlanError: the documents are not given as words.
    """

    def __call__(self, output: Any, places: TokenPositions) -> torch.Tensor:
        if places.words is None:
            raise PlanError("tags need documents given as words")
        return _gather(output.last_hidden_state, places.words)


MentionVectors = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""(last layer [B, L, H], mentions' first tokens and those after their last [B, M, 2]) -> [B, M, H]."""


def largest_of_mention(hidden: torch.Tensor, mentions: torch.Tensor) -> torch.Tensor:
    """Return the maximum over a mention's tokens, in each dimension [B, M, H]."""
    inside = _inside(hidden, mentions)
    # One mention at a time: [B, M, L, H] would be M times the last layer.
    kept = (hidden.masked_fill(~mask.unsqueeze(-1), -torch.inf) for mask in inside.unbind(1))
    return torch.stack([vectors.amax(1) for vectors in kept], 1)


def mean_of_mention(hidden: torch.Tensor, mentions: torch.Tensor) -> torch.Tensor:
    """Return the mean over a mention's tokens [B, M, H]."""
    weights = _inside(hidden, mentions).to(hidden.dtype)
    return weights @ hidden / weights.sum(-1, keepdim=True).clamp(min=1)


def _inside(hidden: torch.Tensor, mentions: torch.Tensor) -> torch.Tensor:
    """Return whether a token is of a mention [B, M, L]."""
    at = torch.arange(hidden.shape[1], device=hidden.device)  # [L]
    return (at >= mentions[..., :1]) & (at < mentions[..., 1:])


def start_of_mention(hidden: torch.Tensor, mentions: torch.Tensor) -> torch.Tensor:
    """Return the vector of a mention's first token, which is its marker in texts with markers [B, M, H]."""
    return _gather(hidden, mentions[..., 0])


@dataclass(frozen=True)
class MentionPooler(Pooler):
    """One vector for each of M mentions, concatenated [B, M * H].

    A truncated or missing mention has the document's first vector.

    Raises:
        PlanError: no entities are marked, or more than M.
    """

    vectors: MentionVectors  # function for the vectors of mentions
    mentions: int  # M, the maximum number in a document

    def width(self, hidden: int) -> int:
        return self.mentions * hidden

    def __call__(self, output: Any, places: TokenPositions) -> torch.Tensor:
        hidden: torch.Tensor = output.last_hidden_state
        mentions = self._mentions(places)
        mentions = functional.pad(mentions, (0, 0, 0, self.mentions - mentions.shape[1]), value=-1)
        first = torch.arange(2, device=mentions.device)  # the document's first token, for missing mentions
        return self.vectors(hidden, torch.where(mentions < 0, first, mentions)).flatten(1)

    def _mentions(self, places: TokenPositions) -> torch.Tensor:
        if places.mentions is None:
            raise PlanError("a relation's features need documents with marked entities", allowed="`cls`")
        if places.mentions.shape[1] > self.mentions:
            raise PlanError(
                "a document has more marked entities than its head supports",
                got=places.mentions.shape[1],
                allowed=f"up to {self.mentions}",
            )
        return places.mentions


RELATION_FEATURES: dict[str, Callable[[int], Pooler]] = {
    "cls": lambda mentions: DocumentPooler(cls_vector),  # noqa: ARG005
    "mention": lambda mentions: MentionPooler(largest_of_mention, mentions),
    "mention_mean": lambda mentions: MentionPooler(mean_of_mention, mentions),
    "start": lambda mentions: MentionPooler(start_of_mention, mentions),
}
"""Poolers of relation heads, given the number of mentions."""


def prepare_pooler(encoder: Any, features: str) -> None:
    """Remove an unused pooler, so that all remaining weights are trained.

    Raises:
        EncoderError: the pooler is requested but the encoder has none.
    """
    pooler = getattr(encoder, "pooler", None)
    if features == "pooler" and pooler is None:
        raise EncoderError(
            "`encoder.features`: this encoder has no pooler",
            got="pooler",
            allowed=", ".join(name for name in FEATURES if name != "pooler"),
        )
    if features != "pooler" and pooler is not None:
        encoder.pooler = None
