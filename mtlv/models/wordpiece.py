"""WordPiece vocabularies: learned from texts, as tokenizers, and how they split words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mtlv.errors import EncoderError
from mtlv.plan.splitting import Splitting

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LEAST = 2  # occurrences of a piece
MOST_CHARACTERS = 1000  # of the alphabet: the most frequent
MOST_WORDS = 20  # shown with their pieces


def learn_vocabulary(texts: Sequence[str], size: int, *, lowercase: bool) -> dict[str, int]:
    """Return ids of V pieces: special tokens, characters, then pieces by the merges of `tokenizers`.

    Its trainer of WordPiece merges the most frequent pair, as byte-pair encoding does, not the one that
    raises the likelihood most. It breaks ties by ids, which it gives to characters in the order of a hash
    table; characters are therefore given first, so that equal texts give equal vocabularies.

    Raises:
        EncoderError: the texts give fewer pieces.
    """
    from tokenizers import trainers

    core = _wordpiece({"[UNK]": 0}, lowercase)
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(core.normalizer.normalize_str(text))
    letters = [letter for letter in by_count(counts) if not letter.isspace()][:MOST_CHARACTERS]
    first = [*SPECIAL, *letters, *(f"##{letter}" for letter in letters)]
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, min_frequency=LEAST, show_progress=False, special_tokens=first
    )
    core.train_from_iterator(texts, trainer)
    vocabulary: dict[str, int] = core.get_vocab()
    if len(vocabulary) != size:
        raise EncoderError(
            "`encoder.vocabulary.size` does not fit the texts",
            got=size,
            allowed=f"{len(first)} (their characters) to {len(vocabulary)} (all pieces that occur twice)"
            if len(vocabulary) < size
            else f"{len(first)} (their characters) or more",
        )
    return vocabulary


def by_count(counts: Mapping[str, int]) -> list[str]:
    """Return all keys, the most frequent first, and equally frequent ones in alphabetical order."""
    return sorted(counts, key=lambda key: (-counts[key], key))


def tokenizer_of(vocabulary: Mapping[str, int], *, lowercase: bool, max_length: int) -> Any:
    """Return a fast tokenizer as BERT's, given the ids of pieces."""
    from tokenizers import processors
    from transformers import PreTrainedTokenizerFast

    core = _wordpiece(vocabulary, lowercase)
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, core.token_to_id(token)) for token in ("[CLS]", "[SEP]")],
    )
    return PreTrainedTokenizerFast(  # nosec B106 # tokens of a vocabulary
        tokenizer_object=core,
        model_max_length=max_length,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def _wordpiece(vocabulary: Mapping[str, int], lowercase: bool) -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    core = Tokenizer(models.WordPiece(dict(vocabulary), unk_token="[UNK]"))  # nosec B106 # a token of a text
    core.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return core


def splittings(old: Any, new: Any, texts: Iterable[str]) -> tuple[Splitting, ...]:
    """Return the words of texts that the old tokenizer splits, at most `MOST_WORDS`, the most frequent first.

    Words are runs of letters, in lower case; the new tokenizer has no part in their choice.
    """
    counts = Counter(word for text in texts for word in re.findall(r"[^\W\d_]+", text.lower()))
    words: list[Splitting] = []
    for word in by_count(counts):
        pieces = (tokenizer.tokenize(f" {word}") for tokenizer in (old, new))
        before, after = (tuple(map(_remove_marker, part)) for part in pieces)
        if len(before) > 1 and len(words) < MOST_WORDS:
            words.append(Splitting(word, counts[word], before, after))
    return tuple(words)


def _remove_marker(piece: str) -> str:
    return piece.removeprefix("##").lstrip("\u0120\u2581")  # of WordPiece, byte-level BPE and SentencePiece


def fertility(tokenizer: Any, texts: Iterable[str]) -> dict[str, float]:
    """Return the pieces per word of texts, and the shares of split and of unknown words.

    Words are those of the tokenizer, without spaces and punctuation between them.
    """
    words = pieces = split = unknown = 0
    for text in texts:
        encoding = tokenizer(text, add_special_tokens=False)
        counts = Counter(encoding.word_ids()).values()
        words, pieces, split = words + len(counts), pieces + sum(counts), split + sum(n > 1 for n in counts)
        unknown += encoding["input_ids"].count(tokenizer.unk_token_id)
    return {"pieces_per_word": pieces / words, "split_words": split / words, "unknown_words": unknown / words}
