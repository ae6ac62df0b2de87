"""Which pieces of a text are masked, and what replaces them."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from mtlv.data.masking import IGNORED, NO_PIECE, Masked, Masking, Pieces, need_mask_token
from mtlv.data.tokens import Tokens, in_chunks
from mtlv.errors import EncoderError

CLS, SEP, MASK, FIRST = 0, 1, 2, 3  # ordinary pieces from FIRST; odd ones continue a word
SIZE = 103
NUMBERS = np.arange(SIZE)
PIECES = Pieces(
    MASK,
    special=NUMBERS < FIRST,
    continues=(NUMBERS >= FIRST) & (NUMBERS % 2 == 1),
    characters=NUMBERS % 7 + 1,
)
MASKING = Masking(PIECES)


def documents(count: int, length: int, seed: int = 0) -> np.ndarray:
    ids = np.random.default_rng(seed).integers(FIRST, SIZE, (count, length))
    ids[:, 0], ids[:, -1] = CLS, SEP
    return ids


class Tokenizer(list[str]):
    """The names of pieces, of which the first two are special."""

    mask_token_id = 1
    all_special_ids = (0, 1)

    def convert_ids_to_tokens(self, ids: range) -> list[str]:
        return [self[number] for number in ids]


def hidden(masking: Masking, ids: np.ndarray, seed: int = 0, epoch: int = 1) -> Masked:
    seeds = [(seed, epoch, row) for row in range(len(ids))]
    return masking.hide(ids, np.ones(ids.shape, bool), seeds=seeds)


def words_of(row: np.ndarray) -> list[list[int]]:
    """The positions of each word of a document, by the definition."""
    words: list[list[int]] = []
    for place, piece in enumerate(row.tolist()):
        if piece < FIRST:
            continue
        if PIECES.continues[piece] and words and words[-1][-1] == place - 1:
            words[-1].append(place)
        else:
            words.append([place])
    return words


@pytest.mark.parametrize("whole_words", [True, False])
def test_shares_are_those_of_the_settings(whole_words: bool) -> None:
    ids = documents(1000, 128)
    found = hidden(replace(MASKING, whole_words=whole_words), ids)
    known = found.places >= 0
    true, now = found.targets[known][:, 0], found.ids[np.nonzero(known)[0], found.places[known]]
    assert known.sum() / (ids >= FIRST).sum() == pytest.approx(0.15, abs=0.005)
    assert (now == MASK).mean() == pytest.approx(0.8, abs=0.01)
    other = now[now != MASK]
    assert (other == true[now != MASK]).sum() / len(now) == pytest.approx(0.1, abs=0.01)
    assert (other >= FIRST).all(), "no special token is drawn"


def test_words_are_hidden_whole_or_not_at_all() -> None:
    ids = documents(50, 64)
    found = hidden(MASKING, ids)
    for row, places, targets in zip(ids, found.places, found.targets, strict=True):
        taken = set(places[places >= 0].tolist())
        words = words_of(row)
        assert all(len(taken & set(word)) in (0, len(word)) for word in words)
        numbers = dict(zip(places.tolist(), targets[:, 1].tolist(), strict=True))
        assert all(numbers[p] == n for n, word in enumerate(words) for p in word if p in taken)
        assert 0.10 < len(taken) / (row >= FIRST).sum() <= 0.16
    alone = hidden(replace(MASKING, whole_words=False), ids)
    split = [set(p[p >= 0].tolist()) for p in alone.places]
    assert any(0 < len(s & set(w)) < len(w) for s, row in zip(split, ids, strict=True) for w in words_of(row))


def test_targets_are_the_true_pieces_and_nothing_else_changes() -> None:
    ids = documents(20, 64)
    found = hidden(MASKING, ids)
    for row, now, places, targets in zip(ids, found.ids, found.places, found.targets, strict=True):
        own = places[places >= 0]
        assert (np.diff(own) > 0).all()
        assert not PIECES.special[row[own]].any()
        assert targets[: len(own), 0].tolist() == row[own].tolist()
        assert targets[: len(own), 2].tolist() == PIECES.characters[row[own]].tolist()
        assert (places[len(own) :] == NO_PIECE).all()
        assert (targets[len(own) :] == IGNORED).all()
        same = np.setdiff1d(np.arange(len(row)), own)
        assert (now[same] == row[same]).all()


def test_draws_depend_on_seed_epoch_and_document() -> None:
    ids = documents(30, 64)
    first = hidden(MASKING, ids)
    again = MASKING.hide(ids[10:], np.ones((20, 64), bool), seeds=[(0, 1, row) for row in range(10, 30)])
    assert (again.ids == first.ids[10:]).all(), "whatever else is in the batch"
    assert not (hidden(MASKING, ids, epoch=2).ids == first.ids).all()
    assert not (hidden(MASKING, ids, seed=1).ids == first.ids).all()


def test_every_place_may_be_hidden() -> None:
    ids = np.tile(documents(1, 64) // 2 * 2, (400, 1))
    ids[:, 0], ids[:, -1] = CLS, SEP
    ids[:, 1:-1] = np.maximum(ids[:, 1:-1], FIRST + 1)  # each a word
    places = hidden(MASKING, ids).places
    counts = np.bincount(places[places >= 0], minlength=64)[1:-1] / 400
    assert counts.min() > 0
    assert counts[:31].mean() == pytest.approx(counts[31:].mean(), abs=0.03)


def test_a_short_text_hides_one_piece_and_an_empty_one_none() -> None:
    ids = np.array([[CLS, 4, 6, SEP], [CLS, SEP, 8, 8]])
    found = MASKING.hide(ids, np.array([[True] * 4, [True, True, False, False]]), seeds=[(0,), (1,)])
    assert found.places.shape == (2, 1)
    assert found.places[1].tolist() == [NO_PIECE]
    assert (found.ids[1] == ids[1]).all(), "padding is not hidden"


@pytest.mark.parametrize(
    ("names", "continues"),
    [
        (["[CLS]", "[MASK]", "car", "##dio", "lung"], [False, False, False, True, False]),
        (["[CLS]", "[MASK]", "Ġcar", "dio", "Ġlung"], [False, False, False, True, False]),
    ],
)
def test_words_are_read_from_the_names_of_pieces(names: list[str], continues: list[bool]) -> None:
    found = Pieces.of(Tokenizer(names), 6)
    assert found.continues.tolist() == [*continues, False]
    assert found.special.tolist() == [True, True, False, False, False, True], (
        "a row without a piece is special"
    )
    assert found.characters[2:5].tolist() == [3, 3, 4]


def test_characters_are_letters_and_not_bytes() -> None:
    from tokenizers.pre_tokenizers import ByteLevel

    words = ["naïve", "µg", "β-blocker", "5 °C", "漢字"]
    letters = [
        "".join(piece for piece, _ in ByteLevel(add_prefix_space=True).pre_tokenize_str(word))
        for word in words
    ]
    found = Pieces.of(Tokenizer(["[CLS]", "[MASK]", *letters]), len(words) + 2)
    spaces = [each.count("Ġ") - 1 for each in letters]
    counted = [n - space for n, space in zip(found.characters[2:].tolist(), spaces, strict=True)]
    assert counted == [len(word.replace(" ", "")) for word in words]


def test_an_encoder_without_a_mask_token_is_refused() -> None:
    with pytest.raises(
        EncoderError, match=r"needs an encoder with a mask token .*`gpt` has none.*BERT-family"
    ):
        need_mask_token(SimpleNamespace(mask_token_id=None), "gpt")
    need_mask_token(SimpleNamespace(mask_token_id=0), "bert")


def test_long_texts_are_cut_into_rows_that_have_every_piece_once() -> None:
    lengths = [2, 5, 12, 9]
    rows = [[CLS, *range(10 * n, 10 * n + length - 2), SEP] for n, length in enumerate(lengths)]
    tokens = Tokens(np.concatenate(rows).astype(np.int32), np.cumsum([0, *lengths]), pad=0, truncated=0)
    found = in_chunks(tokens, 6)
    cut = [found.ids[a:b].tolist() for a, b in zip(found.offsets[:-1], found.offsets[1:], strict=True)]
    assert cut == [
        [CLS, SEP],
        [CLS, 10, 11, 12, SEP],
        [CLS, 20, 21, 22, 23, SEP],
        [CLS, 24, 25, 26, 27, SEP],
        [CLS, 28, 29, SEP],
        [CLS, 30, 31, 32, 33, SEP],
        [CLS, 34, 35, 36, SEP],
    ]
    assert found.documents(np.arange(7)).tolist() == [0, 1, 2, 2, 2, 3, 3]
    assert found.rows(np.array([1, 3])).tolist() == [1, 5, 6]
