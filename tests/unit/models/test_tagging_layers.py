"""Layers between words and tags: each learns, counts its own words only, and starts from its seed alone."""

from __future__ import annotations

import copy
import itertools
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from objectives import on_batch
from one_head import WORDS, aim, losses_of, small_encoder, with_head

from mtlv.data.batches import Batch, PartDocuments
from mtlv.data.targets import TARGETS, spans_column
from mtlv.data.tokens import tokenise
from mtlv.errors import PlanError
from mtlv.models.encoder import Encoder
from mtlv.models.heads import HeadSize
from mtlv.models.kinds import KINDS
from mtlv.models.kinds.tagging import Tagging
from mtlv.models.kinds.tagging_layers import IGNORED, LAYERS, TagHead
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import Task
from mtlv.plan.spans import Span
from mtlv.plan.tagging import BIO, BIOUL, Tags
from mtlv.training.predict import predict

pytest.importorskip("torchcrf", reason="pytorch-crf is not installed (extra `test`)")
TASK = Task("organs", "tagging", "ner", ("Organ",))
DOCUMENTS = 20
EVERY = sorted(LAYERS)


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return small_encoder()


def rows() -> tuple[list[list[str]], np.ndarray]:
    rng = np.random.default_rng(0)
    texts = [[str(word) for word in rng.choice(WORDS, rng.integers(3, 9))] for _ in range(DOCUMENTS)]
    texts[3][1] = "\x00"  # the tokenizer leaves nothing of it
    spans = [[Span(n, n + 1, "Organ") for n, word in enumerate(row) if word in WORDS[:3]] for row in texts]
    return texts, spans_column(spans)


def documents(encoder: Encoder, length: int = 24) -> PartDocuments:
    texts, spans = rows()
    tokens = tokenise(texts, encoder.tokenizer, max_length=length, pad=encoder.tokenizer.pad_token_id)
    column = TARGETS["tagging"].column(TASK, spans, tokens)
    return PartDocuments(tokens, {TASK.name: column}, np.arange(DOCUMENTS))


def model_of(encoder: Encoder, layer: str, head_layers: int = 1) -> MultiTaskModel:
    kinds = {**KINDS, "tagging": Tagging(BIO, LAYERS[layer])}
    return with_head(encoder, TASK, head_layers, kinds=kinds)


def raw(model: MultiTaskModel, batch: Batch) -> torch.Tensor:
    return model(batch.input_ids, batch.attention_mask, batch.segments, batch.words)[TASK.name]


def loss(model: MultiTaskModel, batch: Batch) -> torch.Tensor:
    return on_batch(aim(model, TASK), model, {TASK.name: raw(model, batch)}, batch.targets)[0]


def tags(model: MultiTaskModel, batch: Batch) -> torch.Tensor:
    (found,) = model.kinds[TASK.name].scores(raw(model, batch))
    return found


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("layer", EVERY)
def test_every_layer_learns(encoder: Encoder, layer: str, precision: str) -> None:
    held, model = documents(encoder), model_of(encoder, layer)
    losses = losses_of(model, TASK, held, epochs=20, rate=1e-2, precision=precision)
    assert losses[-1] < 0.2 * losses[0]
    found = predict(model, held, precision=precision)[TASK.name]
    texts, spans = rows()
    assert [len(row) for row in found] == [len(row) for row in texts]
    decoded = [Tags(BIO, TASK.classes).decode(row) for row in found]
    assert np.mean([a == b for a, b in zip(decoded, spans, strict=True)]) > 0.8


@pytest.mark.parametrize("layer", EVERY)
def test_pieces_add_up_and_every_weight_has_a_gradient(encoder: Encoder, layer: str) -> None:
    model = model_of(encoder, layer, head_layers=2).eval()
    (batch,) = documents(encoder, length=7).inference(DOCUMENTS)

    def gradient(pieces: int) -> torch.Tensor:
        model.zero_grad()
        for piece in batch.pieces(pieces):
            (loss(model, piece) * piece.count_items(True) / batch.count_items(True)).backward()
        assert [name for name, p in model.named_parameters() if p.grad is None] == []
        return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])

    torch.testing.assert_close(gradient(1), gradient(4), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("layer", EVERY)
def test_padding_and_mates_change_nothing(encoder: Encoder, layer: str) -> None:
    held, model = documents(encoder, length=7), model_of(encoder, layer).eval()
    (batch,) = held.inference(DOCUMENTS)
    assert batch.words is not None
    whole, best = raw(model, batch), tags(model, batch)
    pad = torch.nn.functional.pad
    longer = replace(
        batch,
        input_ids=pad(batch.input_ids, (0, 3)),
        attention_mask=pad(batch.attention_mask, (0, 3)),
        words=pad(batch.words, (0, 2), value=-2),
        targets={TASK.name: pad(batch.targets[TASK.name], (0, 2), value=IGNORED)},
    )
    width = batch.words.shape[1]
    torch.testing.assert_close(raw(model, longer)[:, :width], whole, rtol=1e-4, atol=1e-5)
    assert torch.equal(tags(model, longer)[:, :width], best)
    torch.testing.assert_close(loss(model, longer), loss(model, batch))
    for number in (0, 7, DOCUMENTS - 1):
        alone = next(replace(held, index=batch.index[[number]]).inference(1))
        assert alone.words is not None
        count = alone.words.shape[1]
        torch.testing.assert_close(raw(model, alone)[0], whole[number, :count], rtol=1e-4, atol=1e-5)
        assert torch.equal(tags(model, alone)[0], best[number, :count])


@pytest.mark.parametrize("layer", EVERY)
def test_what_is_ignored_is_not_learned(encoder: Encoder, layer: str) -> None:
    model = model_of(encoder, layer).eval()
    (batch,) = documents(encoder, length=7).inference(DOCUMENTS)
    assert batch.words is not None
    assert bool((batch.words == -1).any())
    wanted = batch.targets[TASK.name]
    assert torch.equal(wanted == IGNORED, batch.words < 0)
    nothing = replace(batch, targets={TASK.name: torch.full_like(wanted, IGNORED)})
    found = loss(model, nothing)
    assert found.item() == 0
    found.backward()  # and there is something to go back through
    values = raw(model, batch)
    kind = model.kinds[TASK.name]
    before = kind.losses(values, [wanted])
    tampered = torch.where((wanted == IGNORED).unsqueeze(-1), torch.randn_like(values), values)
    torch.testing.assert_close(kind.losses(tampered, [wanted]), before)


@pytest.mark.parametrize("layer", EVERY)
def test_weights_are_drawn_from_the_seed_alone(layer: str) -> None:
    states = []
    for other in (1, 2):
        torch.manual_seed(other)
        head = LAYERS[layer](HeadSize(8, 3, layers=2, dropout=0.1))
        head.reset(torch.Generator().manual_seed(5))
        states.append(copy.deepcopy(head.state_dict()))
    torch.testing.assert_close(*states, rtol=0, atol=0)
    head.reset(torch.Generator().manual_seed(6))
    same = [name for name, value in head.state_dict().items() if torch.equal(value, states[0][name])]
    assert all("layers" in name and "bias" in name for name in same)  # these are 0


@pytest.mark.parametrize("layer", EVERY)
def test_a_copy_scores_by_its_own_weights(encoder: Encoder, layer: str) -> None:
    model = model_of(encoder, layer).eval()
    twin = copy.deepcopy(model)
    kind = twin.kinds[TASK.name]
    assert isinstance(kind, Tagging)
    assert kind.learned is next(iter(twin.heads.values()))
    assert set(dict(twin.named_parameters())) == set(twin.state_dict()) == set(model.state_dict())


def field(tags_: int) -> TagHead:
    head = LAYERS["crf"](HeadSize(4, tags_, layers=1, dropout=0.0))
    head.reset(torch.Generator().manual_seed(0))
    for weights in head.field.requires_grad_(False).parameters():
        weights.mul_(20)  # so that neighbours matter
    return head.eval()


def sequences(head: TagHead, scores: torch.Tensor) -> dict[tuple[int, ...], float]:
    """The score of every sequence of tags of one document [W, C], by hand."""
    crf, count = head.field, scores.shape[1]
    found = {}
    for tags_ in itertools.product(range(count), repeat=len(scores)):
        ends = crf.start_transitions[tags_[0]] + crf.end_transitions[tags_[-1]]
        inside = sum(crf.transitions[a, b] for a, b in itertools.pairwise(tags_))
        found[tags_] = float(ends + inside + sum(row[tag] for row, tag in zip(scores, tags_, strict=True)))
    return found


def test_the_field_agrees_with_a_sum_over_all_sequences() -> None:
    torch.manual_seed(3)
    head = field(3)
    there = torch.tensor([[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 1, 1]], dtype=torch.bool)
    given = head(torch.randn(4, 4, 4), there).detach()
    wanted = torch.randint(0, 3, (4, 4)).masked_fill(~there, IGNORED)
    total, count = 0.0, 0
    for row in (0, 1, 3):
        kept = there[row]
        scores = sequences(head, given[row, kept, :3])
        total -= scores[tuple(wanted[row, kept].tolist())] - float(
            torch.tensor(list(scores.values()), dtype=torch.double).logsumexp(0)
        )
        count += int(kept.sum())
        best = max(scores, key=lambda tags_: scores[tags_])
        assert head.tags(given)[row, kept].tolist() == list(best)
    assert head.loss(given, wanted).item() == pytest.approx(total / count, rel=1e-5)
    assert not head.tags(given)[~there].any()


def test_a_field_learns_which_tags_are_neighbours() -> None:
    """Where the words say nothing, the best tag of each alone cannot be right."""
    wanted = torch.tensor([[1, 2, 0, 1, 2, 0]])
    vectors, right = torch.ones(1, 6, 4), {}
    for layer in ("linear", "crf"):
        head = LAYERS[layer](HeadSize(4, 3, layers=1, dropout=0.0))
        head.reset(torch.Generator().manual_seed(0))
        optimizer = torch.optim.Adam(head.parameters(), lr=0.1)
        for _ in range(60):
            optimizer.zero_grad()
            head.loss(head(vectors), wanted).backward()
            optimizer.step()
        right[layer] = int((head.tags(head(vectors)) == wanted).sum())
    assert right == {"linear": 2, "crf": 6}


def test_a_recurrent_layer_reads_both_neighbours_and_skips_what_is_cut_off() -> None:
    head = LAYERS["bilstm"](HeadSize(4, 3, layers=1, dropout=0.0)).eval()
    there = torch.tensor([[True, True, False, True]])
    vectors = torch.randn(1, 4, 4, generator=torch.Generator().manual_seed(0)).requires_grad_()
    head(vectors, there)[0, 1].sum().backward()
    assert vectors.grad is not None
    assert vectors.grad.abs().sum(-1).gt(0).tolist() == [[True, True, False, True]]
    assert torch.equal(head(vectors, there)[0, 2], head.layers[-1].bias)
    torch.testing.assert_close(head(vectors, there)[there], head(vectors[:, there[0]])[0])
    none = torch.zeros(1, 4, dtype=torch.bool)
    assert torch.equal(head(vectors, none)[0], head.layers[-1].bias.expand(4, 3))


def test_a_layer_takes_any_scheme(encoder: Encoder) -> None:
    assert Tagging(BIOUL, LAYERS["crf"]).outputs([TASK]) == 5
    assert Tagging().layer is LAYERS["linear"]


def test_the_field_needs_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torchcrf", None)
    with pytest.raises(PlanError, match=r"crf` needs the package pytorch-crf; install it: pip install"):
        LAYERS["crf"](HeadSize(4, 3, layers=1, dropout=0.0))
