"""What heads of relations read: every feature learns, and nothing but the document's own mentions counts."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from objectives import on_batch
from one_head import WIDTH, WORDS, aim, losses_of, small_encoder, with_head

from mtlv.data.batches import Batch, PartDocuments
from mtlv.data.columns import dense
from mtlv.data.relations import INPUTS, show_all
from mtlv.data.tokens import CUT_OFF, tokenise
from mtlv.errors import PlanError
from mtlv.models.encoder import Encoder
from mtlv.models.multitask import MultiTaskModel
from mtlv.models.pooling import (
    RELATION_FEATURES,
    TokenPositions,
    largest_of_mention,
    mean_of_mention,
    start_of_mention,
)
from mtlv.models.vocabulary import with_tokens
from mtlv.plan import Task
from mtlv.plan.spans import Span
from mtlv.registries import ARCHITECTURES
from mtlv.training.predict import predict

TASK = Task("relation", "multiclass", "pairs", ("false", "true"))
DOCUMENTS = 24
EVERY = [(shown, read) for shown in sorted(INPUTS) for read in sorted(RELATION_FEATURES)]


def corpus() -> tuple[list[str], list[tuple[Span, ...]], np.ndarray]:
    """Two marked words in each text; the relation holds where `not` stands among the other words."""
    rng = np.random.default_rng(0)
    texts, rows, values = [], [], []
    for _ in range(DOCUMENTS):
        words = [str(word) for word in rng.choice(WORDS, 7)]
        starts = np.cumsum([0, *(len(word) + 1 for word in words)])
        others = [n for n, word in enumerate(words) if word != "not"]
        first, second = sorted(rng.choice(others, 2, replace=False).tolist())
        texts.append(" ".join(words))
        rows.append(
            tuple(
                Span(int(starts[n]), int(starts[n]) + len(words[n]), role)
                for n, role in ((second, "DRUG"), (first, "GENE"))
            )
        )
        values.append("not" in words)
    return texts, rows, np.array(values, np.int64)


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return small_encoder()


def documents(encoder: Encoder, shown: str, length: int = 40) -> tuple[Encoder, PartDocuments]:
    texts, rows, values = corpus()
    grown = with_tokens(encoder, INPUTS[shown].tokens(rows))
    texts, places = show_all(INPUTS[shown], texts, rows)
    pad = grown.tokenizer.pad_token_id
    tokens = tokenise(texts, grown.tokenizer, max_length=length, pad=pad, mentions=places)
    return grown, PartDocuments(tokens, dense({TASK.name: values}), np.arange(DOCUMENTS))


def model_of(encoder: Encoder, read: str, mentions: int = 2, layers: int = 1) -> MultiTaskModel:
    return with_head(encoder, TASK, layers, relations={TASK.name: RELATION_FEATURES[read](mentions)})


def logits(model: MultiTaskModel, batch: Batch) -> torch.Tensor:
    (found,) = model(
        batch.input_ids, batch.attention_mask, batch.segments, batch.words, batch.mentions
    ).values()
    return found


@pytest.mark.parametrize(("shown", "read"), EVERY)
def test_every_input_with_every_feature_is_learned(encoder: Encoder, shown: str, read: str) -> None:
    grown, held = documents(encoder, shown)
    model = model_of(grown, read)
    losses = losses_of(model, TASK, held, epochs=25, rate=5e-3)
    assert losses[-1] < 0.2 * losses[0]
    scores = predict(model, held, precision="fp32")[TASK.name]
    assert np.mean(scores.argmax(1) == corpus()[2]) > 0.9


@pytest.mark.parametrize(("shown", "read"), EVERY)
def test_pieces_padding_and_mates_change_nothing(encoder: Encoder, shown: str, read: str) -> None:
    grown, held = documents(encoder, shown)
    model = model_of(grown, read).eval()
    (batch,) = held.inference(DOCUMENTS)
    whole = logits(model, batch)
    parts = [logits(model, part) for part in batch.pieces(5)]
    torch.testing.assert_close(torch.cat(parts), whole, rtol=1e-4, atol=1e-5)
    alone = torch.cat(
        [logits(model, next(replace(held, index=batch.index[[n]]).inference(1))) for n in (0, 9)]
    )
    torch.testing.assert_close(alone, whole[[0, 9]], rtol=1e-4, atol=1e-5)
    pad = torch.nn.functional.pad
    longer = replace(
        batch, input_ids=pad(batch.input_ids, (0, 3)), attention_mask=pad(batch.attention_mask, (0, 3))
    )
    torch.testing.assert_close(logits(model, longer), whole, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("read", sorted(RELATION_FEATURES))
def test_gradients_of_pieces_add_up_and_reach_everything(encoder: Encoder, read: str) -> None:
    grown, held = documents(encoder, "markers")
    model = model_of(grown, read, layers=2).eval()
    batch = next(held.inference(7))

    def gradient(pieces: int) -> torch.Tensor:
        model.zero_grad()
        for piece in batch.pieces(pieces):
            loss, _ = on_batch(aim(model, TASK), model, {TASK.name: logits(model, piece)}, piece.targets)
            (loss * piece.count_items(False) / batch.count_items(False)).backward()
        assert [name for name, p in model.named_parameters() if p.grad is None] == []
        return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])

    torch.testing.assert_close(gradient(1), gradient(3), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize(("read", "differs"), [("cls", False), ("mention", True), ("start", True)])
def test_only_features_of_mentions_see_them_in_the_text_as_it_is(
    encoder: Encoder, read: str, differs: bool
) -> None:
    grown, held = documents(encoder, "original")
    model = model_of(grown, read).eval()
    batch = next(held.inference(4))
    assert batch.mentions is not None
    swapped = replace(batch, mentions=batch.mentions.flip(1))
    assert torch.allclose(logits(model, batch), logits(model, swapped), atol=1e-6) != differs


HIDDEN = torch.tensor([[[9.0, 0.0], [1.0, 6.0], [3.0, 2.0], [4.0, 5.0]], [[7.0, 8.0]] + [[100.0, 100.0]] * 3])
MENTIONS = torch.tensor([[[1, 3], [2, 4]], [[-1, -1], [-2, -2]]])


class Output:
    last_hidden_state = HIDDEN


def test_features_by_hand() -> None:
    assert largest_of_mention(HIDDEN[:1], MENTIONS[:1]).tolist() == [[[3.0, 6.0], [4.0, 5.0]]]
    assert start_of_mention(HIDDEN[:1], MENTIONS[:1]).tolist() == [[[1.0, 6.0], [3.0, 2.0]]]
    assert mean_of_mention(HIDDEN[:1], MENTIONS[:1]).tolist() == [[[2.0, 4.0], [3.5, 3.5]]]
    places = TokenPositions(torch.ones(2, 4, dtype=torch.bool), mentions=MENTIONS)
    # What is cut off, missing or a third mention: the document's first vector.
    found = {name: make(3)(Output, places).tolist() for name, make in RELATION_FEATURES.items()}
    assert found == {
        "cls": [[9.0, 0.0], [7.0, 8.0]],
        "mention": [[3.0, 6.0, 4.0, 5.0, 9.0, 0.0], [7.0, 8.0] * 3],
        "mention_mean": [[2.0, 4.0, 3.5, 3.5, 9.0, 0.0], [7.0, 8.0] * 3],
        "start": [[1.0, 6.0, 3.0, 2.0, 9.0, 0.0], [7.0, 8.0] * 3],
    }
    none = TokenPositions(places.mask, mentions=torch.empty(2, 0, 2, dtype=torch.long))
    assert RELATION_FEATURES["mention"](1)(Output, none).tolist() == [[9.0, 0.0], [7.0, 8.0]]


@pytest.mark.parametrize(("read", "width"), [("cls", 1), ("mention", 3), ("start", 3)])
def test_heads_are_as_wide_as_what_they_read(encoder: Encoder, read: str, width: int) -> None:
    model = model_of(encoder, read, mentions=3, layers=2)
    (head,) = model.heads.values()
    sizes = [(x.in_features, x.out_features) for x in head.modules() if isinstance(x, torch.nn.Linear)]
    assert sizes == [(width * WIDTH, WIDTH), (WIDTH, 2)]


def test_mentions_are_needed_and_no_more_than_the_head_reads(encoder: Encoder) -> None:
    grown, held = documents(encoder, "original")
    batch = next(held.inference(4))
    with pytest.raises(PlanError, match=r"need documents with marked entities; allowed: `cls`"):
        logits(model_of(grown, "start"), replace(batch, mentions=None))
    with pytest.raises(PlanError, match=r"more marked entities than its head supports \(got 2\)"):
        logits(model_of(grown, "mention", mentions=1), batch)
    assert logits(model_of(grown, "cls"), replace(batch, mentions=None)).shape == (4, 2)


def test_cut_off_mentions_are_learned_around(encoder: Encoder) -> None:
    grown, held = documents(encoder, "markers", length=5)
    assert held.tokens.mentions is not None
    assert CUT_OFF in held.tokens.mentions.flat
    model = model_of(grown, "mention")
    assert torch.isfinite(logits(model, next(held.inference(DOCUMENTS)))).all()


def two_tasks(encoder: Encoder, architecture: str, relations: dict[str, Any]) -> MultiTaskModel:
    tasks = {name: Task(name) for name in ("a", "b")}
    plan = ARCHITECTURES[architecture].build(list(tasks), (("a",), ("b",)), 1).check(list(tasks.values()))
    return MultiTaskModel(
        copy.deepcopy(encoder.module),
        plan.models[0].heads,
        tasks=tasks,
        features="mean",
        seed=0,
        dropout=0.0,
        relations=relations,
    )


def test_a_head_of_documents_beside_one_of_relations_is_as_it_was(encoder: Encoder) -> None:
    grown, held = documents(encoder, "original")
    batch = next(held.inference(4))
    given = batch.input_ids, batch.attention_mask
    alone = two_tasks(grown, "gmhl", {}).eval()(*given)
    read = {"b": RELATION_FEATURES["start"](2)}
    beside = two_tasks(grown, "gmhl", read).eval()
    assert torch.equal(beside(*given, heads=["a"])["a"], alone["a"])
    both = beside(*given, mentions=batch.mentions)
    assert torch.equal(both["a"], alone["a"])
    assert not torch.allclose(both["b"], alone["b"])


def test_tasks_of_one_head_read_the_same(encoder: Encoder) -> None:
    with pytest.raises(PlanError, match=r"tasks of one head have different features: a, b; give relations"):
        two_tasks(encoder, "mtl", {"b": RELATION_FEATURES["start"](2)})
    same = {name: RELATION_FEATURES["start"](2) for name in ("a", "b")}
    assert two_tasks(encoder, "mtl", same).heads
