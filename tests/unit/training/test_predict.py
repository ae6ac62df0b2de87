"""Scores come back in the order of the documents asked for, however they were cut into batches."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, get_ident
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel

from mtlv.data.batches import PartDocuments
from mtlv.data.tokens import Tokens
from mtlv.models.fast.frozen_cache import FrozenCache
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import HeadSpec, Task
from mtlv.training.predict import TOKENS_PER_BATCH, inference_batches, predict


class FirstToken(torch.nn.Module):
    """A model whose score of a document is its first token, in one head of two tasks."""

    specs = {"head": SimpleNamespace(tasks=("a", "b"))}  # noqa: RUF012
    kinds = {  # noqa: RUF012
        "head": SimpleNamespace(
            scored_by_word=False, scores=lambda logits, _: [logits, torch.stack([logits] * 3, 1)]
        )
    }

    def __init__(self, *, remembers=False, called=lambda: None):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.remembers, self.called = remembers, called

    def forward(self, ids, *_, heads, tokens, row, windows):
        assert not self.training, "nothing is dropped"
        assert not torch.is_grad_enabled()
        self.called()
        return {name: ids[:, 0].float() for name in heads}


def test_scores_are_in_the_order_of_the_index(monkeypatch):
    monkeypatch.setitem(TOKENS_PER_BATCH, ("cpu", "fp32"), 20)  # so that there are several batches
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


@pytest.fixture
def four_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


def documents_of(count):
    return PartDocuments(
        Tokens(np.arange(count, dtype=np.int32), np.arange(count + 1), 0, 0), {}, np.arange(count)
    )


def threads_later():
    """Return PyTorch's number of compute threads in a new thread."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(torch.get_num_threads).result()


@pytest.mark.usefixtures("four_threads")
def test_a_cpu_computes_a_batch_per_thread(monkeypatch):
    monkeypatch.setitem(TOKENS_PER_BATCH, ("cpu", "fp32"), 5)
    four, seen = Barrier(4), []

    def called():
        seen.append(torch.get_num_threads())
        four.wait(timeout=20)  # until four calls are made at the same time

    found = predict(FirstToken(called=called), documents_of(40), precision="fp32")
    assert found["a"].tolist() == list(range(40))
    assert seen == [1] * 8
    assert threads_later() == 4


@pytest.mark.usefixtures("four_threads")
def test_a_model_that_keeps_vectors_computes_one_batch_after_another(monkeypatch):
    monkeypatch.setitem(TOKENS_PER_BATCH, ("cpu", "fp32"), 5)
    threads = set()
    model = FirstToken(remembers=True, called=lambda: threads.add((get_ident(), torch.get_num_threads())))
    predict(model, documents_of(40), precision="fp32")
    assert threads == {(get_ident(), 4)}


@pytest.mark.usefixtures("four_threads")
@pytest.mark.parametrize(("batches", "each"), [(1, 4), (2, 2)])
def test_few_batches_share_all_compute_threads(monkeypatch, batches, each):
    monkeypatch.setitem(TOKENS_PER_BATCH, ("cpu", "fp32"), 5)
    seen = []
    model = FirstToken(called=lambda: seen.append(torch.get_num_threads()))
    found = predict(model, documents_of(5 * batches), precision="fp32")
    assert seen == [each] * batches
    assert found["a"].tolist() == list(range(5 * batches))


@pytest.mark.usefixtures("four_threads")
def test_an_error_in_a_thread_is_raised(monkeypatch):
    monkeypatch.setitem(TOKENS_PER_BATCH, ("cpu", "fp32"), 5)
    with pytest.raises(ZeroDivisionError):
        predict(FirstToken(called=lambda: 1 / 0), documents_of(40), precision="fp32")
    assert threads_later() == torch.get_num_threads() == 4


def test_models_that_keep_vectors_say_so():
    tasks, heads = {"a": Task("a")}, [HeadSpec(("a",), private=1)]
    encoder = bert().encoder
    private = MultiTaskModel(encoder, heads, tasks=tasks, features="mean", seed=0)
    assert [model.remembers for model in (bert(), bert(FrozenCache(10)), private)] == [False, True, True]


def bert(below: FrozenCache | None = None) -> MultiTaskModel:
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    encoder, heads = BertModel(BertConfig(vocab_size=50, **sizes)), [HeadSpec(("a",))]
    frozen = {"frozen_layers": 1, "below": below} if below else {}
    return MultiTaskModel(encoder, heads, tasks={"a": Task("a")}, features="mean", seed=0, **frozen)


@pytest.mark.parametrize(
    ("precision", "below", "passed"),
    [("bf16", None, torch.bfloat16), ("fp32", None, torch.float32), ("bf16", 10**6, torch.float32)],
)
def test_layers_pass_on_bf16_in_prediction_alone(precision, below, passed):
    model, seen = bert(below and FrozenCache(below)), []
    for layer in model.encoder.encoder.layer:
        layer.register_forward_pre_hook(lambda _module, given: seen.append(given[0].dtype))
    ids = np.random.default_rng(0).integers(5, 50, 120).astype(np.int32)
    documents = PartDocuments(Tokens(ids, np.arange(0, 121, 6), 0, 0), {}, np.arange(20))
    found = predict(model, documents, precision=precision)
    assert set(seen) == {passed}
    assert np.allclose(found["a"], predict(model, documents, precision="fp32")["a"], atol=5e-3)
    assert not model.encoder.embeddings._forward_hooks
