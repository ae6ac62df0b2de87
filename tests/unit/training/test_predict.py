"""Scores come back in the order of the documents asked for, however they were cut into batches."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from mtlv.data.batches import PartDocuments
from mtlv.data.tokens import Tokens
from mtlv.training.predict import TOKENS, inference_batches, predict
from mtlv.training.ranks import Ranks


class FirstToken(torch.nn.Module):
    """A model whose score of a document is its first token, in one head of two tasks."""

    specs = {"head": SimpleNamespace(tasks=("a", "b"))}  # noqa: RUF012
    kinds = {  # noqa: RUF012
        "head": SimpleNamespace(
            scored_by_word=False, scores=lambda logits, _: [logits, torch.stack([logits] * 3, 1)]
        )
    }

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))

    def forward(self, ids, *_, heads, padded):
        assert not self.training, "nothing is dropped"
        return {name: ids[:, 0].float() for name in heads}


def test_scores_are_in_the_order_of_the_index(monkeypatch):
    monkeypatch.setitem(TOKENS, ("cpu", "fp32"), 20)  # so that there are several batches
    lengths = np.random.default_rng(0).integers(1, 9, size=30)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    ids = np.repeat(np.arange(30), lengths).astype(np.int32)
    index = np.random.default_rng(1).permutation(30)[:17]
    documents = PartDocuments(Tokens(ids, offsets, 0, 0), {}, index)
    assert len(list(inference_batches(documents, torch.device("cpu"), "fp32"))) > 3
    found = predict(FirstToken(), documents, precision="fp32")
    assert found["a"].tolist() == index.tolist()
    assert found["b"].shape == (17, 3)
    assert found["b"][:, 2].tolist() == index.tolist()


class Rehearsed(Ranks):
    """A rank that hears what others found in a rehearsal."""

    def __init__(self, rank, world, found):
        super().__init__(rank, world)
        self.found = found

    def gathered(self, value):
        self.found[self.rank] = value
        return [self.found[rank] for rank in sorted(self.found)]


@pytest.mark.parametrize("world", [2, 3, 20])
def test_ranks_share_documents_without_loss_or_repetition(world, monkeypatch):
    monkeypatch.setitem(TOKENS, ("cpu", "fp32"), 20)
    lengths = np.random.default_rng(0).integers(1, 9, size=30)
    ids = np.repeat(np.arange(30), lengths).astype(np.int32)
    index = np.random.default_rng(1).permutation(30)[:17]
    documents = PartDocuments(Tokens(ids, np.concatenate([[0], np.cumsum(lengths)]), 0, 0), {}, index)
    alone = predict(FirstToken(), documents, precision="fp32")
    found = {}
    for rank in range(world):
        last = predict(FirstToken(), documents, precision="fp32", ranks=Rehearsed(rank, world, found))
    rows = np.concatenate([part for each in found.values() for part, _ in each.get("a", [])])
    assert sorted(rows) == list(range(17))
    assert len({len(each.get("a", [])) for each in found.values()}) <= 2  # as many batches each, or one more
    assert all(np.array_equal(last[task], scores) for task, scores in alone.items())
