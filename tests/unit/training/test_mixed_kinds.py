"""Tasks of all kinds, of several sources, in one model and one loop."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from objectives import on_batch

from mtlv.data.batches import PartDocuments
from mtlv.data.joined import begins, join
from mtlv.data.mixing import IN_PROPORTION, ROUNDS, UNIFORM, Draw, Mixture, by_temperature
from mtlv.data.source import Corpus
from mtlv.data.targets import TARGETS
from mtlv.data.tokens import Tokens, join_tokens, tokenise
from mtlv.errors import DataError
from mtlv.models.encoder import load_encoder
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import HeadSpec, Task, with_separate_heads
from mtlv.plan.spans import Span
from mtlv.plan.tagging import BIO, Tags
from mtlv.registries import ARCHITECTURES
from mtlv.training.hooks import EpochLosses, Hook
from mtlv.training.loop import train
from mtlv.training.objective import Objective
from mtlv.training.optim import make_optimizer, schedule
from mtlv.training.predict import predict
from mtlv.training.state import TrainingState


@pytest.fixture(scope="module")
def corpora(one_corpus_per_kind: list[Corpus]) -> list[Corpus]:
    return one_corpus_per_kind


@pytest.fixture(scope="module")
def encoder(corpora: list[Corpus]) -> Any:
    return load_encoder("tiny", texts=[text for corpus in corpora for text in corpus.texts])


def tokens_of(corpus: Corpus, encoder: Any) -> Tokens:
    pad = encoder.tokenizer.pad_token_id
    given = corpus.words or corpus.texts
    return tokenise(given, encoder.tokenizer, max_length=24, pad=pad, seconds=corpus.seconds)


def mixture_of(corpora: list[Corpus], encoder: Any, draw: Draw) -> Mixture:
    whole, tokens = join(corpora), join_tokens([tokens_of(corpus, encoder) for corpus in corpora])
    parts = []
    for corpus, start in zip(corpora, begins(corpora), strict=False):
        columns = {t.name: TARGETS[t.kind].column(t, whole.targets[t.name], tokens) for t in corpus.tasks}
        parts.append(PartDocuments(tokens, columns, np.arange(start, start + len(corpus))))
    return Mixture(tuple(parts), (8,) * len(parts), draw)


def model_of(tasks: tuple[Task, ...], encoder: Any) -> tuple[MultiTaskModel, tuple[HeadSpec, ...]]:
    plan = with_separate_heads(ARCHITECTURES["mtl"].build([t.name for t in tasks], (), 1), tasks).check(tasks)
    (spec,) = plan.models
    module = copy.deepcopy(encoder.module)
    named = {task.name: task for task in tasks}
    return MultiTaskModel(module, spec.heads, tasks=named, features="mean", seed=0, dropout=0.0), spec.heads


class Losses(Hook):
    def __init__(self) -> None:
        self.heads: list[dict[str, float]] = []

    def on_epoch(self, losses: EpochLosses) -> None:
        self.heads.append(losses.heads)


def trained(corpora: list[Corpus], encoder: Any, draw: Draw, epochs: int) -> tuple[Any, Mixture, Losses]:
    torch.manual_seed(0)
    whole, mixture = join(corpora), mixture_of(corpora, encoder, draw)
    model, heads = model_of(whole.tasks, encoder)
    optimizer = make_optimizer(model, learning_rate=2e-3, weight_decay=0.0)
    named = {task.name: task for task in whole.tasks}
    losses = Losses()
    steps = epochs * sum(1 for _ in mixture.training(seed=0, epoch=0)) // mixture.per_step
    train(
        # At a constant rate the losses jump, and the processor's rounding decides when.
        TrainingState(model, optimizer, schedule(optimizer, "linear", steps=steps, warmup=0.0)),
        lambda epoch: mixture.training(seed=0, epoch=epoch),
        objective=Objective(heads, tasks=named, combine="sum", head_weights=None),
        epochs=epochs,
        accumulation=mixture.per_step,
        hooks=[losses],
    )
    return model, mixture, losses


def test_all_kinds_are_learned_together(corpora: list[Corpus], encoder: Any) -> None:
    model, mixture, losses = trained(corpora, encoder, IN_PROPORTION, 25)
    for head, first in losses.heads[0].items():
        assert losses.heads[-1][head] < 0.5 * first, head
    found: dict[str, Any] = {}
    for part in mixture.parts:
        found |= predict(model, part, precision="fp32")
    notes, pairs, sts, ner = corpora
    assert np.mean((found["has heart"] > 0.5) == notes.targets["has heart"]) > 0.9
    assert found["relation"].shape == (30, 3)
    assert np.allclose(found["relation"].sum(1), 1, atol=1e-5)
    assert np.mean(found["relation"].argmax(1) == pairs.targets["relation"]) > 0.9
    assert np.corrcoef(found["similarity"], sts.targets["similarity"])[0, 1] > 0.8
    tags = Tags(BIO, ("Organ",))
    spans = [tags.decode(row) for row in found["organs"]]
    assert np.mean([a == b for a, b in zip(spans, ner.targets["organs"], strict=True)]) > 0.9


@pytest.mark.parametrize("draw", [IN_PROPORTION, UNIFORM, by_temperature(2.0), ROUNDS])
def test_every_draw_trains_every_source(draw: Draw, corpora: list[Corpus], encoder: Any) -> None:
    model, _, losses = trained(corpora, encoder, draw, 8)
    fresh, heads = model_of(join(corpora).tasks, encoder)
    for head in heads:
        # By temperature an epoch may have no batch of a source.
        of_head = [epoch[head.name] for epoch in losses.heads if head.name in epoch]
        assert len(of_head) >= 4
        assert np.mean(of_head[-2:]) < np.mean(of_head[:2]), head.name
    for (name, now), before in zip(model.named_parameters(), fresh.parameters(), strict=True):
        assert not torch.equal(now, before), f"{name} learned nothing"


def test_a_batch_is_of_one_source_and_teaches_its_heads_only(corpora: list[Corpus], encoder: Any) -> None:
    mixture = mixture_of(corpora, encoder, IN_PROPORTION)
    starts = begins(corpora)
    model, heads = model_of(join(corpora).tasks, encoder)
    named = {task.name: task for task in join(corpora).tasks}
    objective = Objective(heads, tasks=named, combine="mean", head_weights=None)
    for batch in mixture.training(seed=1, epoch=0):
        sources = {np.searchsorted(starts, row, side="right") for row in batch.index.tolist()}
        assert len(sources) == 1
        here = [head.name for head in heads if head.tasks[0] in batch.targets]
        logits = model(batch.input_ids, batch.attention_mask, batch.segments, batch.words, heads=here)
        loss, record = on_batch(objective, model, logits, batch.targets)
        assert [not bool(torch.isnan(value)) for value in record] == [head.name in here for head in heads]
        assert torch.isclose(loss, record.nanmean())


def test_weights_of_tasks_count(corpora: list[Corpus], encoder: Any) -> None:
    tasks = join(corpora).tasks
    model, heads = model_of(tasks, encoder)
    mixture = mixture_of(corpora, encoder, IN_PROPORTION)
    batch = next(mixture.parts[1].inference(8))
    logits = model(batch.input_ids, batch.attention_mask, heads=["relation"])

    def loss(weight: float) -> float:
        named = {task.name: replace(task, weight=weight) for task in tasks}
        objective = Objective(heads, tasks=named, combine="sum", head_weights=None)
        return float(on_batch(objective, model, logits, batch.targets)[0].detach())

    assert loss(3.0) == pytest.approx(3 * loss(1.0))


def test_pieces_of_a_batch_add_up_whatever_its_kind(corpora: list[Corpus], encoder: Any) -> None:
    mixture = mixture_of(corpora, encoder, IN_PROPORTION)
    model, heads = model_of(join(corpora).tasks, encoder)
    model.eval()
    named = {task.name: task for task in join(corpora).tasks}
    objective = Objective(heads, tasks=named, combine="sum", head_weights=None)

    def gradient(pieces: int, part: PartDocuments) -> torch.Tensor:
        model.zero_grad()
        batch = next(part.inference(7))
        for piece in batch.pieces(pieces):
            here = [head.name for head in heads if head.tasks[0] in piece.targets]
            logits = model(piece.input_ids, piece.attention_mask, piece.segments, piece.words, heads=here)
            share = piece.count_items(piece.words is not None) / batch.count_items(batch.words is not None)
            (on_batch(objective, model, logits, piece.targets)[0] * share).backward()
        return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])

    for part in mixture.parts:
        assert torch.allclose(gradient(1, part), gradient(3, part), atol=1e-5)


def test_words_that_are_cut_off_are_not_learned_and_get_a_tag(corpora: list[Corpus], encoder: Any) -> None:
    ner = corpora[3]
    assert ner.words is not None
    tokens = tokenise(ner.words, encoder.tokenizer, max_length=5, pad=encoder.tokenizer.pad_token_id)
    column = TARGETS["tagging"].column(ner.tasks[0], ner.targets["organs"], tokens)
    documents = PartDocuments(tokens, {"organs": column}, np.arange(len(ner)))
    batch = next(documents.inference(len(ner)))
    assert batch.words is not None
    assert ((batch.targets["organs"] == -100) == (batch.words < 0)).all()
    assert (batch.words[:, :3] > 0).all()
    model, _ = model_of(ner.tasks, encoder)
    found = predict(model, documents, precision="fp32")["organs"]
    assert [len(row) for row in found] == [len(row) for row in ner.words]


def test_a_task_with_classes_has_a_head_of_its_own(corpora: list[Corpus]) -> None:
    tasks = join(corpora).tasks
    plan = with_separate_heads(ARCHITECTURES["mtl"].build([t.name for t in tasks], (), 1), tasks)
    assert [head.tasks for head in plan.heads] == [
        ("has heart", "has lung"),
        ("relation",),
        ("similarity",),
        ("organs",),
    ]
    assert with_separate_heads(plan, tasks) == plan


def test_tags_need_words(corpora: list[Corpus], encoder: Any) -> None:
    ner = corpora[3]
    tokens = tokenise(ner.texts, encoder.tokenizer, max_length=24, pad=encoder.tokenizer.pad_token_id)
    with pytest.raises(DataError, match="documents that are given as words"):
        TARGETS["tagging"].column(ner.tasks[0], ner.targets["organs"], tokens)


@pytest.mark.parametrize("kind", ["roberta", "distilbert"])
def test_pairs_are_taken_by_encoders_that_know_no_segments(kind: str, corpora: list[Corpus]) -> None:
    from transformers import AutoConfig, AutoModel

    sizes = {"hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 16}
    sizes |= {"dim": 16, "hidden_dim": 16, "n_heads": 2, "n_layers": 1} if kind == "distilbert" else {}
    module = AutoModel.from_config(AutoConfig.for_model(kind, vocab_size=50, **sizes))
    tasks = {task.name: task for task in corpora[2].tasks}
    model = MultiTaskModel(module, [HeadSpec(("similarity",))], tasks=tasks, features="mean", seed=0)
    ids = torch.randint(5, 50, (2, 6))
    mask, segments = torch.ones(2, 6, dtype=torch.bool), torch.tensor([[0, 0, 0, 1, 1, 1]] * 2)
    (logits,) = model(ids, mask, segments).values()
    assert logits.shape == (2, 1)


def test_joined_tokens_keep_mentions(corpora: list[Corpus], encoder: Any) -> None:
    marked = tokenise(
        corpora[1].texts,
        encoder.tokenizer,
        max_length=24,
        pad=encoder.tokenizer.pad_token_id,
        mentions=[(Span(0, text.index(" ")),) for text in corpora[1].texts],
    )
    whole = join_tokens([tokens_of(corpora[0], encoder), marked, tokens_of(corpora[3], encoder)])
    start = len(corpora[0])
    assert whole.pad_mentions(np.array([start, start + 1])).tolist() == [[[1, 2]], [[1, 2]]]  # type: ignore[union-attr]
    assert whole.pad_mentions(np.array([0])).shape == (1, 0, 2)  # type: ignore[union-attr]
    assert whole.words is not None


def test_words_that_were_not_read_are_in_no_span(corpora: list[Corpus], encoder: Any) -> None:
    corpus = next(each for each in corpora if each.words is not None)
    words = tuple(row * 12 for row in corpus.words)
    tokens = tokenise(words, encoder.tokenizer, max_length=12, pad=encoder.tokenizer.pad_token_id)
    model, _ = model_of(corpus.tasks, encoder)
    (head,) = model.heads.values()
    with torch.no_grad():
        head.layers[-1].bias += torch.tensor([0.0, 100.0, 0.0])  # every word begins a span
    found = predict(model, PartDocuments(tokens, {}, np.arange(len(words))), precision="fp32")["organs"]
    for row, tags in enumerate(found):
        first, last = tokens.words.offsets[row : row + 2]
        assert tags.tolist() == (tokens.words.flat[first:last] >= 0).astype(int).tolist()
        assert len(tags) == len(words[row]) > tags.sum() > 0
