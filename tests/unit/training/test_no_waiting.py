"""A step asks nothing of the device that it trains on, and copies each batch there once.

The device is PyTorch's `meta`: it computes nothing, so that whatever reads a value of it fails.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from mtlv.data.batches import PartDocuments
from mtlv.data.source import Corpus
from mtlv.data.targets import TARGETS
from mtlv.data.tokens import Tokens, tokenise
from mtlv.models.encoder import load_encoder
from mtlv.models.fast.packing import JaggedPacking
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import with_separate_heads
from mtlv.registries import ARCHITECTURES, BALANCERS
from mtlv.training.loop import train
from mtlv.training.objective import Objective
from mtlv.training.state import EpochProgress, TrainingState

META = torch.device("meta")
READ = ("aten._local_scalar_dense", "aten.nonzero", "aten.masked_select", "aten.equal")


class Watched(TorchDispatchMode):
    """Counts operations that go from one device to another, and names those that read values."""

    def __init__(self) -> None:
        super().__init__()
        self.crossed: list[str] = []
        self.read: list[str] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = [each.device for each in tree_leaves((args, kwargs)) if isinstance(each, torch.Tensor)]
        if META in given and str(function).rsplit(".", 1)[0] in READ:
            self.read.append(str(function))
        out = function(*args, **(kwargs or {}))
        made = [each.device for each in tree_leaves(out) if isinstance(each, torch.Tensor)]
        if len({*given, *made}) > 1:
            self.crossed.append(str(function))
        return out


class Enough(Exception):
    """The epoch's last step is done; its losses cannot be read."""


def take_steps(
    model: MultiTaskModel, heads: Any, tasks: Any, batches: list[Any], balancer: str = "sum"
) -> Watched:
    count = sum(len(head.tasks) for head in heads)
    balanced = {"balancer": BALANCERS[balancer](count), "per_task": balancer != "sum"}
    objective = Objective(heads, tasks=tasks, combine="sum", head_weights=None, **balanced).to(META)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)  # PyTorch has no fused one for `meta`
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0)

    def until_the_end() -> Any:
        yield from batches
        raise Enough

    watched = Watched()
    with watched, pytest.raises(Enough):
        train(
            TrainingState(model, optimizer, scheduler),
            lambda _: until_the_end(),
            objective=objective,
            epochs=1,
            progress=EpochProgress(),
        )
    return watched


@pytest.fixture(scope="module")
def encoder(one_corpus_per_kind: list[Corpus]) -> Any:
    return load_encoder("tiny", texts=[text for corpus in one_corpus_per_kind for text in corpus.texts])


def documents_of(corpus: Corpus, encoder: Any) -> PartDocuments:
    pad = encoder.tokenizer.pad_token_id
    given = corpus.words or corpus.texts
    tokens: Tokens = tokenise(given, encoder.tokenizer, max_length=24, pad=pad, seconds=corpus.seconds)
    columns = {t.name: TARGETS[t.kind].column(t, corpus.targets[t.name], tokens) for t in corpus.tasks}
    return PartDocuments(tokens, columns, np.arange(len(corpus)))


def heads_of(corpora: list[Corpus]) -> Any:
    tasks = [task for corpus in corpora for task in corpus.tasks]
    plan = with_separate_heads(ARCHITECTURES["mtl"].build([t.name for t in tasks], (), 1), tasks).check(tasks)
    return plan.models[0].heads, {task.name: task for task in tasks}


@pytest.mark.parametrize("batches_of", [lambda d: d.training(8, seed=0, epoch=0), lambda d: d.inference(8)])
def test_steps_on_every_kind_of_task_wait_for_nothing(
    one_corpus_per_kind: list[Corpus], encoder: Any, batches_of: Callable[[PartDocuments], Any]
) -> None:
    heads, tasks = heads_of(one_corpus_per_kind)
    model = MultiTaskModel(copy.deepcopy(encoder.module), heads, tasks=tasks, features="mean", seed=0)
    batches = [batch for each in one_corpus_per_kind for batch in batches_of(documents_of(each, encoder))]
    watched = take_steps(model.to(META), heads, tasks, batches)
    assert watched.read == []
    assert watched.crossed == ["aten._to_copy.default"] * len(batches)


@pytest.mark.parametrize(("balancer", "copies"), [("uncertainty", 1), ("dwa", 1), ("random", 2)])
def test_balanced_steps_wait_for_nothing(
    one_corpus_per_kind: list[Corpus], encoder: Any, balancer: str, copies: int
) -> None:
    """Only batches go to the device, and drawn factors, without waiting for it."""
    heads, tasks = heads_of(one_corpus_per_kind[:1])
    model = MultiTaskModel(copy.deepcopy(encoder.module), heads, tasks=tasks, features="mean", seed=0)
    batches = list(documents_of(one_corpus_per_kind[0], encoder).training(8, seed=0, epoch=0))
    watched = take_steps(model.to(META), heads, tasks, batches, balancer)
    assert watched.read == []
    assert [each for each in watched.crossed if "_to_copy" not in each] == []
    assert len(watched.crossed) == copies * len(batches)


def test_a_batch_without_padding_needs_no_mask(one_corpus_per_kind: list[Corpus], encoder: Any) -> None:
    heads, tasks = heads_of(one_corpus_per_kind[:1])
    model = MultiTaskModel(copy.deepcopy(encoder.module), heads, tasks=tasks, features="mean", seed=0).eval()
    documents = documents_of(one_corpus_per_kind[0], encoder)
    lengths = documents.tokens.lengths
    same = np.flatnonzero(lengths == np.bincount(lengths).argmax())
    (batch,) = replace(documents, index=same).inference(len(same))
    assert batch.tokens == batch.attention_mask.numel()
    given = batch.input_ids, batch.attention_mask, batch.segments
    with torch.no_grad():
        with_mask, without = model(*given, tokens=0), model(*given, tokens=batch.tokens)
    for name, logits in with_mask.items():
        assert torch.equal(logits, without[name])


@pytest.mark.parametrize("padded", [True, False])
def test_an_encoder_gets_a_mask_only_where_there_is_padding(
    padded: bool, one_corpus_per_kind: list[Corpus], encoder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    heads, tasks = heads_of(one_corpus_per_kind[:1])
    model = MultiTaskModel(copy.deepcopy(encoder.module), heads, tasks=tasks, features="mean", seed=0).eval()
    (batch,) = documents_of(one_corpus_per_kind[0], encoder).inference(100)
    masks, real = [], model.encoder.forward

    def forward(**given: Any) -> Any:
        masks.append(given["attention_mask"])
        return real(**given)

    monkeypatch.setattr(model.encoder, "forward", forward)
    with torch.no_grad():
        tokens = 1 if padded else batch.input_ids.numel()
        model(batch.input_ids, batch.attention_mask, batch.segments, tokens=tokens)
    assert [mask is not None for mask in masks] == [padded]


def test_rows_of_a_gpu_wait_for_nothing() -> None:
    mask = torch.empty(5, 12, dtype=torch.bool, device=META)
    batch = torch.empty(5, 12, 4, device=META, requires_grad=True)
    watched = Watched()
    with watched:
        packing = JaggedPacking(mask, 64)
        back = packing.batch(packing.row(batch))
        back.sum().backward()
    assert back.shape == batch.shape
    assert watched.read == []
    assert watched.crossed == []
