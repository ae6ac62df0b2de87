"""A compiled encoder computes what the plain one does, as one graph, for models of any tasks.

Compiled by PyTorch's `aot_eager`, which traces forward and backward as the compiler for a GPU does and leaves
out the writing of kernels: CUDA graphs themselves need a GPU (`tests/gpu`).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch._dynamo.utils import counters

from mtlv.data import catalog
from mtlv.data.batches import PartDocuments
from mtlv.data.columns import dense
from mtlv.data.options import DataOptions
from mtlv.data.source import Corpus
from mtlv.data.tokens import tokenise
from mtlv.models.encoder import load_encoder
from mtlv.models.fast.compiled import Compile
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import Task
from mtlv.registries import ARCHITECTURES
from mtlv.training.loop import train
from mtlv.training.objective import Objective
from mtlv.training.optim import adamw, schedule
from mtlv.training.predict import predict
from mtlv.training.state import TrainingState


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return catalog.load("synthetic", DataOptions(documents=32))


@pytest.fixture(scope="module")
def encoder(corpus: Corpus) -> Any:
    return load_encoder("tiny", texts=corpus.texts)


@pytest.fixture(autouse=True)
def nothing_compiled_before() -> Iterator[None]:
    torch._dynamo.reset()
    counters.clear()
    yield
    torch._dynamo.reset()


def as_one_graph(encoder: Any) -> Any:
    return torch.compile(encoder, dynamic=True, backend="aot_eager", fullgraph=True)


def trained(
    corpus: Corpus,
    encoder: Any,
    names: list[str],
    precision: str = "fp32",
    *,
    compiled: Compile | None,
) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Weights and scores after an epoch without dropout."""
    torch.manual_seed(0)
    tokens = tokenise(corpus.texts, encoder.tokenizer, max_length=48, pad=encoder.tokenizer.pad_token_id)
    documents = PartDocuments(
        tokens, dense({n: corpus.targets[n] for n in names}), np.arange(len(corpus)), multiple=8
    )
    tasks = {name: Task(name) for name in names}
    heads = ARCHITECTURES["mtl"].build(names, (), 1).models[0].heads
    module = copy.deepcopy(encoder.module)
    model = MultiTaskModel(module, heads, tasks=tasks, features="mean", seed=0, dropout=0.0)
    if compiled is not None:
        model.use_compiled(compiled)
    optimizer = adamw(model, learning_rate=1e-3, weight_decay=0.01)
    train(
        TrainingState(model, optimizer, schedule(optimizer, "linear", steps=2, warmup=0.1)),
        lambda epoch: documents.training(16, seed=0, epoch=epoch),
        objective=Objective(heads, tasks=tasks, combine="sum", head_weights=None),
        epochs=1,
        precision=precision,
    )
    return model.state_dict(), predict(model, documents, precision=precision)


def assert_alike(found: tuple[dict, dict], expected: tuple[dict, dict], tolerance: float) -> None:
    (weights, scores), (plain, others) = found, expected
    assert list(weights) == list(plain)
    for name, weight in plain.items():
        torch.testing.assert_close(weights[name], weight, rtol=tolerance, atol=tolerance)
    for name, values in others.items():
        np.testing.assert_allclose(scores[name], values, atol=tolerance)


@pytest.mark.slow
def test_it_learns_in_bf16_what_the_plain_one_learns(corpus: Corpus, encoder: Any) -> None:
    names = [task.name for task in corpus.tasks]
    compiled = trained(corpus, encoder, names, "bf16", compiled=as_one_graph)
    assert_alike(compiled, trained(corpus, encoder, names, "bf16", compiled=None), 2e-2)


@pytest.mark.slow
def test_batches_of_all_lengths_and_models_of_other_tasks_share_one_graph(
    corpus: Corpus, encoder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mtlv.training.loop.OF_A_PART", 64)  # whole batches, as a GPU has them
    for task in corpus.tasks:
        compiled = trained(corpus, encoder, [task.name], compiled=as_one_graph)
    assert_alike(compiled, trained(corpus, encoder, [corpus.tasks[-1].name], compiled=None), 1e-4)
    assert len(corpus.tasks) > torch._dynamo.config.recompile_limit
    assert counters["stats"]["unique_graphs"] == 1
