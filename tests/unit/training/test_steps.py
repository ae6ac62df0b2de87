"""What the loop does at each step, by the weights that come of it."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from torch import nn
from transformers import BertConfig, BertModel

from mtlv.data.batches import Batch, PartDocuments
from mtlv.data.columns import dense
from mtlv.data.tokens import Tokens
from mtlv.models.fast.graphs import Graphed
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import HeadSpec, Task
from mtlv.training import loop, memory
from mtlv.training.hooks import EpochLosses, Hook
from mtlv.training.loop import train
from mtlv.training.objective import Objective
from mtlv.training.optim import schedule
from mtlv.training.state import EpochProgress, LossError, TrainingState

TASKS = {name: Task(name) for name in "ab"}
HEADS = [HeadSpec((name,)) for name in TASKS]
RATE, SIZE = 0.5, 4


@pytest.fixture(scope="module")
def documents() -> PartDocuments:
    """Sixteen of six tokens each."""
    rng = np.random.default_rng(0)
    ids = rng.integers(5, 50, 16 * 6).astype(np.int32)
    targets = dense({name: rng.integers(0, 2, 16) for name in TASKS})
    return PartDocuments(Tokens(ids, np.arange(17) * 6, pad=0, truncated=0), targets, np.arange(16))


@pytest.fixture(scope="module")
def fresh() -> MultiTaskModel:
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    encoder = BertModel(BertConfig(vocab_size=50, **sizes))
    return MultiTaskModel(encoder, HEADS, tasks=TASKS, features="mean", seed=0, dropout=0.0)


def batches_of(documents: PartDocuments, sizes: Sequence[int]) -> list[Batch]:
    ends = np.cumsum(sizes)
    parts = [documents.index[end - size : end] for end, size in zip(ends, sizes, strict=True)]
    return [next(replace(documents, index=part).inference(len(part))) for part in parts]


class Heard(Hook):
    """What a caller is told, and what the model is like at that time."""

    def __init__(self, model: MultiTaskModel, optimizer: torch.optim.Optimizer, stop: int = 99) -> None:
        self.model, self.optimizer, self.stop = model, optimizer, stop
        self.steps: list[int] = []
        self.behind: list[int] = []  # batches of the epoch, after each step
        self.rates = [optimizer.param_groups[0]["lr"]]
        self.training: list[bool] = []
        self.batches: list[int] = []
        self.epochs: list[EpochLosses] = []

    def on_batch(self, documents: int) -> None:
        self.batches.append(documents)
        self.training.append(self.model.training)

    def on_step(self, progress: EpochProgress) -> None:
        self.steps.append(progress.step)
        self.behind.append(progress.batches)
        self.rates.append(self.optimizer.param_groups[0]["lr"])

    def on_epoch(self, losses: EpochLosses) -> None:
        self.epochs.append(losses)
        self.done = len(self.epochs) == self.stop
        self.model.eval()  # as prediction leaves it


def run(
    fresh: MultiTaskModel,
    batches: Sequence[Batch] | Callable[[int], Iterable[Batch]],
    *,
    plan: str = "constant",
    stop: int = 99,
    **given: Any,
) -> tuple[MultiTaskModel, Heard]:
    """Plain steps along the gradient."""
    model = copy.deepcopy(fresh)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    heard = Heard(model, optimizer, stop)
    of_epoch = batches if callable(batches) else lambda _: batches
    aim = Objective(HEADS, tasks=TASKS, combine="sum", head_weights=None)
    options = {"epochs": 1, "clip_norm": None} | given
    scheduler = schedule(optimizer, plan, steps=10, warmup=0.0)
    train(TrainingState(model, optimizer, scheduler), of_epoch, objective=aim, hooks=[heard], **options)
    return model, heard


def gradient(model: MultiTaskModel, batches: Sequence[Batch]) -> list[torch.Tensor]:
    """Of the mean over batches of the two heads' summed losses; by hand."""
    model = copy.deepcopy(model).train()
    for batch in batches:
        logits = model(batch.input_ids, batch.attention_mask)
        losses = [
            nn.functional.binary_cross_entropy_with_logits(logits[name][:, 0], batch.targets[name].float())
            for name in TASKS
        ]
        (sum(losses) / len(batches)).backward()
    return [torch.zeros_like(p) if p.grad is None else p.grad for p in model.parameters()]


def moved(model: MultiTaskModel, fresh: MultiTaskModel) -> list[torch.Tensor]:
    return [(new - old).detach() for new, old in zip(model.parameters(), fresh.parameters(), strict=True)]


def test_a_step_goes_along_the_gradient_and_the_next_begins_anew(
    fresh: MultiTaskModel, documents: PartDocuments
) -> None:
    batches = batches_of(documents, [SIZE] * 2)
    expected = copy.deepcopy(fresh)
    for batch in batches:
        for parameter, slope in zip(expected.parameters(), gradient(expected, [batch]), strict=True):
            parameter.data -= RATE * slope
    model, heard = run(fresh, batches)
    for ours, theirs in zip(model.parameters(), expected.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)
    assert (heard.steps, heard.batches) == ([1, 2], [SIZE, SIZE])


def test_gradients_of_accumulated_batches_are_averaged(
    fresh: MultiTaskModel, documents: PartDocuments
) -> None:
    model, heard = run(fresh, batches_of(documents, [SIZE] * 3), accumulation=3)
    whole, _ = run(fresh, batches_of(documents, [3 * SIZE]))
    assert heard.steps == [1]
    for ours, theirs in zip(moved(model, fresh), moved(whole, fresh), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


def test_the_last_step_of_an_epoch_takes_what_is_left(
    fresh: MultiTaskModel, documents: PartDocuments
) -> None:
    batches = batches_of(documents, [SIZE] * 3)
    model, heard = run(fresh, batches, accumulation=2)
    assert heard.steps == [1, 2]
    assert heard.behind == [2, 3]  # where a resumed epoch goes on
    expected = copy.deepcopy(fresh)
    for group in (batches[:2], batches[2:]):
        for parameter, slope in zip(expected.parameters(), gradient(expected, group), strict=True):
            parameter.data -= RATE * slope
    for ours, theirs in zip(model.parameters(), expected.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


def test_the_whole_gradient_is_clipped_and_none_where_that_is_asked(
    fresh: MultiTaskModel, documents: PartDocuments
) -> None:
    batches, largest = batches_of(documents, [SIZE]), 0.01
    slopes = gradient(fresh, batches)
    norm = torch.cat([slope.flatten() for slope in slopes]).norm()
    assert norm > 10 * largest
    for clip_norm, factor in ((largest, largest / norm), (None, 1.0), (1e9, 1.0)):
        model, _ = run(fresh, batches, clip_norm=clip_norm)
        for change, slope in zip(moved(model, fresh), slopes, strict=True):
            torch.testing.assert_close(change, -RATE * factor * slope, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize(("accumulation", "steps"), [(1, 4), (3, 2)])
def test_the_schedule_moves_once_per_optimizer_step(
    accumulation: int, steps: int, fresh: MultiTaskModel, documents: PartDocuments
) -> None:
    batches = batches_of(documents, [SIZE] * 4)
    _, heard = run(fresh, batches, plan="linear", accumulation=accumulation, epochs=2)
    assert heard.rates == pytest.approx([RATE * (10 - step) / 10 for step in range(2 * steps + 1)])
    assert [epoch.learning_rate for epoch in heard.epochs] == pytest.approx(
        [RATE * (10 - step) / 10 for step in (steps, 2 * steps)]
    )


def test_each_epoch_has_its_own_batches_and_trains_whatever_came_between(
    fresh: MultiTaskModel, documents: PartDocuments
) -> None:
    asked: list[int] = []

    def of_epoch(epoch: int) -> list[Batch]:
        asked.append(epoch)
        return batches_of(documents, [SIZE] * (epoch + 1))

    _, heard = run(fresh, of_epoch, epochs=3)
    assert asked == [0, 1, 2]
    assert [epoch.epoch for epoch in heard.epochs] == [0, 1, 2]
    assert [epoch.documents for epoch in heard.epochs] == [SIZE, 2 * SIZE, 3 * SIZE]
    assert heard.steps == [1, 2, 3, 4, 5, 6]
    assert heard.training == [True] * 6


def test_it_ends_where_a_hook_is_done(fresh: MultiTaskModel, documents: PartDocuments) -> None:
    _, heard = run(fresh, batches_of(documents, [SIZE]), epochs=5, stop=2)
    assert [epoch.epoch for epoch in heard.epochs] == [0, 1]


def test_gradients_of_large_embeddings_are_kept_while_it_trains(
    fresh: MultiTaskModel, documents: PartDocuments, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, _ = run(fresh, batches_of(documents, [SIZE] * 4), epochs=2)
    kept = Mock(wraps=memory.keep_gradients)
    monkeypatch.setattr(memory, "MIN_KEPT_BYTES", 0)
    monkeypatch.setattr(loop, "keep_gradients", kept)
    model, _ = run(fresh, batches_of(documents, [SIZE] * 4), epochs=2)
    kept.assert_called_once_with(model)
    assert all(not torch.any(step) for step in moved(model, plain))


def test_an_epoch_is_told_by_the_means_of_its_batches(
    fresh: MultiTaskModel, documents: PartDocuments
) -> None:
    batches = batches_of(documents, [SIZE] * 2)
    batches[1] = replace(batches[1], targets={"a": batches[1].targets["a"]})  # of a source with one task
    _, heard = run(fresh, batches, clip_norm=1e-12)  # so that nothing moves
    losses = [
        {
            name: float(
                nn.functional.binary_cross_entropy_with_logits(
                    fresh(batch.input_ids, batch.attention_mask)[name][:, 0].detach(), target.float()
                )
            )
            for name, target in batch.targets.items()
        }
        for batch in batches
    ]
    (epoch,) = heard.epochs
    assert epoch.loss == pytest.approx(np.mean([sum(each.values()) for each in losses]), rel=1e-4)
    assert epoch.heads == pytest.approx(
        {"a": np.mean([each["a"] for each in losses]), "b": losses[0]["b"]}, rel=1e-4
    )


def test_losses_that_are_kept_for_the_epoch_hold_no_graph(
    fresh: MultiTaskModel, documents: PartDocuments, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Losses added up with their graph keep what every batch of an epoch computed in memory."""
    kept, real = list[torch.Tensor](), EpochProgress.count

    def count(self: EpochProgress, loss: torch.Tensor, heads: torch.Tensor, *given: Any) -> None:
        kept.extend([loss, heads])
        real(self, loss, heads, *given)

    monkeypatch.setattr(EpochProgress, "count", count)
    run(fresh, batches_of(documents, [SIZE] * 3), accumulation=2)
    assert len(kept) >= 4
    assert not any(held.requires_grad or held.grad_fn is not None for held in kept)


def test_it_goes_on_where_it_stood(fresh: MultiTaskModel, documents: PartDocuments) -> None:
    batches = batches_of(documents, [SIZE] * 4)
    _, heard = run(fresh, batches, epochs=2, progress=EpochProgress(epoch=1, step=6, batches=2, documents=8))
    assert heard.steps == [7, 8]
    # What was learned before comes along, so that means are of the whole epoch.
    assert [epoch.documents for epoch in heard.epochs] == [16]


def test_pieces_of_a_batch_weigh_by_their_documents(
    fresh: MultiTaskModel, documents: PartDocuments, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = batches_of(documents, [7])
    whole, _ = run(fresh, batches)
    real, heard = MultiTaskModel.forward, list[int]()

    def forward(self: MultiTaskModel, input_ids: torch.Tensor, *given: Any, **more: Any) -> object:
        if len(input_ids) > SIZE:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory.")
        return real(self, input_ids, *given, **more)

    monkeypatch.setattr(MultiTaskModel, "forward", forward)
    pieces, _ = run(fresh, batches, on_pieces=heard.append)
    assert heard == [2]  # of four documents and three
    for ours, theirs in zip(moved(pieces, fresh), moved(whole, fresh), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


def test_recorded_steps_give_way_before_a_batch_is_divided(
    fresh: MultiTaskModel, documents: PartDocuments, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = batches_of(documents, [7])
    whole, _ = run(fresh, batches)
    real, heard, full = MultiTaskModel.forward, list[int](), [True]

    def forward(self: MultiTaskModel, *given: Any, **more: Any) -> object:
        if full[0]:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory.")
        return real(self, *given, **more)

    def release(self: Graphed) -> bool:
        full[0] = False
        return True

    monkeypatch.setattr(MultiTaskModel, "forward", forward)
    monkeypatch.setattr(Graphed, "release", release)
    monkeypatch.setattr(Graphed, "__call__", lambda self, **given: self._module(**given))
    monkeypatch.setattr(MultiTaskModel, "row", lambda *_: None)
    for on_pieces in (heard.append, None):
        full[0] = True
        found, _ = run(fresh, batches, on_pieces=on_pieces, graphed=Graphed)
        for ours, theirs in zip(moved(found, fresh), moved(whole, fresh), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-7)
    assert not heard


@pytest.mark.parametrize("before", [0, 1])
def test_the_first_step_whose_loss_is_not_finite_is_named(
    before: int, fresh: MultiTaskModel, documents: PartDocuments
) -> None:
    batches = batches_of(documents, [SIZE] * 4)
    for number in (2, 3):
        targets = {name: torch.full((SIZE,), math.inf) for name in TASKS}
        batches[number] = replace(batches[number], targets=targets)
    done, heads = [torch.tensor(0.5)] * before, [torch.tensor([0.5, 0.5])] * before
    with pytest.raises(LossError) as raised:
        run(fresh, batches, progress=EpochProgress(batches=before, losses=done, heads=heads))
    assert (raised.value.epoch, raised.value.step) == (0, 2)
    assert raised.value.index.tolist() == [8, 9, 10, 11]
