"""Masked language modelling: which pieces of a text are masked, and what replaces them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtlv.errors import EncoderError

IGNORED = -100  # target of padding: PyTorch's default
NO_PIECE = -2  # place of padding, as for words
# Letters of GPT-2's vocabularies, one for each byte of UTF-8, of those within a character (0x80 to 0xBF).
INSIDE = frozenset(map(chr, [*range(290, 324), *range(161, 173), *range(174, 192)]))


def need_mask_token(tokenizer: Any, encoder: str) -> None:
    """Raise an error for an encoder that cannot learn masked words.

    Raises:
        EncoderError: its tokenizer has no mask token.
    """
    if tokenizer.mask_token_id is None:
        raise EncoderError(
            "masked language modelling needs an encoder with a mask token",
            got=f"the tokenizer of `{encoder}` has none",
            then="use a BERT-family encoder, such as minilm or bert",
        )


@dataclass(frozen=True)
class Pieces:
    """What masking needs to know of a vocabulary of V pieces."""

    mask: int  # id of `[MASK]`
    special: NDArray[np.bool_]  # [V] special tokens, which are neither hidden nor drawn
    continues: NDArray[np.bool_]  # [V] pieces that continue the word before them
    characters: NDArray[np.int64]  # [V] number of characters

    @classmethod
    def of(cls, tokenizer: Any, rows: int) -> Pieces:
        """Read a tokenizer; words are WordPiece's (`##`), or start with a space (`Ġ`, `▁`).

        `rows` is V, the number of embeddings, which may be more than the tokenizer has.
        """
        names = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
        names += [""] * (rows - len(names))
        special = np.isin(np.arange(rows), tokenizer.all_special_ids) | (np.array(names) == "")
        starts = [name.startswith(("Ġ", "▁")) for name in names]
        continues = ~np.array(starts) if any(starts) else np.array([n.startswith("##") for n in names])
        texts = [name.removeprefix("##").lstrip("Ġ▁") for name in names]
        inside = INSIDE if any(name.startswith("Ġ") for name in names) else frozenset()
        characters = [sum(letter not in inside for letter in text) for text in texts]
        return cls(tokenizer.mask_token_id, special, continues & ~special, np.array(characters, np.int64))


@dataclass(frozen=True)
class Masked:
    """A batch with masked pieces.

    Args:
        ids: [B, L] ids, some replaced.
        places: [B, M] positions of the masked pieces, ascending; `NO_PIECE` for padding.
        targets: [B, M, 3] the id, the number of the word within its document, and the number of characters
            of each masked piece; `IGNORED` for padding.
    """

    ids: NDArray[np.int64]
    places: NDArray[np.int64]
    targets: NDArray[np.int64]


@dataclass(frozen=True)
class Masking:
    """Masks pieces of documents, with draws that depend only on seed, epoch and document.

    Words are drawn at random until `rate` of the document's pieces are masked, at least one; a word that
    would exceed this is skipped. A word is a piece with those that continue it. This is the rule of BERT's
    `create_pretraining_data.py` with whole words. Each masked piece is then replaced by `[MASK]`, by a random
    piece, or by itself.

    Args:
        pieces: the vocabulary.
        rate: share of masked pieces, or shares for equal parts of the training, in turn.
        whole_words: whether to mask whole words; if not, each piece is drawn by itself.
        masked, random: shares of masked pieces that are replaced by `[MASK]` and by a random piece; the
            others stay as they are.
        epochs: number of epochs of the training.
    """

    pieces: Pieces
    rate: float | tuple[float, ...] = 0.15
    whole_words: bool = True
    masked: float = 0.8
    random: float = 0.1
    epochs: int = 1

    def after(self, epochs: float) -> Masking:
        """Return the masking after so many epochs, with one rate: that of this part of the training."""
        if not isinstance(self.rate, tuple):
            return self
        part = int(min(epochs / self.epochs, 1) * len(self.rate))
        return replace(self, rate=self.rate[min(part, len(self.rate) - 1)])

    def hide(
        self, ids: NDArray[np.int64], mask: NDArray[np.bool_], *, seeds: Collection[tuple[int, ...]]
    ) -> Masked:
        """Return a batch with masked pieces, of ids and mask [B, L] and the seed of each document's draws."""
        masked = [
            self._hide_document(row[known], seed) for row, known, seed in zip(ids, mask, seeds, strict=True)
        ]
        most = max((len(places) for places, _, _ in masked), default=0)
        out = ids.copy()
        places = np.full((len(ids), most), NO_PIECE, np.int64)
        targets = np.full((len(ids), most, 3), IGNORED, np.int64)
        for row, (positions, words, instead) in enumerate(masked):
            true = ids[row, positions]
            out[row, positions] = instead
            places[row, : len(positions)] = positions
            targets[row, : len(positions)] = np.stack([true, words, self.pieces.characters[true]], 1)
        return Masked(out, places, targets)

    def _hide_document(
        self, ids: NDArray[np.int64], seed: tuple[int, ...]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return positions of a document's masked pieces, their words, and the ids that replace them."""
        rng = np.random.default_rng(seed)
        (text,) = np.nonzero(~self.pieces.special[ids])
        first = np.ones(len(text), bool)
        if self.whole_words:  # a piece after a special token begins a word
            first = ~self.pieces.continues[ids[text]] | (np.diff(text, prepend=-2) > 1)
        word = np.cumsum(first) - 1
        chosen = self._choose_words(np.bincount(word), rng)
        hidden = np.isin(word, chosen)
        positions = text[hidden]
        drawn = rng.random(len(positions))
        instead = np.where(drawn < self.masked, self.pieces.mask, ids[positions])
        (ordinary,) = np.nonzero(~self.pieces.special)
        by_chance = (drawn >= self.masked) & (drawn < self.masked + self.random)
        instead[by_chance] = rng.choice(ordinary, by_chance.sum())
        return positions, word[hidden], instead

    def _choose_words(self, lengths: NDArray[np.int64], rng: np.random.Generator) -> list[int]:
        """Return the words to hide, given the number of pieces of each."""
        assert isinstance(self.rate, float)
        left = max(1, round(self.rate * int(lengths.sum())))
        chosen = []
        for word in rng.permutation(len(lengths)).tolist():
            if lengths[word] <= left:
                chosen.append(word)
                left -= int(lengths[word])
            if not left:
                break
        return chosen
