"""Gradients of large embeddings that stay in the same memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext, suppress

import pytest
import torch
from torch import nn
from torch.nn import functional

from mtlv.training import memory
from mtlv.training.memory import keep_gradients

STEPS = [[[3, 4, 4, 0], [5, 9, 1, 1]], [[7, 7, 2, 3]], [[0, 0, 0, 6], [4, 4, 8, 2], [3, 3, 3, 9]]]
"""Optimizer steps of backward passes of tokens; a row of one step is none of the next."""


@pytest.fixture(autouse=True)
def _all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MIN_KEPT_BYTES", 0)


class Tiny(nn.Module):
    def __init__(self, tied: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.words, self.out = nn.Embedding(10, 6, padding_idx=0), nn.Linear(6, 10, bias=False)
        if tied:
            self.out.weight = self.words.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(self.out(self.words(tokens)), tokens)


def gradients(model: Tiny, kept: AbstractContextManager) -> Iterator[tuple[torch.Tensor, int]]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, fused=True)
    with kept:
        for step in STEPS:
            for part in step:
                model(torch.tensor(part)).backward()
            found = model.words.weight.grad
            assert found is not None
            yield found.clone(), found.data_ptr()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)


@pytest.mark.parametrize("tied", [False, True])
def test_the_gradients_are_those_of_pytorch_and_stay_in_place(tied: bool) -> None:
    plain, kept = Tiny(tied), Tiny(tied)
    expected = [gradient for gradient, _ in gradients(plain, nullcontext())]
    found = list(gradients(kept, keep_gradients(kept)))
    for got, want in zip([gradient for gradient, _ in found], expected, strict=True):
        assert torch.allclose(got, want, atol=1e-7)
        assert tied or torch.equal(got, want)  # the sum of a tied weight's two gradients may round otherwise
    assert tied or len({place for _, place in found}) == 1


def test_nothing_is_left_when_training_ends_even_with_an_error() -> None:
    model = Tiny(tied=False)
    with suppress(KeyError), keep_gradients(model):
        assert model.words.sparse
        raise KeyError
    assert not model.words.sparse
    assert not model.words.weight._post_accumulate_grad_hooks
    model(torch.tensor([1, 2])).backward()
    assert model.words.weight.grad is not None
    assert model.words.weight.grad.layout == torch.strided


def test_small_frozen_and_sparse_embeddings_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Tiny(tied=False)
    model.words.weight.requires_grad_(False)
    with keep_gradients(model):
        assert not model.words.sparse
    model = Tiny(tied=False)
    model.words.sparse = True
    with keep_gradients(model):
        pass
    assert model.words.sparse
    monkeypatch.setattr(memory, "MIN_KEPT_BYTES", 10 * 6 * 4)
    model = Tiny(tied=False)
    with keep_gradients(model):
        assert not model.words.sparse
