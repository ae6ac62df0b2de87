"""Heads with top layers of their own: equal to shared ones at the start, and learning apart."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
import torch
from families import FAMILIES, config_of
from test_layers import CONFIGS
from torch import nn
from transformers import AutoModel

from mtlv.errors import EncoderError
from mtlv.models import private
from mtlv.models.base import base_class
from mtlv.models.lora import LoRA
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import HeadSpec, Task
from mtlv.training.optim import make_optimizer

TASKS = {name: Task(name) for name in "abc"}
HEADS = [HeadSpec(("a",)), HeadSpec(("b", "c"))]
LAYERS = 3
LIKE_BERT = sorted(CONFIGS)
FOUR = {name: Task(name) for name in "abcd"}
STEPS = 20
DIVIDED = ("bert", "roberta", "xlm-roberta", "electra", "distilbert", "mpnet", "deberta-v2")


def model_of(encoder: Any, private: int, **more: Any) -> MultiTaskModel:
    heads = [replace(head, private=private) for head in HEADS]
    return MultiTaskModel(
        copy.deepcopy(encoder), heads, tasks=TASKS, features="mean", seed=0, dropout=0.0, **more
    )


@pytest.fixture(params=LIKE_BERT)
def encoder(request: pytest.FixtureRequest) -> Any:
    torch.manual_seed(0)
    return AutoModel.from_config(copy.deepcopy(CONFIGS[request.param]))


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(5, 50, (6, 9), generator=generator)
    return ids, torch.arange(9)[None] < torch.tensor([9, 7, 5, 9, 3, 8])[:, None]


def loss(logits: dict[str, torch.Tensor], *names: str) -> torch.Tensor:
    return sum(((logits[name] - 0.5).square().sum() for name in names), torch.zeros(()))


@pytest.mark.parametrize("private", [1, 2, LAYERS])
@pytest.mark.parametrize("training", [False, True])
def test_at_the_start_all_heads_read_the_vectors_of_the_encoder(
    encoder: Any, private: int, training: bool
) -> None:
    shared, own = (model_of(encoder, count).train(training) for count in (0, private))
    for name, logits in shared(*batch()).items():
        torch.testing.assert_close(own(*batch())[name], logits)
    second = list(own.specs)[1]
    assert list(own(*batch(), heads=[second])) == [second]


def test_each_head_but_the_first_adds_its_layers(encoder: Any) -> None:
    count = {p: sum(each.numel() for each in model_of(encoder, p).parameters()) for p in range(LAYERS)}
    layers = next(
        part for part in encoder.modules() if isinstance(part, nn.ModuleList) and len(part) == LAYERS
    )
    assert count[1] - count[0] == sum(each.numel() for each in layers[-1].parameters())
    assert count[2] - count[0] == 2 * (count[1] - count[0])


def test_the_trunk_gets_the_gradients_of_all_heads_and_copies_their_own(encoder: Any) -> None:
    model = model_of(encoder, 1).train()
    first, second = model.specs
    found = []
    for names in ((first,), (second,), (first, second)):
        model.zero_grad(set_to_none=True)
        loss(model(*batch()), *names).backward()
        found.append({name: p.grad for name, p in model.named_parameters() if p.grad is not None})
    of_first, of_second, both = found
    assert not [name for name in of_first if name.startswith("private.")]
    assert [name for name in of_second if name.startswith("private.")]
    tops = set(of_first) - set(of_second) - {name for name in of_first if name.startswith("heads.")}
    assert len(tops) == sum(name.startswith("private.") for name in of_second)  # as many as of a copy
    for name, gradient in both.items():
        parts = [part[name] for part in (of_first, of_second) if name in part]
        torch.testing.assert_close(gradient, sum(parts[1:], parts[0]), rtol=1e-4, atol=1e-6)
    trunk = set(of_first) & set(of_second)
    assert trunk
    assert all(name.startswith("encoder.") for name in trunk)


def test_the_encoder_is_not_held_after_a_step(encoder: Any) -> None:
    model = model_of(encoder, 1).train()
    loss(model(*batch()), *model.specs).backward()
    assert all(getattr(part, "hidden", None) is None for part in model.modules())


def test_frozen_layers_stay_below(encoder: Any) -> None:
    model = model_of(encoder, 1, frozen_layers=2).train()
    loss(model(*batch()), *model.specs).backward()
    trained = {name for name, p in model.named_parameters() if p.grad is not None}
    assert [name for name in trained if ".2." in name]
    assert not [name for name in trained if ".1." in name and name.startswith("encoder.")]
    with pytest.raises(EncoderError, match="above its 2 frozen ones"):
        model_of(encoder, 2, frozen_layers=2)
    with pytest.raises(EncoderError, match="is more than the number of layers"):
        model_of(encoder, LAYERS + 1)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_encoder_is_divided_rightly_or_refused(name: str) -> None:
    torch.manual_seed(0)
    encoder = base_class(config_of(name)).from_config(config_of(name))
    size = encoder.get_input_embeddings().weight.shape[0]
    ids, mask = batch()
    ids = size // 4 + ids % (size // 4)
    if name not in DIVIDED:
        with pytest.raises(EncoderError, match="cannot be divided into layers"):
            model_of(encoder, 1)
        return
    own = model_of(encoder, 1).eval()
    for head, logits in model_of(encoder, 0).eval()(ids, mask).items():
        torch.testing.assert_close(own(ids, mask)[head], logits, rtol=1e-3, atol=1e-4)


def test_each_of_four_heads_learns_in_layers_of_its_own(encoder: Any) -> None:
    tasks = {name: Task(name) for name in "abcd"}
    heads = [HeadSpec((name,), private=1) for name in tasks]
    model = MultiTaskModel(encoder, heads, tasks=tasks, features="mean", seed=0, dropout=0.0).train()
    trained: list[set[str]] = []
    for head in model.specs:
        model.zero_grad(set_to_none=True)
        loss(model(*batch()), head).backward()
        trained.append({name for name, p in model.named_parameters() if p.grad is not None})
    trunk = set.intersection(*trained)
    layers = [{name for name in names - trunk if not name.startswith("heads.")} for names in trained]
    assert all(layers)
    assert len(set().union(*layers)) == sum(map(len, layers)), "no two heads share a weight above the trunk"
    values = {name: id(p) for name, p in model.named_parameters()}
    assert len(set(values.values())) == len(values)


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of top layers that were computed as one."""
    numbers: list[int] = []

    def count(tops: list[Any]) -> Any:
        numbers.append(len(tops))
        return stack(tops)

    stack = private.stack
    monkeypatch.setattr(private, "stack", count)
    return numbers


def model_of_four(encoder: Any, stack: int | None, **more: Any) -> MultiTaskModel:
    """A model whose heads have layers of other weights each."""
    heads = [HeadSpec((name,), private=1) for name in FOUR]
    options = {"features": "mean", "seed": 0, "dropout": 0.0, **more}
    model = MultiTaskModel(copy.deepcopy(encoder), heads, tasks=FOUR, stack=stack, **options)
    assert model.private is not None
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for weight in model.private.copies.parameters():
            if weight.requires_grad:
                weight.add_(0.05 * torch.randn(weight.shape, generator=generator))
    return model.train()


def learn(model: MultiTaskModel, row: int | None) -> list[float]:
    """The losses of steps of all heads, of one, and of two."""
    optimizer, losses = make_optimizer(model, learning_rate=1e-4, weight_decay=0.01), []
    ids, mask = batch()
    for step in range(STEPS):
        names = list(model.specs)[:: (1, 4, 2)[step % 3]]
        of_step = loss(model(ids, mask, heads=names, row=row), *names)
        of_step.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(of_step.item())
    return losses


@pytest.mark.parametrize(
    ("more", "row"),
    [
        ({}, None),
        ({}, 64),
        ({"frozen_layers": 1}, None),
        ({"features": "pooler"}, None),
        ({"lora": LoRA(rank=2, alpha=4)}, None),
    ],
    ids=["padded", "rows", "frozen", "pooler", "lora"],
)
def test_a_stack_of_private_layers_learns_what_they_learn_one_by_one(
    encoder: Any, more: dict[str, Any], row: int | None, sizes: list[int]
) -> None:
    if "features" in more and getattr(encoder, "pooler", None) is None:
        pytest.skip("it has no pooler")
    stacked, alone = (model_of_four(encoder, most, **more) for most in (None, 1))
    assert stacked.state_dict().keys() == alone.state_dict().keys()
    assert learn(stacked, row) == pytest.approx(learn(alone, row), abs=1e-5, rel=1e-5)
    by_one = [count for step in range(STEPS) for count in [1] * (4, 1, 2)[step % 3]]
    assert sizes == [(4, 1, 2)[step % 3] for step in range(STEPS)] + by_one
    expected = alone.state_dict()
    for name, weight in stacked.state_dict().items():
        if not name.endswith(("key.bias", "k_lin.bias")):  # their gradient is 0 but for rounding
            torch.testing.assert_close(weight, expected[name], rtol=0, atol=1e-5, msg=name)


def test_a_stack_has_at_most_so_many_private_layers(encoder: Any, sizes: list[int]) -> None:
    model, alone = (model_of_four(encoder, most) for most in (3, 1))
    expected = alone(*batch())
    sizes.clear()
    for name, logits in model(*batch()).items():
        torch.testing.assert_close(logits, expected[name])
    assert sizes == [3, 1]
    with torch.no_grad():
        model.eval()(*batch())
    assert sizes == [3, 1, 1, 1, 1, 1], "predictions are computed one by one"


@pytest.mark.parametrize("name", ["mpnet", "deberta-v2"])
def test_private_layers_that_cannot_be_stacked_are_computed_one_by_one(name: str, sizes: list[int]) -> None:
    encoder = base_class(config_of(name)).from_config(config_of(name))
    size = encoder.get_input_embeddings().weight.shape[0]
    ids, mask = batch()
    model_of(encoder, 1, stack=None).train()(size // 4 + ids % (size // 4), mask)
    assert sizes == [1, 1]
