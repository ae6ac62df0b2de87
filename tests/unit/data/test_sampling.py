"""A curriculum: what is drawn from at each step, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from mtlv.data.batches import PartDocuments
from mtlv.data.sampling import DIFFICULTIES, Pace, random_batches
from mtlv.data.tokens import Tokens

LENGTHS = np.random.default_rng(0).permutation(np.arange(5, 105))
ORDER = np.argsort(LENGTHS)
SIZE = 8


def batches(pace: Pace, epoch: int, seed: int = 1) -> list[list[int]]:
    return [batch.tolist() for batch in pace(LENGTHS, SIZE, seed=seed, epoch=epoch)]


def test_competence_is_that_of_platanios() -> None:
    pace = Pace(ORDER, 100, 0.1)
    assert [pace.competence(step) for step in (0, 25, 50, 100, 200)] == pytest.approx(
        [0.1, 0.5074, 0.7106, 1, 1], abs=1e-4
    )


def test_batches_are_of_the_easiest_documents_and_grow_harder() -> None:
    pace = Pace(ORDER, 2.0, 0.1)
    rank = np.empty(100, np.int64)
    rank[ORDER] = np.arange(100)
    for epoch in (0, 1):
        found = batches(pace, epoch)
        usual = random_batches(LENGTHS, SIZE, seed=1, epoch=epoch)
        assert [len(batch) for batch in found] == [len(batch) for batch in usual]
        for number, batch in enumerate(found):
            allowed = max(round(100 * pace.competence(epoch + number / len(found))), len(batch))
            assert len(set(batch)) == len(batch)
            assert rank[batch].max() < allowed
            assert (np.diff(LENGTHS[batch]) <= 0).all()
    reached = [rank[batches(pace, 1, seed)[-1]].max() for seed in range(20)]
    assert max(reached) > 90
    first = [set(batches(pace, 0, seed)[3]) for seed in range(20)]
    assert len(set().union(*first)) > 20, "and at random from these"


def test_a_pool_smaller_than_a_batch_has_the_easiest_documents_of_a_batch() -> None:
    assert sorted(batches(Pace(ORDER, 5.0, 1e-6), 0)[0]) == sorted(ORDER[:SIZE].tolist())[:SIZE]


def test_afterwards_batches_are_as_without_a_pace() -> None:
    pace = Pace(ORDER, 1.5, 0.01)
    usual = [batch.tolist() for batch in random_batches(LENGTHS, SIZE, seed=1, epoch=2)]
    assert batches(pace, 2) == usual
    for epoch in (0, 1):
        assert batches(pace, epoch) != [
            b.tolist() for b in random_batches(LENGTHS, SIZE, seed=1, epoch=epoch)
        ]
        assert batches(pace, epoch) == batches(pace, epoch)
        assert batches(pace, epoch) != batches(pace, epoch, seed=2)


def test_difficulties_by_hand() -> None:
    ids = np.array([1, 1, 1, 2, 1, 3, 1, 1], np.int32)
    tokens = Tokens(ids, np.array([0, 2, 4, 7, 8]), pad=0, truncated=0)
    part = PartDocuments(tokens, {}, np.array([0, 1, 2]))  # of seven tokens: five 1, one 2, one 3
    assert DIFFICULTIES["length"](part, 0).tolist() == [2, 2, 3]
    one, rare = -np.log(5 / 7), -np.log(1 / 7)
    wanted = [2 * one, one + rare, 2 * one + rare]
    assert DIFFICULTIES["rarity"](part, 0).tolist() == pytest.approx(wanted)
    drawn = DIFFICULTIES["random"](part, 3)
    assert drawn.tolist() == DIFFICULTIES["random"](part, 3).tolist()
    assert drawn.tolist() != DIFFICULTIES["random"](part, 4).tolist()


def test_a_part_trains_on_the_batches_of_its_pace_and_predicts_all() -> None:
    ids = np.ones(int(LENGTHS.sum()), np.int32)
    tokens = Tokens(ids, np.concatenate([[0], np.cumsum(LENGTHS)]), pad=0, truncated=0)
    index = np.arange(20, 100)
    order = np.argsort(LENGTHS[index])
    part = PartDocuments(tokens, {}, index, batching=Pace(order, 9.0, 0.1))
    first = next(part.training(SIZE, seed=0, epoch=0))
    assert set(first.index) == set(index[order[:SIZE]])
    assert sum(len(batch.index) for batch in part.inference(SIZE)) == len(index)
