"""Recorded steps learn what steps learn, for every kind of task; see `tests/unit/models/test_graphs.py`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, zip_longest
from typing import Any

import numpy as np
import pytest
import torch
from recorders import Again, Never
from torch.nn.utils import clip_grad_norm_
from transformers import BertConfig, BertModel

from mtlv.data.batches import Batch, PartDocuments, copy_to_device
from mtlv.data.source import Corpus
from mtlv.data.targets import TARGETS
from mtlv.data.tokens import Tokens, tokenise
from mtlv.models.encoder import load_encoder
from mtlv.models.fast.graphs import Graphed
from mtlv.models.fast.packing import JaggedPacking
from mtlv.models.lora import LoRA
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import HeadSpec, Task, with_separate_heads
from mtlv.registries import ARCHITECTURES
from mtlv.training.loop import HeadLosses, train
from mtlv.training.objective import Objective
from mtlv.training.recorded import RecordedLosses, _OfTensors
from mtlv.training.state import TrainingState
from mtlv.training.teaching import NO_TEACHER, Teaching, teaching

RATE = 0.01
CPU = torch.device("cpu")
MODELS: list[MultiTaskModel] = []  # the last trained
KINDS = {"yes/no": [0], "classes": [1], "numbers of pairs": [2], "tags": [3], "three": [0, 1, 2]}


@pytest.fixture(scope="module")
def encoder(one_corpus_per_kind: list[Corpus]) -> Any:
    return load_encoder("tiny", texts=[text for corpus in one_corpus_per_kind for text in corpus.texts])


def documents_of(corpus: Corpus, encoder: Any, multiple: int) -> PartDocuments:
    pad = encoder.tokenizer.pad_token_id
    given = corpus.words or corpus.texts
    tokens: Tokens = tokenise(given, encoder.tokenizer, max_length=24, pad=pad, seconds=corpus.seconds)
    columns = {t.name: TARGETS[t.kind].column(t, corpus.targets[t.name], tokens) for t in corpus.tasks}
    return PartDocuments(tokens, columns, np.arange(len(corpus)), multiple)


def trained(
    corpora: Sequence[Corpus],
    encoder: Any,
    recorder: type[Again] | None,
    *,
    how: Teaching = NO_TEACHER,
    change: Callable[[Batch], Batch] = lambda batch: batch,
    epochs: int = 2,
    private: int = 0,
    lora: LoRA | None = None,
    stack: int | None = 1,
    features: str = "mean",
    **options: Any,
) -> tuple[list[Any], dict[str, torch.Tensor]]:
    """Recorded modules, and the change of the weights; batches of all corpora in turn."""
    torch.manual_seed(0)
    tasks = [task for corpus in corpora for task in corpus.tasks]
    plan = with_separate_heads(ARCHITECTURES["mtl"].build([t.name for t in tasks], (), 1), tasks).check(tasks)
    heads = [replace(head, private=private) for head in plan.models[0].heads]
    by_name = {task.name: task for task in tasks}
    how_built = {"tasks": by_name, "features": features, "seed": 0, "lora": lora, "stack": stack}
    model = MultiTaskModel(copy.deepcopy(encoder.module), heads, **how_built)
    MODELS[:] = [model]
    begun = {name: weight.clone() for name, weight in model.state_dict().items()}
    parts = [documents_of(corpus, encoder, model.multiple) for corpus in corpora]

    def batches(epoch: int) -> Iterator[Batch]:
        each = [part.training(8, seed=0, epoch=epoch) for part in parts]
        return (change(batch) for batch in chain.from_iterable(zip_longest(*each)) if batch is not None)

    modules: list[Any] = []

    def make(module: Any, *given: Any) -> Graphed:
        modules.append(module)
        assert recorder is not None
        return Graphed(module, *given, tell=pytest.fail, recorder_of=recorder)

    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    train(
        TrainingState(model, optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0)),
        batches,
        objective=Objective(heads, tasks=by_name, combine="sum", head_weights=None, teaching=how),
        epochs=epochs,
        graphed=None if recorder is None else make,
        **options,
    )
    return modules, {name: weight - begun[name] for name, weight in model.state_dict().items()}


def assert_same(found: dict[str, torch.Tensor], wanted: dict[str, torch.Tensor]) -> None:
    assert any(weight.any() for weight in wanted.values() if weight.is_floating_point())
    for name, weight in wanted.items():
        torch.testing.assert_close(found[name], weight, rtol=0, atol=0, msg=name)


OTHERWISE = [(3, 0, None, 1), (1, 1, None, 1), (1, 1, None, None), (1, 1, LoRA(2, 4.0), 1)]


@pytest.mark.parametrize(
    ("kinds", "accumulation", "private", "lora", "stack"),
    [
        *((kinds, 1, 0, None, 1) for kinds in KINDS),
        *((kinds, *how) for kinds in ("three", "tags") for how in OTHERWISE),
    ],
)
def test_every_kind_learns_the_same(
    kinds: str,
    accumulation: int,
    private: int,
    lora: LoRA | None,
    stack: int | None,
    one_corpus_per_kind: list[Corpus],
    encoder: Any,
) -> None:
    corpora = [one_corpus_per_kind[number] for number in KINDS[kinds]]
    options = {
        "accumulation": accumulation,
        "clip_norm": None,
        "private": private,
        "lora": lora,
        "stack": stack,
    }
    modules, found = trained(corpora, encoder, Again, **options)
    _, wanted = trained(corpora, encoder, Never, **options)
    assert_same(found, wanted)
    assert [type(each) is _OfTensors for each in modules] == [kinds != "tags"]


def test_heads_that_weigh_tokens_learn_the_same(one_corpus_per_kind: list[Corpus], encoder: Any) -> None:
    corpora, how = one_corpus_per_kind[:3], {"features": "attention", "clip_norm": None}
    (found, wanted) = (trained(corpora, encoder, recorder, **how)[1] for recorder in (Again, Never))
    assert_same(found, wanted)


@pytest.mark.parametrize(
    ("private", "stack", "features"),
    [(0, 1, "mean"), (1, 1, "mean"), (1, None, "mean"), (0, 1, "attention")],
)
def test_rows_learn_what_padded_batches_learn(
    private: int,
    stack: int | None,
    features: str,
    one_corpus_per_kind: list[Corpus],
    encoder: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = copy.deepcopy(encoder)
    for part in module.module.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    module.module.config.attention_probs_dropout_prob = 0.0
    for part in module.module.modules():
        if hasattr(part, "dropout_prob"):
            part.dropout_prob = 0.0
    options = {"clip_norm": 0.5, "epochs": 1, "private": private, "features": features}
    _, wanted = trained(one_corpus_per_kind[:3], module, None, **options)
    options["stack"] = stack
    rows: list[int] = []
    real = JaggedPacking.__init__

    def packed(self: JaggedPacking, mask: torch.Tensor, length: int, *more: int) -> None:
        rows.append(length)
        real(self, mask, length, *more)

    monkeypatch.setattr(JaggedPacking, "__init__", packed)
    _, found = trained(one_corpus_per_kind[:3], module, Again, **options)
    assert len(rows) >= sum(-(-len(corpus) // 8) for corpus in one_corpus_per_kind[:3])
    for name, weight in wanted.items():
        torch.testing.assert_close(found[name], weight, rtol=1e-2, atol=1e-4, msg=name)


@pytest.mark.parametrize(("kind", "accumulation"), [(0, 1), (0, 2), (3, 1)])
def test_the_gradient_is_clipped(
    kind: int, accumulation: int, one_corpus_per_kind: list[Corpus], encoder: Any
) -> None:
    """Of the whole model, also if its encoder alone is recorded."""
    corpus = one_corpus_per_kind[kind]
    options = {"accumulation": accumulation, "epochs": 1}
    norms = []
    for clip_norm in (None, 1e3, 1e-3):
        changes = [
            trained([corpus], encoder, each, clip_norm=clip_norm, **options)[1] for each in (Again, Never)
        ]
        for name, weight in changes[1].items():
            torch.testing.assert_close(changes[0][name], weight, rtol=1e-3, atol=1e-7, msg=name)
        norms.append(float(sum(weight.square().sum() for weight in changes[0].values()) ** 0.5))
    plain, long, short = norms
    steps = -(-len(corpus) // (8 * accumulation))
    assert short <= steps * RATE * 1e-3 * 1.001
    assert long == plain > 10 * short


@pytest.mark.parametrize("scale", [1e-3, 1.0])
def test_the_norm_is_that_of_all_weights(scale: float) -> None:
    """Of weights whose sizes are no multiples of the alignment, as `clip_grad_norm_`."""
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(5, 3), torch.nn.Linear(3, 7))
    module.forward = lambda input_ids: torch.nn.Sequential.forward(module, input_ids) * scale  # type: ignore[method-assign]
    graphed, given = Graphed(module, tell=pytest.fail, recorder_of=Again), torch.randn(4, 5)
    for _ in range(2):
        module.zero_grad()
        graphed(input_ids=given).square().sum().backward()
    whole = graphed.gradient()
    assert whole is not None
    norm = whole.norm()
    torch.testing.assert_close(norm, clip_grad_norm_(module.parameters(), 1e9))
    whole.mul_(0.5)
    torch.testing.assert_close(clip_grad_norm_(module.parameters(), 1e9), norm / 2)
    module[0].weight.grad = None
    assert graphed.gradient() is None


def test_the_share_of_a_teacher_changes_with_each_step(
    one_corpus_per_kind: list[Corpus], encoder: Any
) -> None:
    """The step's constants are not recorded."""

    def taught(batch: Batch) -> Batch:
        return replace(
            batch, teacher_outputs={name: torch.full((len(batch.index),), 2.0) for name in batch.targets}
        )

    options: dict[str, Any] = {
        "how": teaching("annealed", 1.0, steps=15),
        "change": taught,
        "clip_norm": None,
    }
    modules, found = trained(one_corpus_per_kind[:1], encoder, Again, **options)
    _, wanted = trained(one_corpus_per_kind[:1], encoder, Never, **options)
    assert_same(found, wanted)
    assert [type(each) for each in modules] != [_OfTensors]


def test_a_weight_that_the_head_uses_too_has_both_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Masked language modelling decodes with the word embeddings, outside the recorded passes."""
    monkeypatch.setattr("mtlv.training.loop.DOCUMENTS_PER_PART", 64)
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(0, 50, (8, 20), generator=generator)
    places = torch.tensor([[1, 5, 7]] * 8)
    targets = torch.stack([ids.gather(1, places), places, torch.full_like(places, 4)], -1)
    mask = torch.ones_like(ids, dtype=torch.bool)
    batch = Batch(np.arange(8), ids, mask, ids.numel(), {"text": targets}, words=places)
    config = BertConfig(
        vocab_size=50, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64
    )
    changes = []
    for recorder in (Again, Never):
        torch.manual_seed(0)
        tasks, heads = {"text": Task("text", "mlm")}, [HeadSpec(("text",))]
        model = MultiTaskModel(BertModel(config), heads, tasks=tasks, features="mean", seed=0)
        begun = model.encoder.get_input_embeddings().weight.detach().clone()
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        train(
            TrainingState(model, optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0)),
            lambda _: [batch] * 4,
            objective=Objective(heads, tasks=tasks, combine="sum", head_weights=None),
            epochs=1,
            clip_norm=None,
            graphed=partial(Graphed, tell=pytest.fail, recorder_of=recorder),
        )
        changes.append(model.encoder.get_input_embeddings().weight.detach() - begun)
    torch.testing.assert_close(changes[0], changes[1], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kinds", ["three", "tags"])
def test_tensors_in_one_block_are_copied_at_once(
    kinds: str, one_corpus_per_kind: list[Corpus], encoder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With tags, the block contains words too, whose number is not that of the recording."""
    corpora = [one_corpus_per_kind[number] for number in KINDS[kinds]]
    _, wanted = trained(corpora, encoder, Never, clip_norm=None)
    copies: list[torch.dtype] = []
    real = torch.Tensor.copy_

    def copied(self: torch.Tensor, other: torch.Tensor, *more: Any) -> torch.Tensor:
        copies.append(other.dtype)
        return real(self, other, *more)

    monkeypatch.setattr(Batch, "to", Batch.in_a_block)  # as on a GPU
    monkeypatch.setattr(torch.Tensor, "copy_", copied)
    _, found = trained(corpora, encoder, Again, clip_norm=None)
    assert_same(found, wanted)
    assert torch.uint8 in copies
    assert (torch.int64 in copies) == (kinds == "tags")


def test_blocks_of_one_size_with_other_layouts_are_told_apart() -> None:
    module = torch.nn.Linear(6, 2)
    module.forward = lambda input_ids, more: torch.nn.functional.linear(input_ids, module.weight) * more  # type: ignore[method-assign]
    graphed = Graphed(module, tell=pytest.fail, recorder_of=Again)
    for first, second in ((4, 6), (4, 6), (6, 4)):
        between = torch.randn(first, 4), torch.randn(second, 4)
        ids, _, more, _ = copy_to_device([torch.randn(3, 6), between[0], torch.randn(3, 2), between[1]], CPU)
        found = graphed(input_ids=ids, more=more)
        torch.testing.assert_close(found, module.forward(ids, more))


def test_without_room_nothing_is_kept() -> None:
    module = torch.nn.Linear(6, 2)
    module.forward = lambda input_ids: torch.nn.functional.linear(input_ids, module.weight)  # type: ignore[method-assign]
    for recorder, kept in ((Never, False), (Again, True)):
        graphed = Graphed(module, tell=pytest.fail, recorder_of=recorder)
        for _ in range(3):
            graphed(input_ids=torch.randn(3, 6))
        assert (graphed._shared is not None) == kept
        assert graphed.release() == kept
        assert not graphed.release()


def test_after_the_training_a_model_computes_as_usual(
    one_corpus_per_kind: list[Corpus], encoder: Any
) -> None:
    modules, _ = trained(one_corpus_per_kind[3:], encoder, Again)
    assert [type(each) for each in modules] != [_OfTensors]
    (model,) = MODELS
    (batch, *_) = documents_of(one_corpus_per_kind[3], encoder, 1).training(8, seed=0, epoch=0)
    given = batch.input_ids, batch.attention_mask, batch.segments, batch.words
    model.train()
    assert model(*given).keys() == model.specs.keys()


def test_marked_entities_are_given_to_a_recording(one_corpus_per_kind: list[Corpus], encoder: Any) -> None:
    trained(one_corpus_per_kind[:1], encoder, None, epochs=1)
    (model,), (batch, *_) = (
        MODELS,
        documents_of(one_corpus_per_kind[0], encoder, 1).training(8, seed=0, epoch=0),
    )
    given: dict[str, Any] = {}

    def make(*_: Any) -> Any:
        return lambda **inputs: given.update(inputs) or torch.zeros(1)

    tasks = {task.name: task for task in one_corpus_per_kind[0].tasks}
    heads = list(model.specs.values())
    losses = HeadLosses(model, Objective(heads, tasks=tasks, combine="sum", head_weights=None), "fp32")
    batch = replace(batch, mentions=torch.zeros(8, 1, 2, dtype=torch.long))
    RecordedLosses(losses, make)(batch, [0])
    assert given["mentions"] is batch.mentions
    assert all(given[f"target of {name}"] is batch.targets[name] for name in tasks)


def test_a_weight_of_an_embedding_is_not_cast_for_products() -> None:
    """It is looked up in fp32, as autocast does."""

    class Tied(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.linear = torch.nn.Embedding(7, 4), torch.nn.Linear(4, 7, bias=False)
            self.linear.weight = self.words.weight
            self.kinds: list[torch.dtype] = []

        def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
            found = self.words(input_ids)
            self.kinds.append(found.dtype)
            return self.linear(found).float()

    module = Tied()
    graphed = Graphed(module, torch.bfloat16, tell=pytest.fail, recorder_of=Again)
    with torch.autocast("cpu", torch.bfloat16):
        for _ in range(3):
            graphed(input_ids=torch.arange(6).view(2, 3))
    assert set(module.kinds) == {torch.float32}
