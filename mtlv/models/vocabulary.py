"""Additional tokens in a pretrained encoder."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from mtlv.errors import EncoderError
from mtlv.models.encoder import Encoder, weights_digest
from mtlv.seeding import seed_from

SPREAD = 0.02  # standard deviation of BERT's initial embeddings


def new_tokens(tokenizer: Any, tokens: Iterable[str]) -> tuple[str, ...]:
    """Return the tokens that the tokenizer would split, lower-case or not know, without duplicates."""
    vocabulary = tokenizer.get_added_vocab()
    return tuple(token for token in dict.fromkeys(tokens) if token not in vocabulary)


def with_tokens(encoder: Encoder, tokens: Iterable[str]) -> Encoder:
    """Return an encoder that reads each of `tokens` as one token; the given encoder is not changed.

    The embedding of a new token is the mean of the embeddings of the tokens into which its name was split,
    plus N(0, 0.02), so that no two are equal; it depends only on the name and the encoder.
    Occurrences of these tokens in the original text are also read as one token. Without new tokens, the
    encoder itself is returned.

    Raises:
        EncoderError: the tokenizer is not a fast one, or a token is empty or has surrounding spaces.
    """
    from tokenizers import AddedToken

    added = new_tokens(encoder.tokenizer, tokens)
    if not added:
        return encoder
    _check(encoder, added)
    tokenizer, module = copy.deepcopy(encoder.tokenizer), copy.deepcopy(encoder.module)
    # Searched in the text before it is lower-cased or split.
    tokenizer.add_tokens([AddedToken(token, normalized=False, special=False) for token in added])
    known = set(encoder.tokenizer.get_vocab().values())
    ids = {token: tokenizer.convert_tokens_to_ids(token) for token in added}
    pieces = {}
    for token in (token for token in added if ids[token] not in known):
        parts = encoder.tokenizer(token, add_special_tokens=False)["input_ids"]
        pieces[ids[token]] = (token, [part for part in parts if part != encoder.tokenizer.unk_token_id])
    _embed(module, pieces)
    digest = weights_digest(module, tokenizer)
    return replace(encoder, module=module, tokenizer=tokenizer, digest=digest)


def _check(encoder: Encoder, tokens: Sequence[str]) -> None:
    wrong = [token for token in tokens if not token or token != token.strip()]
    if wrong:
        raise EncoderError("a new token is empty or has surrounding spaces", got=repr(wrong[0]))
    if not getattr(encoder.tokenizer, "is_fast", False):
        raise EncoderError(
            f"the tokenizer of `encoder.name` `{encoder.name}` is not a fast one",
            then="use an encoder with a tokenizer.json, or set `data.mentions: original`",
        )


def _embed(module: Any, rows: dict[int, tuple[str, list[int]]]) -> None:
    """Set the embeddings of the rows, id -> (token, pieces); all others are unchanged."""
    import torch

    if not rows:
        return
    old = module.get_input_embeddings().weight.detach().clone()
    if max(rows) >= len(old):
        with torch.random.fork_rng(devices=[]):  # Transformers draws rows that are then overwritten
            module.resize_token_embeddings(max(rows) + 1, mean_resizing=False)
    weight = module.get_input_embeddings().weight
    with torch.no_grad():
        for row, (token, pieces) in rows.items():
            generator = torch.Generator().manual_seed(seed_from(0, "token", token))
            drawn = torch.empty(weight.shape[1]).normal_(0, SPREAD, generator=generator)
            mean = old[pieces].mean(0) if pieces else old.mean(0)
            weight[row] = (mean.cpu() + drawn).to(weight)
