"""An encoder with a vocabulary learned from texts, or with random weights."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mtlv.models.encoder import Encoder, weights_digest
from mtlv.models.wordpiece import SPECIAL, fertility, learn_vocabulary, tokenizer_of
from mtlv.seeding import seed_from

ROLES = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")  # of `SPECIAL`
JUDGED = 500  # texts on which vocabularies are compared


def with_vocabulary(encoder: Encoder, texts: Sequence[str], size: int, *, lowercase: bool) -> Encoder:
    """Return an encoder that reads V pieces learned from texts; the given encoder is not changed.

    The embedding of a new piece is that of the old piece of the same name, or the mean of those into which
    the old tokenizer splits it. All other weights are those of the encoder.

    Raises:
        EncoderError: the texts give fewer pieces.
    """
    import torch

    vocabulary = learn_vocabulary(texts, size, lowercase=lowercase)
    old = encoder.tokenizer
    tokenizer = tokenizer_of(vocabulary, lowercase=lowercase, max_length=old.model_max_length)
    module = copy.deepcopy(encoder.module)
    known = module.get_input_embeddings().weight.detach()
    embeddings = torch.nn.Embedding(len(vocabulary), known.shape[1], tokenizer.pad_token_id)
    with torch.no_grad():
        for piece, row in vocabulary.items():
            embeddings.weight[row] = known[_old_pieces(old, piece)].mean(0)
    module.set_input_embeddings(embeddings)
    module.config.vocab_size, module.config.pad_token_id = len(vocabulary), tokenizer.pad_token_id
    splits = f"{_splits(tokenizer, texts)}; before {_splits(old, texts)}"
    note = f"a vocabulary of {len(vocabulary):,} pieces: {splits}"
    digest = weights_digest(module, tokenizer)
    return replace(encoder, module=module, tokenizer=tokenizer, digest=digest, notes=(*encoder.notes, note))


def _splits(tokenizer: Any, texts: Sequence[str]) -> str:
    shares = fertility(tokenizer, texts[:JUDGED])
    return f"{shares['pieces_per_word']:.2f} pieces per word, {shares['split_words']:.1%} of the words split"


def _old_pieces(old: Any, piece: str) -> list[int]:
    """Return the ids of the old pieces that spell a new one; all ids if none does."""
    ids, roles = old.get_vocab(), dict(zip(SPECIAL, ROLES, strict=True))
    if piece in roles:
        pieces = [getattr(old, roles[piece])]
    else:
        pieces = [token for token in old.tokenize(piece.removeprefix("##")) if token != old.unk_token]
    if piece.startswith("##") and pieces:
        pieces[0] = f"##{pieces[0]}" if f"##{pieces[0]}" in ids else pieces[0]
    return [ids[token] for token in pieces if token in ids] or list(ids.values())


def with_random_weights(encoder: Encoder) -> Encoder:
    """Return an encoder of the same size with the initial weights of its architecture, equal in every run."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_from("random weights"))
        module = type(encoder.module)(encoder.module.config).eval()
    return replace(encoder, module=module, digest=weights_digest(module, encoder.tokenizer))
