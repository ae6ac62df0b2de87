"""Recorded steps learn what the encoder learns.

CUDA graphs need a GPU (`tests/gpu`); here, a recorder computes the same functions again, on the same memory.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from recorders import Again, Never
from transformers.modeling_outputs import BaseModelOutputWithPast

from mtlv.data import catalog
from mtlv.data.batches import PartDocuments
from mtlv.data.columns import dense
from mtlv.data.options import DataOptions
from mtlv.data.source import Corpus
from mtlv.data.tokens import tokenise
from mtlv.errors import EncoderError
from mtlv.models.encoder import load_encoder
from mtlv.models.fast import graphs
from mtlv.models.fast.graphs import Graphed
from mtlv.models.lora import LoRA
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import Task
from mtlv.registries import ARCHITECTURES
from mtlv.training.loop import autocast, train
from mtlv.training.objective import Objective
from mtlv.training.optim import make_optimizer, schedule
from mtlv.training.state import TrainingState


@pytest.fixture(autouse=True)
def none_made() -> None:
    Again.made, Again.room = [], True


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return catalog.load("synthetic", DataOptions(documents=60))


@pytest.fixture(scope="module")
def encoder(corpus: Corpus) -> Any:
    return load_encoder("tiny", texts=corpus.texts)


def trained(
    corpus: Corpus,
    encoder: Any,
    *,
    graphs: bool,
    precision: str = "fp32",
    accumulation: int = 1,
    dropout: float = 0.1,
    rows: bool = True,
    **more: Any,
) -> tuple[list[Any], dict[str, torch.Tensor]]:
    """Notes and weights after three epochs."""
    torch.manual_seed(0)
    tokens = tokenise(corpus.texts, encoder.tokenizer, max_length=48, pad=encoder.tokenizer.pad_token_id)
    names = [task.name for task in corpus.tasks]
    tasks = {name: Task(name) for name in names}
    heads = ARCHITECTURES["mtl"].build(names, (), 1).models[0].heads
    model = MultiTaskModel(
        copy.deepcopy(encoder.module), heads, tasks=tasks, features="mean", seed=0, dropout=dropout, **more
    )
    notes: list[str] = []
    model.__dict__["_packable"] = rows
    documents = PartDocuments(
        tokens, dense(corpus.targets), np.arange(len(corpus)), model.multiple if rows else 4
    )
    optimizer = make_optimizer(model, learning_rate=1e-3, weight_decay=0.01)
    train(
        TrainingState(model, optimizer, schedule(optimizer, "linear", steps=24, warmup=0.1)),
        lambda epoch: documents.training(8, seed=0, epoch=epoch),
        objective=Objective(heads, tasks=tasks, combine="sum", head_weights=None),
        epochs=3,
        precision=precision,
        accumulation=accumulation,
        graphed=partial(Graphed, tell=notes.append, recorder_of=Again if graphs else Never),
    )
    return notes, model.state_dict()


@pytest.mark.parametrize(
    "case",
    [
        {},
        {"precision": "bf16"},
        {"accumulation": 3},
        {"frozen_layers": 1},
        {"lora": LoRA(rank=2, alpha=4)},
        {"rows": False},
    ],
    ids=str,
)
def test_recorded_steps_give_the_same_weights(
    corpus: Corpus, encoder: Any, case: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mtlv.training.loop.DOCUMENTS_PER_PART", 64)  # whole batches, as a GPU has them
    notes, weights = trained(corpus, encoder, graphs=True, **case)
    _, expected = trained(corpus, encoder, graphs=False, **case)
    (recorder,) = Again.made
    assert not notes
    assert recorder.recordings > 4
    assert not recorder.casts  # weights change between repetitions
    for name, weight in expected.items():
        torch.testing.assert_close(weights[name], weight, rtol=0, atol=0, msg=name)


@pytest.mark.parametrize("before", [False, True])
def test_attention_of_cudnn_is_not_used_in_a_step(before: bool) -> None:
    usual = torch.backends.cuda.cudnn_sdp_enabled()
    torch.backends.cuda.enable_cudnn_sdp(before)
    try:
        for precision in ("fp32", "bf16"):
            with autocast(torch.device("cpu"), precision):
                assert not torch.backends.cuda.cudnn_sdp_enabled()
            assert torch.backends.cuda.cudnn_sdp_enabled() == before
    finally:
        torch.backends.cuda.enable_cudnn_sdp(usual)


def test_a_shape_that_occurs_once_is_not_recorded(encoder: Any) -> None:
    graphed = Graphed(encoder.module, recorder_of=Again)
    for length in (16, 32, 48):
        graphed(**inputs(length))
    assert not Again.made
    graphed(**inputs(32))
    (recorder,) = Again.made
    assert recorder.recordings == 2


def test_without_gradients_nothing_is_recorded(encoder: Any) -> None:
    graphed = Graphed(encoder.module, recorder_of=Again)
    with torch.no_grad():
        for _ in range(3):
            graphed(**inputs(16))
    assert not Again.made


def test_precision_is_part_of_a_shape(encoder: Any) -> None:
    module, found = copy.deepcopy(encoder.module).eval(), {}
    graphed = Graphed(module, recorder_of=Again)
    for precision in ("fp32", "bf16", "fp32", "bf16", "fp32", "bf16"):
        with autocast(torch.device("cpu"), precision):
            found[precision] = graphed(**inputs(16)).last_hidden_state.detach()
            torch.testing.assert_close(
                found[precision], module(**inputs(16)).last_hidden_state, rtol=0, atol=0
            )
    assert Again.made[0].recordings == 4
    assert not torch.equal(found["fp32"], found["bf16"])


def test_without_room_batches_are_computed_as_usual(corpus: Corpus, encoder: Any) -> None:
    Again.room = False
    _, weights = trained(corpus, encoder, graphs=True)
    _, expected = trained(corpus, encoder, graphs=False)
    (recorder,) = Again.made
    assert recorder.recordings == 0
    assert 0 < recorder.asked < 8  # once for a shape, in 24 steps
    assert all(torch.equal(weights[name], weight) for name, weight in expected.items())


def test_an_encoder_that_cannot_be_recorded_trains_as_usual(
    corpus: Corpus, encoder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, expected = trained(corpus, encoder, graphs=False)
    calls = []

    def refuse(self: Again, run: Callable[[], None]) -> Callable[[], None]:
        calls.append(run)
        torch.rand(3)  # as if it had run in part
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(Again, "record", refuse)
    notes, weights = trained(corpus, encoder, graphs=True)
    assert notes == ["trains without CUDA graphs: operation not permitted when stream is capturing"]
    assert len(calls) == 1
    assert all(torch.equal(weights[name], weight) for name, weight in expected.items())


def test_before_random_numbers_survive_a_failed_recording_it_is_an_error(
    encoder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Again, run: Callable[[], None]) -> Callable[[], None]:
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(Again, "record", refuse)
    monkeypatch.setattr(graphs, "GOES_ON", False)
    graphed = Graphed(copy.deepcopy(encoder.module), tell=pytest.fail, recorder_of=Again)
    graphed(**inputs(16))
    with pytest.raises(EncoderError, match=r"CUDA graphs .*not permitted.*training.cuda_graphs: false"):
        graphed(**inputs(16))


def test_without_memory_for_a_recording_training_goes_on(
    encoder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Again, run: Callable[[], None]) -> Callable[[], None]:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(Again, "record", refuse)
    monkeypatch.setattr(graphs, "GOES_ON", False)
    told: list[str] = []
    graphed = Graphed(copy.deepcopy(encoder.module), tell=told.append, recorder_of=Again)
    for _ in range(3):
        graphed(**inputs(16)).last_hidden_state.sum().backward()
    assert told == ["trains without CUDA graphs: CUDA out of memory."]


class Several(torch.nn.Module):
    """An encoder with outputs that are no tensors, or do not depend on weights."""

    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(100, 4)
        self.linear = torch.nn.Linear(4, 4)
        self.products: list[torch.dtype] = []

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:
        found = self.linear(self.words(input_ids) * attention_mask.unsqueeze(-1)).float()
        found.register_hook(lambda gradient: self.products.append((gradient @ gradient.mT).dtype))
        return BaseModelOutputWithPast(
            last_hidden_state=found, past_key_values=object(), hidden_states=None, attentions=None
        )


def test_outputs_that_have_no_gradient_are_left_out() -> None:
    module = Several()
    graphed = Graphed(module, tell=pytest.fail, recorder_of=Again)
    with autocast(torch.device("cpu"), "bf16"):
        for _ in range(3):
            found = graphed(**inputs(16))
    assert found.past_key_values is None
    assert Again.made[0].recordings == 2


def test_a_pass_backward_is_not_cast() -> None:
    module = Several()
    graphed = Graphed(module, tell=pytest.fail, recorder_of=Again)
    for _ in range(2):
        with autocast(torch.device("cpu"), "bf16"):
            graphed(**inputs(16))
    assert module.products == [torch.float32] * 2  # in the warm-up, and while it is recorded


@pytest.mark.parametrize("accumulation", [1, 3])
def test_no_graph_of_an_earlier_batch_is_left_when_a_shape_is_recorded(
    corpus: Corpus, encoder: Any, accumulation: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A GPU's recording fails if gradients are collected by nodes of an earlier graph."""
    real, left = Graphed.__call__, list[int]()

    def call(self: Graphed, **given: torch.Tensor) -> Any:
        def nodes() -> list[Any]:
            weights = [weight for weight in self._module.parameters() if weight.requires_grad]
            return [torch.autograd.graph.get_gradient_edge(weight).node for weight in weights]

        left.append(sum("used" in node.metadata for node in nodes()))
        output = real(self, **given)
        for node in nodes():
            node.metadata["used"] = True
        return output

    monkeypatch.setattr("mtlv.training.loop.DOCUMENTS_PER_PART", 64)
    monkeypatch.setattr(Graphed, "__call__", call)
    trained(corpus, encoder, graphs=True, accumulation=accumulation)
    assert len(left) == 24
    assert not any(left)


def test_only_the_last_pass_goes_backward_and_once(encoder: Any) -> None:
    graphed = Graphed(copy.deepcopy(encoder.module), recorder_of=Again)
    for length in (16, 16, 32, 32):
        first = graphed(**inputs(length)).last_hidden_state.sum()
    last = graphed(**inputs(16)).last_hidden_state.sum()
    with pytest.raises(RuntimeError, match="only the last recorded pass"):
        first.backward()
    last.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="only the last recorded pass"):
        last.backward()


def test_an_encoder_that_is_not_trained_is_not_recorded(encoder: Any) -> None:
    module = copy.deepcopy(encoder.module).requires_grad_(False)
    graphed = Graphed(module, tell=pytest.fail, recorder_of=Again)
    for _ in range(3):
        graphed(**inputs(16))
    assert Again.made[0].recordings == 0


def test_released_recordings_are_not_made_again(encoder: Any) -> None:
    graphed = Graphed(copy.deepcopy(encoder.module), recorder_of=Again)
    for _ in range(2):
        graphed(**inputs(16))
    assert graphed.release()
    assert not graphed.release()
    for _ in range(2):
        graphed(**inputs(16))
    assert Again.made[0].recordings == 2


def inputs(length: int) -> dict[str, torch.Tensor]:
    ids = torch.arange(2 * length).view(2, length) % 50 + 5
    return {"input_ids": ids, "attention_mask": torch.ones(2, length, dtype=torch.bool)}
