"""Encoders computed as one give the vectors and gradients of each alone."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import torch
from families import FAMILIES, config_of
from test_packing import MASK, PADDED, N, ids_of, made
from torch import nn

from mtlv.data.batches import Batch
from mtlv.models.fast.frozen_cache import FrozenCache
from mtlv.models.fast.stacked import StackedEncoder, stacks
from mtlv.models.layers import lowest
from mtlv.models.lora import LoRA
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import HeadSpec, Task
from mtlv.training.loop import DueStep, train_by_steps
from mtlv.training.objective import Objective
from mtlv.training.optim import make_optimizer, schedule
from mtlv.training.state import TrainingState
from mtlv.training.together import TogetherSteps

K = 3
ALONE = ["mpnet", "deberta-v2", "longformer", "t5"]
"""Tables of relative positions, or attention of their own."""
CASES = [(name, None) for name in FAMILIES if name not in ALONE]
CASES += [(name, N) for name, _ in CASES if name not in PADDED]


def different(encoder: Any) -> list[Any]:
    """K encoders of one structure with other weights each."""
    encoders = [copy.deepcopy(encoder) for _ in range(K)]
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for one in encoders:
            for weight in one.parameters():
                weight.mul_(1 + 0.2 * torch.rand(weight.shape, generator=generator))
    return encoders


def backward(outputs: list[torch.Tensor], masks: list[torch.Tensor]) -> None:
    factors = torch.linspace(-1, 1, outputs[0].shape[-1])
    torch.stack(
        [(vectors[mask] * factors).square().sum() for vectors, mask in zip(outputs, masks, strict=True)]
    ).sum().backward()


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("training", [False, True])
def test_what_cannot_be_stacked_is_found_by_trying(name: str, training: bool) -> None:
    encoder = made(config_of(name, 0.1)).train(training)
    assert stacks(encoder) is (name not in ALONE)
    assert encoder.training is training


@pytest.mark.parametrize(("name", "row"), CASES)
def test_vectors_and_gradients_are_those_of_each_encoder_alone(name: str, row: int | None) -> None:
    alone = different(made(config_of(name, 0.1)))
    stacked = copy.deepcopy(alone)
    ids = [ids_of(alone[0]).roll(shift, 0) for shift in range(K)]
    ids[1][:, 0] = alone[0].config.pad_token_id or 0  # a word's place, which learns nothing
    masks = [MASK.roll(shift, 0) for shift in range(K)]
    expected = [
        one(input_ids=its_ids, attention_mask=mask).last_hidden_state
        for one, its_ids, mask in zip(alone, ids, masks, strict=True)
    ]
    backward(expected, masks)
    stack = StackedEncoder(stacked)
    stack.keep()
    for _ in range(2):  # gradients are not those of two passes
        for one in stacked:
            one.zero_grad(set_to_none=True)
        outputs = list(stack(torch.cat(ids), torch.cat(masks), row).last_hidden_state.chunk(K))
        backward(outputs, masks)
        stack.share_gradients()
    for vectors, theirs, mask in zip(outputs, expected, masks, strict=True):
        torch.testing.assert_close(vectors[mask], theirs[mask], rtol=1e-5, atol=1e-5)
    for one, other in zip(stacked, alone, strict=True):
        weights = dict(other.named_parameters())
        for key, weight in one.named_parameters():
            gradient = weights[key].grad
            assert (weight.grad is None) == (gradient is None), key
            if gradient is not None:
                scale = max(float(gradient.abs().max()), 1.0)
                torch.testing.assert_close(weight.grad / scale, gradient / scale, rtol=0, atol=2e-6, msg=key)


def test_what_changes_an_encoder_changes_the_stack() -> None:
    encoders = different(made(config_of("bert")))
    stack = StackedEncoder(encoders)
    stack.keep()
    before = stack(ids_of(encoders[0]).repeat(K, 1), MASK.repeat(K, 1)).last_hidden_state.chunk(K)
    with torch.no_grad():
        encoders[1].encoder.layer[0].output.dense.weight.zero_()
    after = stack(ids_of(encoders[0]).repeat(K, 1), MASK.repeat(K, 1)).last_hidden_state.chunk(K)
    assert [torch.equal(one, two) for one, two in zip(before, after, strict=True)] == [True, False, True]


def test_frozen_parts_have_no_dropout_in_a_stack() -> None:
    encoders = different(made(config_of("bert", 0.5)))
    stack = StackedEncoder(encoders)
    ids, mask = ids_of(encoders[0]).repeat(K, 1), MASK.repeat(K, 1)
    expected = stack(ids, mask).last_hidden_state
    for one in encoders:
        one.train()
    assert not torch.allclose(stack(ids, mask).last_hidden_state, expected)
    for one in encoders:
        one.eval()
    assert torch.equal(stack(ids, mask).last_hidden_state, expected)


STEPS = 20
TASK = Task("a")


def models_of(encoders: Sequence[Any], **more: Any) -> list[MultiTaskModel]:
    heads = [HeadSpec(("a",))]
    return [
        MultiTaskModel(one, heads, tasks={"a": TASK}, features="mean", seed=seed, dropout=0.0, **more)
        for seed, one in enumerate(encoders)
    ]


def train_alone(models: Sequence[MultiTaskModel]) -> list[list[torch.Tensor]]:
    """The losses of each step of each model."""
    return [list(steps_of(model, seed))[-1].progress.losses for seed, model in enumerate(models)]


def train_together(models: Sequence[MultiTaskModel]) -> list[list[torch.Tensor]]:
    together: TogetherSteps | None = None
    for due_steps in zip(*(steps_of(model, seed) for seed, model in enumerate(models)), strict=True):
        together = together or TogetherSteps([due.step for due in due_steps])
        together.take(due_steps)
    return [due.progress.losses for due in due_steps]


def steps_of(
    model: MultiTaskModel,
    seed: int,
    rate: float = 1e-4,
    decay: float = 0.01,
    clip_norm: float | None = 1.0,
    name: str = "linear",
) -> Iterator[DueStep]:
    """Twenty steps of batches of their own, of 4 to 7 documents."""
    generator = torch.Generator().manual_seed(seed)
    batches = []
    for _ in range(STEPS):
        rows = torch.randperm(len(MASK), generator=generator)[: 4 + seed]
        targets = {"a": torch.randint(2, (len(rows),), generator=generator)}
        ids, mask = ids_of(model.encoder)[rows], MASK[rows]
        batches.append(Batch(rows.numpy(), ids, mask, int(mask.sum()), targets))
    optimizer = make_optimizer(model, learning_rate=rate, weight_decay=decay)
    trained = TrainingState(model, optimizer, schedule(optimizer, name, steps=STEPS, warmup=0.1))
    objective = Objective([HeadSpec(("a",))], tasks={"a": TASK}, combine="sum", head_weights=None)
    return train_by_steps(trained, lambda _: batches, objective=objective, epochs=1, clip_norm=clip_norm)


def assert_same_weights(one: MultiTaskModel, other: MultiTaskModel) -> None:
    weights = other.state_dict()
    for key, weight in one.state_dict().items():
        if not key.endswith(("key.bias", "k_lin.bias")):  # their gradient is 0 but for rounding
            torch.testing.assert_close(weight, weights[key], rtol=0, atol=1e-5, msg=key)


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in ALONE])
def test_after_twenty_steps_the_weights_are_those_of_training_alone(name: str) -> None:
    encoder = made(config_of(name))
    alone, stacked = models_of(different(encoder)), models_of(different(encoder))
    torch.testing.assert_close(train_together(stacked), train_alone(alone), rtol=0, atol=1e-5)
    for one, other in zip(stacked, alone, strict=True):
        assert_same_weights(one, other)


@pytest.mark.parametrize("is_kept", [False, True])
@pytest.mark.parametrize(("name", "count"), [("bert", 1), ("bert", 2), ("roberta", 1), ("modernbert", 1)])
def test_frozen_layers_are_computed_once_for_all(name: str, count: int, is_kept: bool) -> None:
    """In each step by those of the first model, or once for each document."""
    encoder = made(config_of(name))
    alone, stacked = (
        models_of([copy.deepcopy(encoder) for _ in range(K)], frozen_layers=count, below=below)
        for below in (None, FrozenCache(10**6) if is_kept else None)
    )
    computed: list[int] = []
    for number, model in enumerate(stacked):
        linear = next(part for part in lowest(model.encoder, 1)[-1].modules() if isinstance(part, nn.Linear))
        linear.register_forward_hook(lambda *_, number=number: computed.append(number))
    torch.testing.assert_close(train_together(stacked), train_alone(alone), rtol=0, atol=1e-5)
    for one, other in zip(stacked, alone, strict=True):
        assert_same_weights(one, other)
    assert stacks(alone[0].encoder)
    # one more is of the padding of smaller batches; ModernBERT's output is not kept
    assert computed == [0] * (len(MASK) + 1 if is_kept and name != "modernbert" else STEPS)


def test_adapters_are_of_each_model_and_what_they_adapt_is_one() -> None:
    encoder, lora = made(config_of("bert")), LoRA(2, 4.0)
    alone, stacked = (models_of([copy.deepcopy(encoder) for _ in range(K)], lora=lora) for _ in range(2))
    torch.testing.assert_close(train_together(stacked), train_alone(alone), rtol=0, atol=1e-5)
    for one, other in zip(stacked, alone, strict=True):
        assert_same_weights(one, other)
    weights = {model.encoder.encoder.layer[0].output.dense.weight for model in stacked}
    assert len(weights) == 1


DIFFERENT = ((1e-3, 0.5, None), (1e-4, 0.0, 0.01), (3e-4, 0.1, 0.1))
SAME = ((1e-3, 0.1, 1.0, "constant"),) * K


@pytest.mark.parametrize("choices", [DIFFERENT, SAME], ids=["different", "same"])
@pytest.mark.parametrize("steps_before", [(0, 0, 0), (4, 1, 8)])
def test_rates_clipping_and_numbers_of_steps_are_of_each_model(
    choices: tuple[Any, ...], steps_before: tuple[int, ...]
) -> None:
    """Some have taken steps before they meet, as when they resume; when one ends, the others go on alone."""
    encoder = made(config_of("bert"))
    alone, stacked = models_of(different(encoder)), models_of(different(encoder))
    expected, steps = (
        [steps_of(model, seed, *choices[seed]) for seed, model in enumerate(models)]
        for models in (alone, stacked)
    )
    for of_model, count in zip(steps, steps_before, strict=True):
        for _ in range(count):
            next(of_model)
    together: TogetherSteps | None = None
    for due_steps in zip(*steps, strict=False):
        together = together or TogetherSteps([due.step for due in due_steps])
        together.take(due_steps)
        optimizers = [due.step.trained.optimizer for due in due_steps]
    assert together is not None
    together.release()
    for one, other, of_model, its_steps, optimizer in zip(
        stacked, alone, steps, expected, optimizers, strict=True
    ):
        list(of_model)
        *_, last = its_steps
        assert_same_weights(one, other)
        states = last.step.trained.optimizer.state_dict()["state"]
        torch.testing.assert_close(optimizer.state_dict()["state"], states, rtol=1e-3, atol=1e-8)
