"""How many tokens the texts of a table have, and the length that cuts few of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from mtlv.data.words import RULES, RUNS
from mtlv.models.aliases import PACKAGED
from mtlv.models.lengths import ALIAS_MAX_TOKENS

ENCODER = "minilm"  # of new configs
SAMPLE_TEXTS = 2000  # texts whose tokens are counted
MAX_LETTERS = 20_000  # characters of a text that are counted, which is more than any encoder reads
UNCUT_SHARE = 0.99  # share of the texts that are not cut
LENGTH_STEP = 32
PIECES_PER_WORD = 1.4  # of a word in Latin letters


@lru_cache(maxsize=4)
def token_counts(texts: tuple[str, ...]) -> tuple[int, ...]:
    """Return the number of tokens of a sample of texts, with those that the encoder adds.

    They are counted by the tokenizer of `ENCODER` if it is in a package on this machine, else estimated.
    """
    sample = [text[:MAX_LETTERS] for text in texts[:: max(1, len(texts) // SAMPLE_TEXTS)]]
    folder = PACKAGED[ENCODER].folder if ENCODER in PACKAGED else None
    file = None if folder is None else folder / "tokenizer.json"
    return tuple(
        _count_tokens(sample, file) if file is not None and file.is_file() else map(estimate_pieces, sample)
    )


def _count_tokens(texts: Sequence[str], file: Path) -> list[int]:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return [len(encoding.ids) for encoding in tokenizer.encode_batch(list(texts))]


def estimate_pieces(text: str) -> int:
    """Estimate the number of word pieces of a text; outside the Latin script, most are one letter."""
    words = RULES[RUNS].findall(text)
    return 2 + round(sum(PIECES_PER_WORD if word[0] < "\u0250" else len(word) for word in words))


def max_length(texts: tuple[str, ...]) -> tuple[int, float]:
    """Return a maximum length in tokens that cuts at most 1% of the texts, and the share that is cut."""
    counts = np.array(token_counts(texts) or (0,))
    needed = int(np.ceil(np.quantile(counts, UNCUT_SHARE, method="inverted_cdf")))
    length = min(ALIAS_MAX_TOKENS, max(LENGTH_STEP, -(-needed // LENGTH_STEP) * LENGTH_STEP))
    return length, float((counts > length).mean())
