"""Frozen layers stay as they are; layers that are computed twice give the same gradients."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from objectives import on_batch
from transformers import (
    AlbertConfig,
    AlbertModel,
    AutoModel,
    BertConfig,
    DistilBertConfig,
    ElectraConfig,
    GPT2Config,
    GPT2Model,
    RobertaConfig,
    T5Config,
    T5EncoderModel,
)

from mtlv.errors import EncoderError
from mtlv.models.fast.frozen_cache import FrozenCache
from mtlv.models.layers import check_frozen, compute_twice, known_layers, layers_above, lowest
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import Task
from mtlv.registries import ARCHITECTURES
from mtlv.training.objective import Objective
from mtlv.training.optim import make_optimizer, rate_factors

LIKE_BERT = {
    "vocab_size": 50,
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "pad_token_id": 0,
}
CONFIGS: dict[str, Any] = {
    "bert": BertConfig(**LIKE_BERT),
    "roberta": RobertaConfig(**LIKE_BERT),
    "electra": ElectraConfig(**LIKE_BERT, embedding_size=8),
    "distilbert": DistilBertConfig(
        vocab_size=50, dim=16, n_layers=3, n_heads=2, hidden_dim=32, pad_token_id=0
    ),
}
TASKS = {name: Task(name) for name in "ab"}
HEADS = ARCHITECTURES["mtl"].build(list(TASKS), (), 1).models[0].heads


def model_of(
    name: str, *, dropout: float, frozen: int = 0, twice: bool = False, **more: Any
) -> MultiTaskModel:
    torch.manual_seed(0)
    encoder = AutoModel.from_config(copy.deepcopy(CONFIGS[name]))
    model = MultiTaskModel(
        encoder, HEADS, tasks=TASKS, features="mean", seed=0, dropout=dropout, frozen_layers=frozen, **more
    )
    if twice:
        compute_twice(model.encoder)
    return model.train()


def backward(model: MultiTaskModel) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(5, 50, (6, 9), generator=generator)
    mask = torch.arange(9)[None] < torch.tensor([9, 7, 5, 9, 3, 8])[:, None]
    targets = {name: torch.randint(0, 2, (6,), generator=generator) for name in TASKS}
    torch.manual_seed(2)
    aim = Objective(HEADS, tasks=TASKS, combine="sum", head_weights=None)
    loss, _ = on_batch(aim, model, model(ids, mask), targets)
    loss.backward()
    return loss.detach()


@pytest.mark.parametrize("room", [10**6, 2000, 0])
@pytest.mark.parametrize("frozen", [1, 3])
@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_what_frozen_layers_come_to_is_the_same_from_memory(name: str, frozen: int, room: int) -> None:
    plain, below = model_of(name, dropout=0.0, frozen=frozen), FrozenCache(room)
    shared = [model_of(name, dropout=0.0, frozen=frozen, below=below) for _ in range(2)]
    calls: list[int] = []
    for model in shared:
        assert model.packs  # it was tried before calls are counted
        lowest(model.encoder, frozen)[0].register_forward_hook(lambda *_: calls.append(1))
    wanted = backward(plain)
    for model in shared:
        torch.testing.assert_close(backward(model), wanted, rtol=1e-5, atol=1e-6)
        assert list(model.state_dict()) == list(plain.state_dict())
        for (key, ours), theirs in zip(model.named_parameters(), plain.parameters(), strict=True):
            assert (ours.grad is None) == (theirs.grad is None), key
            if theirs.grad is not None:
                torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-4, atol=1e-5)
    assert len(calls) == {10**6: 6, 2000: 8, 0: 12}[room]  # of 6 documents, 4 of which 2,000 bytes hold
    assert 0 <= below.left <= room


def test_what_is_in_memory_does_not_show_in_a_single_bit() -> None:
    below = FrozenCache(10**6)
    models = [model_of("bert", dropout=0.3, frozen=1, below=each) for each in (FrozenCache(0), below, below)]
    losses = [backward(model) for model in models]
    assert torch.equal(losses[0], losses[1])
    assert torch.equal(losses[0], losses[2])
    for parameters in zip(*(model.parameters() for model in models), strict=True):
        assert parameters[0].grad is None or all(
            torch.equal(each.grad, parameters[0].grad) for each in parameters
        )


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("frozen", [0, 1])
@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_layers_computed_twice_give_the_same_gradients(name: str, frozen: int, dropout: float) -> None:
    plain = model_of(name, dropout=dropout, frozen=frozen)
    twice = model_of(name, dropout=dropout, frozen=frozen, twice=True)
    assert torch.equal(backward(twice), backward(plain))
    wanted = dict(plain.named_parameters())
    for key, parameter in twice.named_parameters():
        assert (parameter.grad is None) == (wanted[key].grad is None), key
        assert parameter.grad is None or torch.equal(parameter.grad, wanted[key].grad), key


def test_layers_are_computed_twice() -> None:
    model = model_of("bert", dropout=0.1, twice=True)
    calls = []
    assert model.packs  # it was tried before calls are counted
    model.encoder.encoder.layer[1].attention.register_forward_hook(lambda *_: calls.append(1))
    backward(model)
    assert len(calls) == 2


@pytest.mark.parametrize("frozen", [1, 3])
@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_frozen_layers_and_embeddings_stay_and_all_else_moves(name: str, frozen: int) -> None:
    model = model_of(name, dropout=0.1, frozen=frozen)
    before = {key: p.detach().clone() for key, p in model.named_parameters()}
    optimizer = make_optimizer(model, learning_rate=1e-2, weight_decay=0.1)
    backward(model)
    optimizer.step()
    stays = {id(p) for part in lowest(model.encoder, frozen) for p in part.parameters()}
    for key, parameter in model.named_parameters():
        still = id(parameter) in stays
        assert torch.equal(parameter, before[key]) == still, key
        assert (parameter.grad is None) == still, key
        assert (parameter in optimizer.state) != still, key
        assert ("embeddings" in key) <= still, key


@pytest.mark.parametrize(
    ("name", "layer"),
    [("bert", "encoder.layer"), ("electra", "encoder.layer"), ("distilbert", "transformer.layer")],
)
def test_rates_fall_from_layer_to_layer_and_each_weight_has_one(name: str, layer: str) -> None:
    model = model_of(name, dropout=0.0)
    factors = rate_factors(model, heads=5.0, layers=0.5)
    optimizer = make_optimizer(model, learning_rate=0.1, weight_decay=0.01, factors=factors)
    groups = [(weight, group) for group in optimizer.param_groups for weight in group["params"]]
    assert len(groups) == len({id(weight) for weight, _ in groups}) == len(list(model.parameters()))
    group_of = dict(groups)
    rates = {
        "heads.": 0.5,
        "encoder.embeddings": 0.0125,  # and electra's `embeddings_project`
        f"encoder.{layer}.0.": 0.025,
        f"encoder.{layer}.1.": 0.05,
        f"encoder.{layer}.2.": 0.1,
        "encoder.pooler.": 0.1,
    }
    for key, weight in model.named_parameters():
        (rate,) = (rate for start, rate in rates.items() if key.startswith(start))
        assert group_of[weight]["lr"] == pytest.approx(rate), key
        assert group_of[weight]["weight_decay"] == (0.01 if weight.ndim > 1 else 0.0), key


def test_the_copies_of_private_layers_have_the_rates_of_their_layers() -> None:
    heads = ARCHITECTURES["gmhl"].build(list(TASKS), (("a",), ("b",)), 1).models[0].heads
    torch.manual_seed(0)
    encoder = AutoModel.from_config(copy.deepcopy(CONFIGS["bert"]))
    private = [replace(head, private=2) for head in heads]
    model = MultiTaskModel(encoder, private, tasks=TASKS, features="mean", seed=0)
    factors = rate_factors(model, heads=1.0, layers=0.5)
    (copied,) = model.private.copies.values()
    assert {factors[weight] for weight in copied.encoder.layer[0].parameters()} == {0.5}
    assert {factors[weight] for weight in copied.encoder.layer[1].parameters()} == {1.0}
    assert {factors[weight] for weight in model.encoder.encoder.layer[0].parameters()} == {0.25}


def test_layers_of_other_families_are_counted_by_their_structure() -> None:
    gpt2 = GPT2Model(GPT2Config(vocab_size=50, n_embd=16, n_layer=3, n_head=2, n_positions=16))
    counts = layers_above(gpt2)
    assert [counts[w] for w in (gpt2.wte.weight, gpt2.wpe.weight, gpt2.h[0].ln_1.weight)] == [3, 3, 2]
    assert [counts[w] for w in (gpt2.h[2].ln_1.weight, gpt2.ln_f.weight)] == [0, 0]
    albert = AlbertModel(AlbertConfig(**LIKE_BERT, embedding_size=8))  # one layer, used three times
    with pytest.raises(EncoderError, match=r"training.rates.layers.*albert"):
        layers_above(albert)


def test_heads_alone_have_a_factor_whatever_the_structure() -> None:
    model = model_of("bert", dropout=0.0)
    factors = rate_factors(model, heads=5.0, layers=1.0)
    assert factors == dict.fromkeys(model.heads.parameters(), 5.0)


def test_what_is_frozen_drops_nothing_and_the_rest_does() -> None:
    model = model_of("bert", dropout=0.5, frozen=1)
    layers = model.encoder.encoder.layer
    assert model.training
    assert layers[1].training
    assert not layers[0].attention.self.training
    assert not model.encoder.embeddings.dropout.training
    model.eval()
    assert not layers[1].training


def test_more_frozen_layers_than_there_are_are_refused() -> None:
    with pytest.raises(EncoderError, match="frozen_layers") as caught:
        model_of("bert", dropout=0.0, frozen=4)
    assert "0 to 3" in str(caught.value)
    with pytest.raises(EncoderError, match="0 to 2"):
        check_frozen(3, known_layers("tiny"), "tiny")
    check_frozen(99, None, "not/known")


def test_an_encoder_built_in_another_way_is_refused() -> None:
    config = T5Config(vocab_size=50, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2)
    with pytest.raises(EncoderError, match="cannot be found"):
        lowest(T5EncoderModel(config), 1)


def test_the_number_of_layers_is_read_from_what_is_on_the_machine(tmp_path: Path) -> None:
    for content, wanted in (({"num_hidden_layers": 7}, 7), ({"n_layers": 5}, 5), ({}, None)):
        (tmp_path / "config.json").write_text(json.dumps(content))
        assert known_layers(str(tmp_path)) == wanted
    (tmp_path / "config.json").write_text("{")
    assert known_layers(str(tmp_path)) is None
    assert known_layers("surely/not-there") is None
    assert known_layers("no hub has ../ this") is None
