"""`tiny`: a random 2-layer BERT with a vocabulary trained on the corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from mtlv.errors import EncoderError
from mtlv.models.wordpiece import SPECIAL, by_count, tokenizer_of
from mtlv.seeding import seed_from

VOCABULARY = 2000
WIDTH = 128  # H


def build_tiny(texts: Sequence[str]) -> tuple[Any, Any]:
    """Build a BertModel (2 layers, H = 128) and its tokenizer; equal texts give equal weights.

    Raises:
        EncoderError: there are no texts to train the vocabulary on.
    """
    import torch
    from transformers import BertModel

    if not texts:
        raise EncoderError("`encoder.name` `tiny` needs a corpus to train its vocabulary on")
    tokenizer = _train_tokenizer(texts)
    config = tiny_config(len(tokenizer), tokenizer.pad_token_id)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_from("tiny", len(tokenizer)))
        module = BertModel(config)
    torch.nn.init.zeros_(module.embeddings.token_type_embeddings.weight)  # the same in every token of a text
    return module.eval(), tokenizer


def tiny_config(vocabulary: int, pad: int = 0) -> Any:
    """Return the config of the encoder `tiny`.

    Weights start from N(0, 1 / H), with which a layer keeps the size of what it gets. BERT's N(0, 0.02^2) is
    made for H = 768; at H = 128, the layers would do next to nothing at first, and learn to read late.
    """
    from transformers import BertConfig

    return BertConfig(
        vocab_size=vocabulary,
        hidden_size=WIDTH,
        initializer_range=WIDTH**-0.5,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=512,
        pad_token_id=pad,
    )


def _train_tokenizer(texts: Sequence[str]) -> Any:
    from tokenizers import normalizers, pre_tokenizers

    normalizer, splitter = normalizers.BertNormalizer(lowercase=True), pre_tokenizers.BertPreTokenizer()
    words = (word for text in texts for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text)))
    return tokenizer_of(_vocabulary(Counter(words)), lowercase=True, max_length=512)


def _vocabulary(counts: Mapping[str, int]) -> dict[str, int]:
    """Return ids of special tokens, characters (first and later in a word) and the most frequent words.

    The trainer of `tokenizers` breaks ties by the order of a hash table, which differs between processes, so
    that vocabulary and encoder would differ between runs.
    """
    characters: Counter[str] = Counter()
    for word, count in counts.items():
        characters.update(dict.fromkeys(word, count))
    spelling = by_count(characters)[: VOCABULARY // 4]
    pieces = [*SPECIAL, *spelling, *(f"##{c}" for c in spelling), *by_count(counts)]
    return {piece: index for index, piece in enumerate(list(dict.fromkeys(pieces))[:VOCABULARY])}
