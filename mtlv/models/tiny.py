"""`tiny`: a random 2-layer BERT whose vocabulary is trained on the corpus at hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from mtlv.errors import EncoderError
from mtlv.seeding import seed_from

VOCABULARY = 2000
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def build_tiny(texts: Sequence[str]) -> tuple[Any, Any]:
    """A BertModel (2 layers, H = 128) and its tokenizer; equal texts give equal weights.

    Raises:
        EncoderError: there is no text to train the vocabulary on.
    """
    import torch
    from transformers import BertConfig, BertModel

    if not texts:
        raise EncoderError("`encoder.name` `tiny` needs a corpus to train its vocabulary on")
    tokenizer = _train_tokenizer(texts)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=512,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_from("tiny", len(tokenizer)))
        module = BertModel(config)
    return module.eval(), tokenizer


def train_vocabulary(texts: Sequence[str], size: int = VOCABULARY) -> dict[str, int]:
    """Word pieces of lower-cased texts: every character, then the most frequent words.

    Ties go by the alphabet, so equal texts give equal vocabularies; the `tokenizers` trainer breaks them at
    random.
    """
    from tokenizers import normalizers, pre_tokenizers

    lower, split = normalizers.BertNormalizer(lowercase=True), pre_tokenizers.BertPreTokenizer()
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(word for word, _ in split.pre_tokenize_str(lower.normalize_str(text)))
    characters = sorted({character for word in counts for character in word})
    pieces = [*SPECIAL, *characters, *(f"##{character}" for character in characters)]
    pieces += sorted((word for word in counts if len(word) > 1), key=lambda word: (-counts[word], word))
    return {
        piece: index for index, piece in enumerate(pieces[: max(size, len(characters) * 2 + len(SPECIAL))])
    }


def _train_tokenizer(texts: Sequence[str]) -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.WordPiece(train_vocabulary(texts), unk_token="[UNK]"))
    core.normalizer = normalizers.BertNormalizer(lowercase=True)
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, core.token_to_id(token)) for token in ("[CLS]", "[SEP]")],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        model_max_length=512,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def _vocabulary(counts: Mapping[str, int]) -> dict[str, int]:
    """Ids of the special tokens, the characters (first and later in a word) and the most frequent words.

    The trainer of `tokenizers` breaks ties by the order of a hash table, another one in every process: its
    vocabulary, and with it the encoder, would be another one in every run.
    """
    characters: Counter[str] = Counter()
    for word, count in counts.items():
        characters.update(dict.fromkeys(word, count))
    spelling = _by_count(characters)[: VOCABULARY // 4]
    pieces = [*SPECIAL, *spelling, *(f"##{c}" for c in spelling), *_by_count(counts)]
    return {piece: index for index, piece in enumerate(list(dict.fromkeys(pieces))[:VOCABULARY])}


def _by_count(counts: Mapping[str, int]) -> list[str]:
    return sorted(counts, key=lambda name: (-counts[name], name))
