"""Low-rank adapters: known numbers, gradients, merging, every family, and private ones of heads."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import peft
import pytest
import torch
from families import FAMILIES, config_of
from torch import nn
from transformers import BertConfig, BertModel

from mtlv.errors import EncoderError
from mtlv.models.base import base_class
from mtlv.models.lora import A, B, LoRA, adapt, adaptable, merge_adapters
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import HeadSpec, Task

TASKS = {name: Task(name) for name in "abc"}
HEADS = [HeadSpec(("a",)), HeadSpec(("b", "c"))]
RANK = LoRA(rank=3, alpha=6.0)
LAYERS = 3


def bert() -> Any:
    torch.manual_seed(0)
    sizes = {
        "hidden_size": 16,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 2,
        "intermediate_size": 24,
    }
    return BertModel(BertConfig(vocab_size=60, max_position_embeddings=32, **sizes))


def model_of(encoder: Any, lora: LoRA | None = RANK, private: int = 0, **more: Any) -> MultiTaskModel:
    heads = [replace(head, private=private) for head in HEADS]
    given = {"features": "mean", "seed": 0, "dropout": 0.0} | more
    return MultiTaskModel(copy.deepcopy(encoder), heads, tasks=TASKS, lora=lora, **given)


def batch(size: int = 60) -> tuple[torch.Tensor, torch.Tensor]:
    ids = torch.randint(size // 4, size // 2, (5, 8), generator=torch.Generator().manual_seed(1))
    return ids, torch.arange(8)[None] < torch.tensor([8, 7, 5, 8, 3])[:, None]


def stirred(model: nn.Module) -> None:
    """Adapters as after training."""
    generator = torch.Generator().manual_seed(2)
    for name, weight in model.named_parameters():
        if name.endswith(B):
            weight.data.uniform_(-0.3, 0.3, generator=generator)


def learn(model: MultiTaskModel, steps: int = 1) -> None:
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    model.train()
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        sum(((logits - 0.5) ** 2).sum() for logits in model(*batch()).values()).backward()
        optimizer.step()


def test_an_adapted_layer_by_hand() -> None:
    encoder = bert()
    layer = encoder.encoder.layer[1].attention.self.query
    weight, bias = layer.weight.detach().clone(), layer.bias.detach().clone()
    adapt(encoder, replace(RANK, modules=("query",)), layers=2, seed=0)
    found = {name for name, _ in encoder.named_parameters() if name.endswith((A, B))}
    assert found == {f"encoder.layer.{n}.attention.self.query.{x}" for n in (1, 2) for x in (A, B)}
    assert layer.lora_a.abs().max() <= 1 / 4
    assert layer.lora_a.std() > 0.05
    assert not layer.lora_b.any()
    stirred(encoder)
    x = torch.randn(4, 16)
    expected = x @ weight.T + bias + (6 / 3) * (x @ layer.lora_a.T @ layer.lora_b.T)
    torch.testing.assert_close(layer(x), expected)
    state = merge_adapters(encoder.state_dict())
    torch.testing.assert_close(
        state["encoder.layer.1.attention.self.query.weight"], weight + 2 * layer.lora_b @ layer.lora_a
    )
    assert not [name for name in state if "lora" in name]


def test_they_are_those_of_peft() -> None:
    names = ["query", "value"]
    config = peft.LoraConfig(r=3, lora_alpha=6, target_modules=names, lora_dropout=0.0)
    other, own = peft.get_peft_model(bert(), config), bert()
    adapt(own, replace(RANK, modules=tuple(names)), layers=LAYERS, seed=0)
    stirred(own)
    state = own.state_dict()
    for name, weight in other.named_parameters():
        for theirs, ours in (("lora_A.default.weight", A), ("lora_B.default.weight", B)):
            if name.endswith(theirs):
                weight.data.copy_(state[name.removeprefix("base_model.model.").replace(theirs, ours)])
    ids, mask = batch()
    given = {"input_ids": ids, "attention_mask": mask}
    ours, theirs = own.eval()(**given), other.eval()(**given)
    torch.testing.assert_close(ours.last_hidden_state, theirs.last_hidden_state, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_encoder_starts_as_published_learns_only_adapters_and_is_merged(name: str) -> None:
    torch.manual_seed(0)
    encoder = base_class(config_of(name)).from_config(config_of(name))
    if not dict(adaptable(encoder, 2)):
        with pytest.raises(EncoderError, match="no such linear layers"):
            model_of(encoder)
        assert name == "gpt2"
        return
    size = encoder.get_input_embeddings().weight.shape[0]
    plain, model = model_of(encoder, None), model_of(encoder)
    for training in (False, True):
        with torch.no_grad():  # kernels of attention differ by which weights have gradients
            logits = plain.train(training)(*batch(size))
            begun = model.train(training)(*batch(size))
        assert all(torch.equal(begun[head], logits[head]) for head in logits)
    stirred(model)
    sum(logits.sum() for logits in model(*batch(size)).values()).backward()
    trained = {each for each, p in model.named_parameters() if p.grad is not None and p.grad.any()}
    unused = FAMILIES[name].unused
    assert trained == {each for each, p in model.named_parameters() if p.requires_grad and unused not in each}
    assert all(each.endswith((A, B)) or each.startswith("heads.") for each in trained)
    changed = model.eval()(*batch(size))
    plain.load_state_dict(merge_adapters(model.state_dict()))
    for head, found in plain.eval()(*batch(size)).items():
        torch.testing.assert_close(found, changed[head], atol=1e-5, rtol=1e-5)
        assert not torch.allclose(found, logits[head], atol=1e-4)


def test_layers_below_are_frozen_and_have_no_adapters() -> None:
    model = model_of(bert(), frozen_layers=2)
    names = {name for name, _ in model.named_parameters() if name.endswith(A)}
    assert names
    assert all(".layer.2." in name for name in names)


def test_weights_start_alike_and_each_layer_otherwise() -> None:
    one, other = (dict(model_of(bert()).named_parameters()) for _ in range(2))
    first, second = (f"encoder.encoder.layer.{n}.attention.self.query.{A}" for n in (0, 1))
    assert torch.equal(one[first], other[first])
    assert not torch.equal(one[first], one[second])
    assert not torch.equal(one[first], dict(model_of(bert(), seed=1).named_parameters())[first])


def test_dropout_is_of_the_adapters_inputs() -> None:
    model = model_of(bert(), replace(RANK, dropout=0.5))
    assert torch.equal(*(model.train()(*batch())[HEADS[0].name] for _ in range(2))), "B is 0"
    stirred(model)
    assert not torch.equal(*(model.train()(*batch())[HEADS[0].name] for _ in range(2)))
    assert torch.equal(*(model.eval()(*batch())[HEADS[0].name] for _ in range(2)))


@pytest.mark.parametrize(
    ("modules", "text"),
    [
        (("qkv",), r"got qkv\); allowed: query, key, value, .*output.dense, .*; set null to adapt all"),
        (("query", "pooler.dense"), r"got pooler.dense\)"),
        (("uery",), r"got uery\)"),
    ],
)
def test_modules_that_are_not_there_are_refused(modules: tuple[str, ...], text: str) -> None:
    with pytest.raises(EncoderError, match=text):
        model_of(bert(), replace(RANK, modules=modules))


# ---- Heads with adapters of their own ----------------------------------------------------------------------


@pytest.mark.parametrize("frozen", [True, False])
def test_each_head_has_its_own_adapters_of_the_same_weights(frozen: bool) -> None:
    encoder = bert()
    plain, model = model_of(encoder, None), model_of(encoder, replace(RANK, frozen=frozen), private=1)
    for head, found in model.eval()(*batch()).items():
        torch.testing.assert_close(found, plain.eval()(*batch())[head])
    count = {name: p.numel() for name, p in model.named_parameters() if p.requires_grad}
    adapters = {name: size for name, size in count.items() if name.endswith((A, B))}
    copies = sum(size for name, size in adapters.items() if name.startswith("private."))
    assert copies == sum(
        size for name, size in adapters.items() if ".layer.2." in name and "private" not in name
    )
    assert (len(adapters) > len(count) - len(adapters)) == frozen
    below = [name for name in adapters if name.startswith("encoder.encoder.layer.0.")]
    assert bool(below) == frozen, "layers that are trained have none"
    own = [
        p for name, p in model.named_parameters() if name.startswith("private.") and not name.endswith((A, B))
    ]
    assert not own, "the layers' weights are the encoder's"
    second = list(model.specs)[1]
    model.train()
    (model(*batch())[second] ** 2).sum().backward()
    moved = {name for name, p in model.named_parameters() if p.grad is not None and p.requires_grad}
    assert [name for name in moved if name.startswith("private.")]
    top = {name for name in moved if name.startswith("encoder.encoder.layer.2") and name.endswith((A, B))}
    assert not top, "of the first head"


def test_heads_learn_apart_and_are_merged_to_layers_of_their_own() -> None:
    encoder = bert()
    model = model_of(encoder, private=1)
    learn(model, 3)
    changed, state = model.eval()(*batch()), merge_adapters(model.state_dict())
    served = model_of(encoder, None, private=1)
    served.load_state_dict(state)
    for head, found in served.eval()(*batch()).items():
        torch.testing.assert_close(found, changed[head], atol=1e-5, rtol=1e-5)
    one = state["encoder.encoder.layer.2.attention.self.query.weight"]
    (other,) = (
        each
        for name, each in state.items()
        if name.startswith("private.") and name.endswith("attention.self.query.weight")
    )
    assert not torch.allclose(one, other, atol=1e-4)
    assert torch.equal(
        state["encoder.embeddings.word_embeddings.weight"], encoder.embeddings.word_embeddings.weight
    )
