"""Batches of a step, and pieces of a batch, count as one large batch of all their documents does."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import torch
from objectives import on_batch

from mtlv.data.batches import Batch, PartDocuments
from mtlv.data.columns import DenseColumn
from mtlv.data.joined import begins, join
from mtlv.data.source import Corpus
from mtlv.data.targets import TARGETS
from mtlv.data.tokens import join_tokens, tokenise
from mtlv.models.encoder import load_encoder
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import HeadSpec, Task
from mtlv.registries import BALANCERS, OBJECTIVES
from mtlv.training.balancing import Balancer
from mtlv.training.hooks import EpochLosses, Hook
from mtlv.training.loop import HeadLosses, train
from mtlv.training.objective import Objective
from mtlv.training.parts import BatchPart
from mtlv.training.state import LossError, TrainingState

WEIGHTS = {"heart": 0.5, "lung": 2.0, "relation": 3.0}
EVERY = sorted(OBJECTIVES)
WORDS, PAIRS, NUMBERS = range(3)  # the sources


def combined(
    name: str, losses: dict[str, torch.Tensor], factors: Mapping[str, float] = MappingProxyType({})
) -> torch.Tensor:
    """The formulas of docs/methods.md, of losses that a balancer multiplies by `factors`."""
    held = torch.stack(list(losses.values()))
    weights = torch.tensor([WEIGHTS.get(head, 1.0) for head in losses])
    shares = (held / held.mean()).detach()
    held = held * torch.tensor([factors.get(head, 1.0) for head in losses])
    return {
        "sum": held.sum(),
        "mean": held.mean(),
        "weighted_sum": (weights * held).sum(),
        "weighted_mean": (weights * held).sum() / weights.sum(),
        "loss_proportional": (shares * held).sum(),
    }[name]


def flat(tensors: Iterable[torch.Tensor | None], like: Iterable[torch.Tensor]) -> torch.Tensor:
    pairs = zip(tensors, like, strict=True)
    return torch.cat([(torch.zeros_like(w) if g is None else g).flatten().clone() for g, w in pairs])


class Kept(torch.optim.SGD):
    """Keeps the gradient of each step, and changes no weight."""

    def __init__(self, weights: list[torch.nn.Parameter]) -> None:
        super().__init__(weights, lr=0.0)
        self.weights, self.found = weights, list[torch.Tensor]()

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        self.found.append(flat((weight.grad for weight in self.weights), self.weights))


class Heard(Hook):
    def __init__(self) -> None:
        self.epochs: list[EpochLosses] = []

    def on_epoch(self, losses: EpochLosses) -> None:
        self.epochs.append(losses)


class Work:
    """Three sources in one model; of the first, one head reads words and two read documents."""

    def __init__(self, corpora: list[Corpus], dropout: float = 0.0) -> None:
        _, pairs, sts, ner = corpora
        members = [ner, pairs, sts]
        whole = join(members)
        encoder = load_encoder("tiny", texts=list(whole.texts))
        pad = encoder.tokenizer.pad_token_id
        tokens = join_tokens(
            [
                tokenise(m.words or m.texts, encoder.tokenizer, max_length=24, pad=pad, seconds=m.seconds)
                for m in members
            ]
        )
        self.parts: list[PartDocuments] = []
        for member, start in zip(members, begins(members), strict=False):
            columns = {t.name: TARGETS[t.kind].column(t, whole.targets[t.name], tokens) for t in member.tasks}
            self.parts.append(PartDocuments(tokens, columns, np.arange(start, start + len(member))))
        self.tasks = {task.name: task for task in whole.tasks}
        for name in ("heart", "lung"):
            held = DenseColumn(np.array([name in text for text in whole.texts], np.int8))
            self.parts[WORDS] = replace(self.parts[WORDS], targets={**self.parts[WORDS].targets, name: held})
            self.tasks[name] = Task(name, source=ner.name)
        self.heads = [HeadSpec((name,)) for name in self.tasks]
        module = copy.deepcopy(encoder.module)
        self.model = MultiTaskModel(
            module, self.heads, tasks=self.tasks, features="mean", seed=0, dropout=dropout
        )
        self.weights = list(self.model.parameters())

    def batch(self, source: int, first: int, last: int) -> Batch:
        """Documents of a source, padded to the longest of them."""
        part = self.parts[source]
        (batch,) = replace(part, index=part.index[first:last]).inference(last - first)
        return batch

    def losses(self, *batches: Batch) -> dict[str, torch.Tensor]:
        """Of each head, on whole batches of different sources."""
        out = {}
        self.model.train()
        for batch in batches:
            names = [name for name in self.tasks if name in batch.targets]
            given = batch.input_ids, batch.attention_mask, batch.segments, batch.words
            logits = self.model(*given, heads=names)
            for name in names:
                (out[name],) = self.model.kinds[name].losses(logits[name], [batch.targets[name]])
        return out

    def gradient(self, loss: torch.Tensor) -> torch.Tensor:
        return flat(torch.autograd.grad(loss, self.weights, allow_unused=True), self.weights)

    def step(
        self,
        batches: Sequence[Batch],
        combine: str,
        *,
        together: bool = False,
        accumulation: int | None = None,
        on_pieces: Callable[[int], None] | None = None,
        balancer: Balancer | None = None,
    ) -> tuple[list[torch.Tensor], EpochLosses]:
        """The gradient of each optimizer step, and what was heard, of an epoch of these batches."""
        kept, heard = Kept(self.weights), Heard()
        train(
            TrainingState(self.model, kept, torch.optim.lr_scheduler.LambdaLR(kept, lambda _: 1.0)),
            lambda _: iter(batches),
            objective=Objective(
                self.heads,
                tasks=self.tasks,
                combine=combine,
                head_weights=WEIGHTS,
                together=together,
                balancer=balancer,
            ),
            epochs=1,
            accumulation=accumulation or len(batches),
            clip_norm=None,
            hooks=[heard],
            on_pieces=on_pieces,
        )
        return kept.found, heard.epochs[0]


@pytest.fixture(scope="module")
def work(one_corpus_per_kind: list[Corpus]) -> Work:
    return Work(one_corpus_per_kind)


def close(found: torch.Tensor, expected: torch.Tensor) -> None:
    assert expected.abs().max() > 1e-2
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("combine", EVERY)
def test_batches_of_a_step_count_as_one_large_batch(combine: str, work: Work) -> None:
    """16 documents and 3: each of them counts the same, as does each word where words are learned."""
    losses = work.losses(work.batch(WORDS, 0, 19))
    expected = combined(combine, losses)
    (found,), heard = work.step([work.batch(WORDS, 0, 16), work.batch(WORDS, 16, 19)], combine)
    close(found, work.gradient(expected))
    assert heard.loss == pytest.approx(float(expected.detach()), rel=1e-5)
    assert heard.heads == pytest.approx(
        {name: float(loss.detach()) for name, loss in losses.items()}, rel=1e-5
    )
    assert heard.documents == 19


@pytest.mark.parametrize("combine", EVERY)
def test_pieces_count_as_the_whole_batches(combine: str, work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever a step finds that there is no room, it begins again."""
    batches = [work.batch(WORDS, 0, 16), work.batch(WORDS, 16, 19)]
    (expected,), whole = work.step(batches, combine)
    real = HeadLosses.forward

    def forward(self: HeadLosses, batch: Batch, here: Sequence[int]) -> torch.Tensor:
        if len(batch.index) > 5:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory.")
        return real(self, batch, here)

    heard: list[int] = []
    with monkeypatch.context() as patch:
        patch.setattr(HeadLosses, "forward", forward)
        (found,), in_pieces = work.step(batches[::-1], combine, on_pieces=heard.append)
    assert heard == [2, 4]
    close(found, expected)
    assert in_pieces.loss == pytest.approx(whole.loss, rel=1e-5)
    assert in_pieces.heads == pytest.approx(whole.heads, rel=1e-5)


@pytest.mark.parametrize("combine", EVERY)
def test_heads_of_all_sources_in_a_step_are_combined_at_once(combine: str, work: Work) -> None:
    """Two rounds of three sources, the last batches of two of them small."""
    rounds = [(WORDS, 0, 8), (PAIRS, 0, 8), (NUMBERS, 0, 8), (WORDS, 8, 16), (PAIRS, 8, 11), (NUMBERS, 8, 9)]
    losses = work.losses(work.batch(WORDS, 0, 16), work.batch(PAIRS, 0, 11), work.batch(NUMBERS, 0, 9))
    expected = combined(combine, losses)
    (found,), heard = work.step([work.batch(*each) for each in rounds], combine, together=True)
    close(found, work.gradient(expected))
    assert heard.loss == pytest.approx(float(expected.detach()), rel=1e-5)
    assert heard.heads == pytest.approx(
        {name: float(loss.detach()) for name, loss in losses.items()}, rel=1e-5
    )


@pytest.mark.parametrize("combine", EVERY)
def test_a_source_counts_as_often_as_it_was_drawn(combine: str, work: Work) -> None:
    """So that with more batches in a step a draw in proportion does not become one of all sources alike."""
    drawn = [work.batch(WORDS, 0, 16), work.batch(NUMBERS, 0, 8), work.batch(WORDS, 16, 19)]
    first = combined(combine, work.losses(work.batch(WORDS, 0, 19)))
    expected = 2 / 3 * first + 1 / 3 * combined(combine, work.losses(drawn[1]))
    (found,), heard = work.step(drawn, combine)
    close(found, work.gradient(expected))
    assert heard.loss == pytest.approx(float(expected.detach()), rel=1e-5)


@pytest.mark.parametrize("combine", ["weighted_sum", "loss_proportional"])
@pytest.mark.parametrize("name", ["dwa", "random", "uncertainty"])
def test_balancers_learn_the_losses_of_all_parts_of_a_step(
    name: str, combine: str, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three parts of two of the three sources, before the epoch ends."""
    drawn = [work.batch(WORDS, 0, 16), work.batch(NUMBERS, 0, 8), work.batch(WORDS, 16, 19)]
    balancer, alone = (BALANCERS[name](len(work.heads), seed=3) for _ in range(2))
    for one in (balancer, alone):
        for at, key in enumerate(key for key in one.state if key in ("s", "last", "before")):
            one.state[key] = torch.linspace(0.5, 1.5 + at, len(work.heads))
        monkeypatch.setattr(one, "end_epoch", lambda: None)
    losses = work.losses(work.batch(WORDS, 0, 19), drawn[1])
    factors = dict(
        zip([head.name for head in work.heads], alone.factors(torch.zeros(1)).tolist(), strict=True)
    )
    assert len({round(factors[head], 4) for head in losses}) == len(losses) == 4
    parts = [{head: losses[head] for head in batch.targets} for batch in drawn[:2]]
    expected = sum(
        share * combined(combine, known, factors) for share, known in zip((2 / 3, 1 / 3), parts, strict=True)
    )
    (gradient,), heard = work.step(drawn, combine, balancer=balancer)
    close(gradient, work.gradient(expected))
    values = {name: float(loss.detach()) for name, loss in losses.items()}
    alone.learn(torch.tensor([values.get(head.name, torch.nan) for head in work.heads]))
    for key, state in alone.state.items():
        torch.testing.assert_close(balancer.state[key], state, rtol=1e-4, atol=1e-6, equal_nan=True)
    assert heard.factors == pytest.approx(factors, rel=1e-5)


def test_each_head_has_its_own_share(work: Work) -> None:
    """A part may have all of a step's words, but not all of its documents."""
    part = BatchPart(work.batch(WORDS, 0, 2), (0, 1), slice(0, 2), (1.0, 0.5))
    assert part.contribution(torch.tensor([2.0, 4.0])).tolist() == [2.0, 2.0]


def test_a_step_of_one_batch_sums_its_losses_to_the_bit(work: Work) -> None:
    batch = work.batch(WORDS, 0, 8)
    losses = work.losses(batch)
    order = [losses[head.name] for head in work.heads if head.name in losses]
    expected = torch.stack(order).sum()
    (found,), heard = work.step([batch], "sum")
    assert torch.equal(found, work.gradient(expected))
    assert heard.loss == float(expected.detach())


@pytest.mark.parametrize("packs", [True, False])
def test_a_batch_without_padding_or_in_parts_has_the_gradient_of_the_whole(
    packs: bool, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An encoder that cannot do without padding computes parts of similar length."""
    batch = work.batch(WORDS, 0, 16)
    losses = work.losses(batch)
    expected = torch.stack([losses[head.name] for head in work.heads if head.name in losses]).sum()
    assert work.model.packs
    monkeypatch.setattr(MultiTaskModel, "packs", packs)
    read, real = list[tuple[int, ...]](), MultiTaskModel.forward

    def forward(self: MultiTaskModel, input_ids: torch.Tensor, *given: Any, **more: Any) -> Any:
        read.append(tuple(input_ids.shape))
        return real(self, input_ids, *given, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MultiTaskModel, "forward", forward)
        (found,), heard = work.step([batch], "sum")
    assert [rows for rows, _ in read] == ([16] if packs else [8, 8])
    assert packs or read[0][1] == batch.input_ids.shape[1] > read[1][1], (
        "the shorter documents without the others' padding"
    )
    torch.testing.assert_close(found, work.gradient(expected), rtol=1e-4, atol=1e-6)
    assert heard.loss == pytest.approx(float(expected.detach()), rel=1e-5)


@pytest.mark.parametrize("combine", EVERY)
def test_an_objective_called_on_a_batch_is_that_of_a_step(combine: str, work: Work) -> None:
    batch = work.batch(WORDS, 0, 8)
    (expected,), _ = work.step([batch], combine)
    names = [name for name in work.tasks if name in batch.targets]
    logits = work.model(batch.input_ids, batch.attention_mask, None, batch.words, heads=names)
    objective = Objective(work.heads, tasks=work.tasks, combine=combine, head_weights=WEIGHTS)
    close(work.gradient(on_batch(objective, work.model, logits, batch.targets)[0]), expected)


def test_losses_are_means_over_steps(work: Work) -> None:
    batches = [work.batch(WORDS, 0, 8), work.batch(WORDS, 8, 12), work.batch(WORDS, 12, 18)]
    steps = [work.losses(work.batch(WORDS, 0, 12)), work.losses(work.batch(WORDS, 12, 18))]
    found, heard = work.step(batches, "mean", accumulation=2)
    assert len(found) == 2
    assert heard.loss == pytest.approx(np.mean([float(combined("mean", each).detach()) for each in steps]))
    for name, loss in heard.heads.items():
        assert loss == pytest.approx(np.mean([float(each[name].detach()) for each in steps]))
    assert heard.documents == 18


@pytest.mark.parametrize(
    ("combine", "batches", "passes"),
    [("loss_proportional", 1, 1), ("loss_proportional", 2, 4), ("weighted_mean", 2, 2), ("sum", 2, 2)],
)
def test_losses_are_computed_twice_only_where_shares_need_them_before(
    combine: str, batches: int, passes: int, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, real = [], HeadLosses.forward

    def forward(self: HeadLosses, batch: Batch, here: Sequence[int]) -> torch.Tensor:
        seen.append(len(batch.index))
        return real(self, batch, here)

    monkeypatch.setattr(HeadLosses, "forward", forward)
    work.step([work.batch(WORDS, 8 * n, 8 * n + 8) for n in range(batches)], combine)
    assert len(seen) == passes


def test_shares_are_those_of_the_losses_that_are_learned_from(one_corpus_per_kind: list[Corpus]) -> None:
    """Both times the same is dropped."""
    torch.manual_seed(0)
    work = Work(one_corpus_per_kind, dropout=0.5)
    _, heard = work.step([work.batch(WORDS, 0, 8), work.batch(WORDS, 8, 16)], "loss_proportional")
    losses = np.array(list(heard.heads.values()))
    assert heard.loss == pytest.approx(float((losses**2).sum() / losses.mean()), rel=1e-5)


def test_a_loss_that_is_not_finite_is_of_a_step_and_all_its_documents(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = [work.batch(WORDS, 4 * n, 4 * n + 4) for n in range(6)]
    wrong, real = batches[3].index.tolist(), HeadLosses.forward

    def forward(self: HeadLosses, batch: Batch, here: Sequence[int]) -> torch.Tensor:
        return real(self, batch, here) * (torch.nan if batch.index.tolist() == wrong else 1)

    monkeypatch.setattr(HeadLosses, "forward", forward)
    with pytest.raises(LossError) as raised:
        work.step(batches, "loss_proportional", accumulation=2)
    assert raised.value.step == 1
    assert raised.value.index.tolist() == [*batches[2].index, *batches[3].index]
