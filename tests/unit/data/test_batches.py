"""Tokens and batches: every document once, little padding, other batches every epoch."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from mtlv.data.batches import Batch, PartDocuments, copy_to_device
from mtlv.data.columns import RaggedColumn, dense
from mtlv.data.masking import Masking, Pieces
from mtlv.data.sampling import longest_first, random_batches
from mtlv.data.tokens import CUT_OFF, NO_WORD, Tokens, tokenise
from mtlv.models.tiny import build_tiny


def tokens(lengths: list[int]) -> Tokens:
    ids = np.concatenate([np.full(length, n + 1) for n, length in enumerate(lengths)]).astype(np.int32)
    return Tokens(ids, np.concatenate([[0], np.cumsum(lengths)]), pad=0, truncated=0)


@pytest.mark.parametrize(("documents", "size"), [(1, 16), (16, 16), (17, 16), (1000, 7), (2000, 16)])
def test_every_document_once(documents: int, size: int) -> None:
    lengths = np.random.default_rng(0).integers(3, 128, documents)
    for batches in (random_batches(lengths, size, seed=1, epoch=0), longest_first(lengths, size)):
        assert sorted(np.concatenate(batches).tolist()) == list(range(documents))
        assert max(map(len, batches)) <= size


def test_the_same_seed_and_epoch_give_the_same_batches_and_others_do_not() -> None:
    lengths = np.random.default_rng(0).integers(3, 128, 300)

    def order(seed: int, epoch: int) -> list[list[int]]:
        return [batch.tolist() for batch in random_batches(lengths, 16, seed=seed, epoch=epoch)]

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(1, 1)
    assert order(1, 0) != order(2, 0)
    members = {frozenset(batch) for batch in order(1, 0)}
    assert not members & {frozenset(batch) for batch in order(1, 1)}
    assert not members & {frozenset(batch) for batch in order(2, 0)}


def lengths_like_reports(count: int) -> NDArray[np.int64]:
    """Skewed as reports are, with ties at the maximum."""
    drawn = np.random.default_rng(0).gamma(5, 14, count).astype(np.int64)
    return np.clip(drawn, 5, 128)


def met_again(lengths: NDArray[np.int64], *, epochs: int = 12) -> float:
    """Of documents that share a batch, how many do so in the next epoch, over what is expected by chance."""
    count = len(lengths)
    each = []
    for epoch in range(epochs):
        number = np.empty(count, np.int64)
        for place, batch in enumerate(random_batches(lengths, 16, seed=3, epoch=epoch)):
            number[batch] = place
        same = number[:, None] == number[None, :]
        each.append(same[np.triu_indices(count, 1)])
    chance = np.mean([same.mean() for same in each])
    pairs = itertools.pairwise(each)
    return float(np.mean([after[before].mean() for before, after in pairs]) / chance)


@pytest.mark.parametrize("documents", [3 * 16, 7 * 16, 8 * 16, 160, 600, 785, 2366])
def test_documents_meet_in_a_batch_by_chance(documents: int) -> None:
    assert met_again(lengths_like_reports(documents)) == pytest.approx(1, abs=0.2)


def test_short_documents_are_in_batches_with_long_ones() -> None:
    lengths = lengths_like_reports(800)
    means = [lengths[batch].mean() for batch in random_batches(lengths, 16, seed=0, epoch=0)]
    assert np.std(means) == pytest.approx(lengths.std() / 4, rel=0.25), "as of 16 documents by chance"


@pytest.mark.parametrize(("documents", "size"), [(17, 16), (785, 16), (33, 16), (1000, 7), (129, 64)])
def test_no_batch_is_a_small_rest(documents: int, size: int) -> None:
    lengths = lengths_like_reports(documents)
    sizes = [len(batch) for batch in random_batches(lengths, size, seed=0, epoch=0)]
    assert max(sizes) - min(sizes) <= 1
    assert len(sizes) == -(-documents // size)


def test_every_document_may_be_in_any_step() -> None:
    lengths = lengths_like_reports(785)
    shortest, longest = int(lengths.argmin()), int(lengths.argmax())
    places: dict[int, list[int]] = {shortest: [], longest: []}
    for epoch in range(40):
        batches = random_batches(lengths, 16, seed=0, epoch=epoch)
        for document, found in places.items():
            found.append(next(i for i, batch in enumerate(batches) if document in batch))
    for found in places.values():
        assert len(set(found)) > 20
        assert abs(np.mean(found) - 24.5) < 3 * 50 / np.sqrt(12 * 40)


def test_the_longest_document_of_a_batch_comes_first() -> None:
    lengths = lengths_like_reports(300)
    for batch in random_batches(lengths, 16, seed=0, epoch=0):
        assert (np.diff(lengths[batch]) <= 0).all()


def test_no_documents_are_no_batches() -> None:
    assert random_batches(np.array([], np.int64), 16, seed=0, epoch=0) == []


def test_batches_for_inference_hold_so_many_tokens_with_their_padding() -> None:
    lengths = np.random.default_rng(0).integers(3, 128, 500)
    lengths[7] = 900
    batches = longest_first(lengths, 30, tokens=600)
    assert sorted(np.concatenate(batches).tolist()) == list(range(500))
    assert batches[0].tolist() == [7]
    assert all(len(batch) * lengths[batch].max() <= 600 and len(batch) <= 30 for batch in batches[1:])
    assert [lengths[batch].max() for batch in batches] == sorted(
        (lengths[batch].max() for batch in batches), reverse=True
    )
    padded = sum(len(batch) * lengths[batch].max() for batch in batches)
    assert padded / lengths.sum() < 1.05
    assert longest_first(np.array([], np.int64), 4, tokens=9) == []


def test_batches_are_padded_to_their_longest_document() -> None:
    ids, mask = tokens([2, 4, 1]).pad_rows(np.array([0, 2]))
    assert ids.tolist() == [[1, 1], [3, 0]]
    assert mask.tolist() == [[True, True], [True, False]]


def test_batches_carry_ids_and_targets_of_their_documents() -> None:
    documents = PartDocuments(tokens([2, 4, 1, 3]), dense({"t": np.array([5, 6, 7, 8])}), np.array([1, 3]))
    (batch,) = documents.inference(8)
    assert batch.index.tolist() == [1, 3]
    assert batch.targets["t"].tolist() == [6, 8]
    assert batch.input_ids[:, 0].tolist() == [2, 4]


def test_parts_and_pieces_of_a_batch_keep_all_of_its_documents_together() -> None:
    columns = dense({"t": np.arange(10, 17)})
    words = RaggedColumn.of([[1] * n for n in (3, 1, 2, 2, 1, 3, 1)], fill=NO_WORD)
    words.flat[:2] = CUT_OFF
    given = replace(tokens([4, 2, 3, 3, 2, 4, 2]), words=words)
    (batch,) = PartDocuments(given, columns, np.arange(7)).inference(8)
    assert (batch.count_items(False), batch.count_items(True)) == (7, 11)
    pieces = batch.pieces(2)
    assert [len(piece.index) for piece in pieces] == [4, 3]
    assert [row for piece in pieces for row in piece.index.tolist()] == batch.index.tolist()
    assert sum(piece.count_items(True) for piece in pieces) == 11
    for part in (*pieces, batch.part(slice(1, None, 3))):
        assert part.targets["t"].tolist() == [10 + row for row in part.index]
        assert part.input_ids[:, 0].tolist() == [row + 1 for row in part.index]


def test_pieces_are_as_long_as_their_longest_document() -> None:
    given = replace(tokens([9, 2, 5, 5]), segments=np.repeat([0, 1, 0, 1], [9, 2, 5, 5]).astype(np.int8))
    (batch,) = PartDocuments(given, {}, np.arange(4)).inference(8)
    first, second = batch.pieces(2)
    assert (first.index.tolist(), second.index.tolist()) == ([0, 2], [3, 1])
    assert first.input_ids.shape == first.attention_mask.shape == (2, 9)
    assert second.input_ids.tolist() == [[4] * 5, [2, 2, 0, 0, 0]]
    assert second.attention_mask.sum(1).tolist() == [5, 2]
    assert second.segments is not None
    assert second.segments.tolist() == [[1] * 5, [1, 1, 0, 0, 0]]
    assert [each.tokens for each in (first, second)] == [
        int(each.attention_mask.sum()) for each in (first, second)
    ]
    assert all(piece.tokens == piece.input_ids.numel() for piece in batch.pieces(4))
    assert batch.pieces(1) == [batch]


def test_tokenise_cuts_and_counts() -> None:
    _, tokenizer = build_tiny(["a b"])
    made = tokenise(["a", "a b", "a b b", "a b a b a"], tokenizer, max_length=4, pad=0)
    a, b = tokenizer.convert_tokens_to_ids(["a", "b"])
    assert made.lengths.tolist() == [3, 4, 4, 4]
    assert made.ids.reshape(-1)[3:].reshape(3, 4)[:, 1:3].tolist() == [[a, b]] * 3
    assert made.truncated == 2, "the second has exactly the maximum length"


def test_of_pairs_those_are_counted_of_which_either_text_is_cut() -> None:
    _, tokenizer = build_tiny(["a b"])
    firsts, seconds = ["a b", "a b a b", "a"], ["b", "b", "b a b a b"]
    made = tokenise(firsts, tokenizer, max_length=6, pad=0, seconds=seconds)
    assert made.lengths.tolist() == [6, 6, 6]
    assert made.truncated == 2


def test_tensors_move_in_one_piece_of_memory_and_stay_what_they_are() -> None:
    given = [
        torch.arange(6, dtype=torch.int32).view(2, 3),
        torch.tensor([[True, False, True]]),
        torch.zeros(0, 4),
        torch.tensor([1.5, -2.0, 3.25], dtype=torch.float64),
        torch.arange(12).view(3, 4)[:, ::2],
        torch.tensor(7, dtype=torch.int8),
    ]
    there = copy_to_device(given, torch.device("cpu"))
    assert all(
        torch.equal(old, new) and old.dtype == new.dtype for old, new in zip(given, there, strict=True)
    )
    assert len({each.untyped_storage().data_ptr() for each in there}) == 1


def test_a_batch_knows_its_number_of_tokens() -> None:
    documents = PartDocuments(tokens([5, 5, 5, 9]), {}, np.arange(4))
    padded, full = list(documents.inference(2))
    assert (padded.tokens, full.tokens) == (14, 10)
    assert padded.part(slice(1)).tokens == 9


def test_lengths_are_rounded_up_but_not_beyond_the_longest_document() -> None:
    documents = PartDocuments(tokens([3, 8, 9, 19]), {}, np.arange(4), multiple=8)
    batches = [batch for size in (1, 2) for batch in documents.training(size, seed=0, epoch=0)]
    for batch in batches:
        longest = documents.tokens.lengths[batch.index].max()
        assert batch.input_ids.shape[1] == min(-(-longest // 8) * 8, 19)
        assert batch.attention_mask.sum() == documents.tokens.lengths[batch.index].sum()
        assert (batch.input_ids[~batch.attention_mask] == 0).all()


def test_pairs_are_as_long_as_their_segments() -> None:
    ids = np.arange(1, 15, dtype=np.int32)
    pair = Tokens(ids, np.array([0, 5, 14]), pad=0, truncated=0, segments=(ids % 2).astype(np.int8))
    (batch,) = PartDocuments(pair, {}, np.arange(1), multiple=8).inference(2)
    assert batch.segments is not None
    assert batch.segments.shape == batch.input_ids.shape == (1, 8)


def test_texts_hide_other_pieces_in_every_epoch_and_seed_but_the_same_in_a_test() -> None:
    numbers = np.arange(50)
    pieces = Pieces(49, special=numbers == 49, continues=numbers < 0, characters=numbers)
    part = PartDocuments(
        tokens([20] * 6),
        dense({"text": np.zeros(6)}),
        np.arange(6),
        masking=Masking(pieces, masked=1.0, random=0),
    )

    def hidden(batches: Iterable[Batch]) -> dict[int, list[int]]:
        found = {}
        for batch in batches:
            assert ((batch.input_ids == 49).sum(1) == 3).all(), "what is hidden is not read"
            assert (batch.targets["text"][..., 0] == torch.from_numpy(batch.index)[:, None] + 1).all()
            found |= dict(zip(batch.index.tolist(), batch.words.tolist(), strict=True))
        return found

    first = hidden(part.training(2, seed=0, epoch=0))
    assert first == hidden(part.training(2, seed=0, epoch=0))
    assert first != hidden(part.training(2, seed=0, epoch=1))
    assert first != hidden(part.training(2, seed=1, epoch=0))
    assert hidden(part.inference(2)) == hidden(part.inference(6))


def test_a_list_of_rates_is_that_of_equal_parts_of_the_training_and_the_last_that_of_a_test() -> None:
    numbers = np.arange(50)
    pieces = Pieces(49, special=numbers == 49, continues=numbers < 0, characters=numbers)
    masking = Masking(pieces, rate=(0.1, 0.2, 0.3, 0.4), masked=1.0, random=0, epochs=2)
    part = PartDocuments(tokens([20] * 6), dense({"text": np.zeros(6)}), np.arange(6), masking=masking)

    def counts(batches: Iterable[Batch]) -> list[int]:
        return [int((batch.input_ids == 49).sum(1).unique()) for batch in batches]

    assert [counts(part.training(2, seed=0, epoch=epoch)) for epoch in (0, 1)] == [[2, 2, 4], [6, 6, 8]]
    assert counts(part.inference(2)) == [8, 8, 8]
