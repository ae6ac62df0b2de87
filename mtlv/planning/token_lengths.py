"""Lengths of documents in an encoder's tokens, for `mtlv data check`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mtlv.data.source import Corpus
from mtlv.models.aliases import TINY
from mtlv.models.encoder import load_encoder

if TYPE_CHECKING:
    from mtlv.data.report import Lengths
    from mtlv.settings import Settings


def token_lengths(settings: Settings, corpus: Corpus) -> Lengths:
    """Return a function that counts the tokens of texts, including special tokens, without truncation.

    Raises:
        EncoderError: the encoder is not available.
    """
    texts = corpus.texts if settings.encoder.name == TINY else ()
    tokenizer = load_encoder(settings.encoder.name, texts=texts, revision=settings.encoder.revision).tokenizer

    def lengths(batch: Sequence[str]) -> Sequence[int]:
        encoded = tokenizer(
            list(batch), return_attention_mask=False, return_token_type_ids=False, verbose=False
        )
        return [len(ids) for ids in encoded["input_ids"]]

    return lengths
