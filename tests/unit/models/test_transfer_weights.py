"""Weights taken over from an earlier model."""

from __future__ import annotations

import pytest
import torch

from mtlv.errors import PlanError
from mtlv.models.encoder import load_encoder
from mtlv.models.multitask import MultiTaskModel
from mtlv.models.transfer_weights import take_over
from mtlv.plan import HeadSpec, Task

TASKS = {name: Task(name) for name in "abc"}


def model(*heads: HeadSpec, seed: int, features: str = "mean") -> MultiTaskModel:
    encoder = load_encoder("tiny", texts=("a text",)).module
    made = MultiTaskModel(encoder, heads, tasks=TASKS, features=features, seed=seed)
    with torch.no_grad():
        for weights in made.parameters():
            weights += seed
    return made


def state(made: MultiTaskModel) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in made.state_dict().items()}


def same(one: dict, two: dict, name: str) -> bool:
    return torch.equal(one[name], two[name])


def test_the_encoder_comes_along_and_heads_stay_new() -> None:
    old, new = state(model(HeadSpec(("a",)), seed=1)), model(HeadSpec(("a",)), HeadSpec(("b",)), seed=2)
    before = state(new)
    take_over(new, old, "encoder")
    for name, value in state(new).items():
        assert torch.equal(value, (old if name.startswith("encoder.") else before)[name]), name


def test_heads_of_the_same_tasks_may_come_along() -> None:
    old, new = (
        model(HeadSpec(("a",)), HeadSpec(("c",)), seed=1),
        model(HeadSpec(("a",)), HeadSpec(("b",)), seed=2),
    )
    first, before = state(old), state(new)
    take_over(new, first, "encoder_and_heads")
    after = state(new)
    shared = [name for name in after if name in first]
    assert any(name.startswith("heads.") for name in shared)
    assert all(same(after, first, name) for name in shared)
    assert all(same(after, before, name) for name in after if name not in first)


def test_other_encoders_and_other_heads_are_refused() -> None:
    old = state(model(HeadSpec(("a",)), seed=1))
    with pytest.raises(PlanError, match="do not match this encoder and these heads"):
        take_over(model(HeadSpec(("a",)), seed=2, features="pooler"), old, "encoder")
    wide = model(HeadSpec(("a",), layers=2), seed=2)
    take_over(wide, old, "encoder")
    cut = {name: value[:1] if value.dim() > 1 else value for name, value in old.items()}
    with pytest.raises(PlanError, match=r"start\.carry: encoder"):
        take_over(model(HeadSpec(("a",)), seed=2), cut, "encoder_and_heads")
