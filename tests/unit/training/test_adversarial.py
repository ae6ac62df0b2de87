"""Adversarial masked language modelling: the perturbation, and what it adds to the loss."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from mtlv.data.batches import Batch
from mtlv.models.encoder import load_encoder
from mtlv.models.fast.frozen_cache import FrozenCache
from mtlv.models.kinds import kinds_with
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import HeadSpec, Task
from mtlv.training import adversarial
from mtlv.training.loop import HeadLosses
from mtlv.training.objective import Objective

TASKS = {"next": Task("next", "binary"), "text": Task("text", "mlm", weight=0.5)}
HEADS = [HeadSpec((name,)) for name in TASKS]
BOTH = (0, 1)


@pytest.fixture(scope="module")
def encoder() -> Any:
    return load_encoder("tiny", texts=["heart and lung are clear", "an old fracture of a rib"]).module


def model_of(encoder: Any, weight: float, dropout: float = 0.1, **more: Any) -> MultiTaskModel:
    kinds = kinds_with(tagging_scheme="bio", tagging_layer="linear", adversarial=weight)
    made = MultiTaskModel(
        copy.deepcopy(encoder),
        HEADS,
        tasks=TASKS,
        features="mean",
        seed=0,
        dropout=dropout,
        kinds=kinds,
        **more,
    )
    return made.train()


@pytest.fixture
def batch(encoder: Any) -> Batch:
    """Six documents of 3 to 8 tokens, of which two are masked."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(5, encoder.config.vocab_size, (6, 8), generator=generator)
    mask = torch.arange(8) < torch.tensor([[3], [4], [5], [6], [7], [8]])
    places = torch.tensor([[1, 2]] * 6)
    pieces = torch.stack([ids.gather(1, places), places, places], -1)
    targets = {"next": torch.tensor([0, 1, 0, 1, 1, 0]), "text": pieces}
    return Batch(np.arange(6), ids, mask, int(mask.sum()), targets, words=places)


def losses_of(
    model: MultiTaskModel, batch: Batch, precision: str = "fp32", here: tuple[int, ...] = BOTH
) -> torch.Tensor:
    objective = Objective(HEADS, tasks=TASKS, combine="sum", head_weights=None)
    torch.manual_seed(3)
    return HeadLosses(model, objective, precision)(batch, here)


def divergence(logits: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """KL(others || logits), with a mean over pieces."""
    target = functional.softmax(others.detach(), -1)
    return (target * (target.log() - functional.log_softmax(logits, -1))).sum(-1).mean()


class Seen:
    """The embeddings [B, L, H] that an encoder reads in each pass, and the scores of masked pieces."""

    def __init__(self, model: MultiTaskModel, monkeypatch: pytest.MonkeyPatch) -> None:
        self.embeddings: list[torch.Tensor] = []
        self.logits: list[torch.Tensor] = []
        model.packs  # noqa: B018 - tries the encoder, once
        model.encoder.embeddings.LayerNorm.register_forward_pre_hook(self._note)
        forward = model.forward

        def noted(*given: Any, **more: Any) -> dict[str, torch.Tensor]:
            logits = forward(*given, **more)
            self.logits.append(logits["text"])
            return logits

        monkeypatch.setattr(model, "forward", noted)

    def _note(self, _: Any, given: tuple[torch.Tensor]) -> None:
        self.embeddings.append(given[0].detach())  # words, places and texts: only words differ between passes

    @property
    def deltas(self) -> list[torch.Tensor]:
        return [one - self.embeddings[0] for one in self.embeddings[1:]]


@pytest.mark.parametrize("packed", [True, False])
def test_a_perturbation_has_the_same_size_for_each_token_and_none_for_padding(
    encoder: Any, batch: Batch, packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_of(encoder, 10.0)
    seen = Seen(model, monkeypatch)
    model.__dict__["_packable"] = packed
    losses_of(model, batch)
    noise, delta = seen.deltas
    assert noise.std().item() == pytest.approx(1e-5, rel=0.1)
    largest = delta.abs().amax(-1)
    if packed:
        largest = largest[0, : batch.tokens]
    else:
        assert not largest[~batch.attention_mask].any()
        largest = largest[batch.attention_mask]
    torch.testing.assert_close(largest, torch.full_like(largest, 1e-3), rtol=1e-3, atol=0)


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_it_diverges_more_than_by_chance(
    encoder: Any, batch: Batch, dropout: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_of(encoder, 10.0, dropout)
    seen = Seen(model, monkeypatch)

    def perturbed_divergence() -> float:
        seen.logits.clear()
        losses_of(model, batch)
        clean, _, perturbed = seen.logits
        return (divergence(perturbed, clean) + divergence(clean, perturbed)).item()

    found, by_chance = perturbed_divergence(), []
    for seed in range(5):
        generator = torch.Generator().manual_seed(seed)

        def other(*_: Any, generator: torch.Generator = generator, **__: Any) -> tuple[torch.Tensor]:
            return (torch.randn(seen.embeddings[0].shape, generator=generator),)

        monkeypatch.setattr(adversarial.torch.autograd, "grad", other)
        by_chance.append(perturbed_divergence())
    assert found > 3 * max(by_chance) > 0


def test_the_loss_by_hand_with_a_gradient_only_of_the_weights(
    encoder: Any, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, plain = (model_of(encoder, weight, dropout=0.0) for weight in (10.0, 0.0))
    seen = Seen(model, monkeypatch)
    losses = losses_of(model, batch)
    expected = losses_of(plain, batch)
    assert losses[0] == expected[0], "the next sentence is learned as before"
    clean, _, perturbed = seen.logits
    by_hand = expected[1] + 0.5 * 10 * (divergence(perturbed, clean) + divergence(clean, perturbed))
    assert losses[1].item() == pytest.approx(by_hand.item(), abs=1e-5)
    delta, passes = seen.deltas[1], []
    for shift in (torch.zeros_like(delta), delta):  # now numbers
        embeddings = plain.encoder.get_input_embeddings()
        hook = embeddings.register_forward_hook(lambda _, __, vectors, shift=shift: vectors + shift)
        arguments = {"words": batch.words, "tokens": batch.tokens}
        passes.append(plain(batch.input_ids, batch.attention_mask, **arguments)["text"])
        hook.remove()
    clean, perturbed = passes
    plain_loss = plain.kinds["text"].losses(clean, [batch.targets["text"]])[0]
    total = 0.5 * (plain_loss + 10 * (divergence(perturbed, clean) + divergence(clean, perturbed)))
    total.backward()
    losses[1].backward()
    assert losses[1].item() == pytest.approx(total.item(), abs=1e-5)
    for (name, weight), other in zip(model.named_parameters(), plain.parameters(), strict=True):
        if other.grad is not None:
            torch.testing.assert_close(
                weight.grad, other.grad, rtol=1e-3, atol=1e-6, msg=lambda text, name=name: f"{name}: {text}"
            )
    assert model.encoder.get_input_embeddings().weight.grad.abs().sum() > 0


@pytest.mark.parametrize("here", [BOTH, (0,)])
def test_without_a_weight_or_masked_pieces_there_is_one_plain_pass(
    encoder: Any, batch: Batch, here: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = []
    for weight in (0.0, 10.0):
        model = model_of(encoder, weight, dropout=0.0)
        passes: list[Any] = []
        monkeypatch.setattr(model, "_encode", counted(model._encode, passes))
        losses_of(model, batch, here=here)
        counts.append(len(passes))
    assert counts == ([1, 3] if here == BOTH else [1, 1])


def counted(function: Callable, calls: list[Any]) -> Callable:
    def noted(*given: Any) -> Any:
        calls.append(given)
        return function(*given)

    return noted


def test_half_precision_keeps_the_perturbation_in_full(
    encoder: Any, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_of(encoder, 10.0)
    seen = Seen(model, monkeypatch)
    losses = losses_of(model, batch, "bf16")
    assert {logits.dtype for logits in seen.logits} == {torch.bfloat16}
    assert seen.deltas[1].abs().max().item() == pytest.approx(1e-3, rel=1e-3)
    losses.sum().backward()
    assert all(weight.grad is None or weight.grad.isfinite().all() for weight in model.parameters())


def test_losses_are_the_same_where_only_their_values_are_needed(encoder: Any, batch: Batch) -> None:
    """As for an objective that looks ahead."""
    model = model_of(encoder, 10.0)
    with torch.no_grad():
        ahead = losses_of(model, batch)
    assert torch.equal(ahead, losses_of(model, batch))


def test_frozen_layers_are_computed_from_the_perturbed_embeddings(encoder: Any, batch: Batch) -> None:
    below = FrozenCache(room=2**20)
    model, plain = (
        model_of(encoder, weight, dropout=0.0, frozen_layers=1, below=below) for weight in (10.0, 0.0)
    )
    assert (model.keeps_below, plain.keeps_below) == (False, True)
    assert losses_of(model, batch)[1] > losses_of(plain, batch)[1]


def test_no_hook_is_left_after_an_error(encoder: Any, batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    """For example if the device's memory is full, after which the batch is split."""

    def full(*_: Any) -> None:
        raise torch.cuda.OutOfMemoryError

    model = model_of(encoder, 10.0)
    monkeypatch.setattr(adversarial.torch.autograd, "grad", full)
    with pytest.raises(torch.cuda.OutOfMemoryError):
        losses_of(model, batch)
    assert not model.encoder.get_input_embeddings()._forward_hooks
