"""Label-wise attention: weights by hand, padding and windows without effect, one query per output."""

from __future__ import annotations

import copy

import pytest
import torch
from transformers import BertConfig, BertModel

from mtlv.data.tokens import NO_WORD
from mtlv.models.heads import Head, HeadSize
from mtlv.models.kinds import kinds_with
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import HeadSpec, Task

TASKS = {
    "a": Task("a"),
    "b": Task("b"),
    "c": Task("c", kind="multiclass", classes=("x", "y", "z")),
    "d": Task("d", kind="regression"),
}
HEADS = [HeadSpec(("a", "b")), HeadSpec(("c",)), HeadSpec(("d",))]
MASK = torch.arange(5) < torch.tensor([[5], [2], [3]])
IDS = torch.arange(15).view(3, 5) * 7 % 40 + 5


@pytest.fixture(scope="module")
def bert() -> BertModel:
    torch.manual_seed(0)
    size = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    return BertModel(BertConfig(vocab_size=50, **size))


def build(
    bert: BertModel, heads: list[HeadSpec] = HEADS, *, queries: float = 0.1, **how: object
) -> MultiTaskModel:
    """Return a model whose queries are random if `queries` is not 0."""
    how = {"features": "attention", "seed": 0, "dropout": 0.0, **how}
    model = MultiTaskModel(copy.deepcopy(bert), heads, tasks=TASKS, **how).eval()
    generator = torch.Generator().manual_seed(2)
    for head in model.heads.values():
        if queries:
            torch.nn.init.normal_(head.queries.weight, std=queries, generator=generator)
    return model


def test_outputs_are_those_of_the_vectors_weighed_by_hand() -> None:
    head = Head(HeadSize(width=2, outputs=2, layers=1, dropout=0.0, attends=True))
    vectors = torch.tensor([[[1.0, 0.0], [0.0, 2.0], [50.0, 50.0]]])
    with torch.no_grad():
        head.queries.weight.copy_(torch.tensor([[0.0, 1.0], [3.0, 0.0]]))
        head.layers[-1].weight.copy_(torch.tensor([[1.0, -1.0], [2.0, 0.5]]))
        head.layers[-1].bias.copy_(torch.tensor([0.25, -0.5]))
    there = torch.tensor([[True, True, False]])
    weights = torch.stack([torch.tensor([0.0, 2.0]).softmax(0), torch.tensor([3.0, 0.0]).softmax(0)], 1)
    expected = [
        weights[0, 0] * 1.0 - weights[1, 0] * 2.0 + 0.25,
        weights[0, 1] * 2.0 + weights[1, 1] * 1.0 - 0.5,
    ]
    torch.testing.assert_close(head(vectors, there)[0], torch.stack(expected))
    torch.testing.assert_close(head.attention(vectors, there)[0, :2], weights)
    assert head.attention(vectors, there)[0, 2].tolist() == [0.0, 0.0]
    assert head.attention(vectors, torch.zeros(1, 3, dtype=torch.bool)).abs().sum() == 0


@pytest.mark.parametrize("layers", [1, 2])
def test_new_heads_have_the_outputs_of_the_mean(bert: BertModel, layers: int) -> None:
    heads = [HeadSpec(("a", "b"), layers=layers)]
    attention, mean = (build(bert, heads, features=name, queries=0) for name in ("attention", "mean"))
    (ours,), (theirs,) = (model(IDS, MASK).values() for model in (attention, mean))
    assert torch.allclose(ours, theirs, atol=1e-6) == (layers == 1)  # a hidden layer is not linear
    weights = attention(IDS, MASK, read=Head.attention)[heads[0].name]
    torch.testing.assert_close(weights, (MASK / MASK.sum(1, keepdim=True))[..., None].expand(-1, -1, 2))


def test_each_output_of_each_kind_has_its_query_and_all_are_trained(bert: BertModel) -> None:
    model = build(bert)
    logits = model(IDS, MASK)
    assert [tuple(logits[head.name].shape) for head in HEADS] == [(3, 2), (3, 3), (3, 1)]
    sum(values.square().sum() for values in logits.values()).backward()
    assert [name for name, weight in model.named_parameters() if weight.grad is None] == []
    kinds = kinds_with(tagging_scheme="bio", tagging_layer="linear", class_weights="balanced")
    weighted = build(bert, kinds=kinds)
    assert weighted.state_dict().keys() == model.state_dict().keys()


def test_padding_changes_nothing_without_or_with_it_in_the_encoder(bert: BertModel) -> None:
    model = build(bert)
    padded, rows = model(IDS, MASK), model.train()(IDS, MASK)  # in training without padding
    assert model.packs
    for document, length in enumerate(MASK.sum(1).tolist()):
        alone = model.eval()(IDS[document : document + 1, :length], MASK[document : document + 1, :length])
        for name, logits in alone.items():
            torch.testing.assert_close(padded[name][document], logits[0], atol=1e-5, rtol=1e-5)
            torch.testing.assert_close(rows[name][document], logits[0], atol=1e-5, rtol=1e-5)


def test_documents_of_words_are_weighed_by_tokens(bert: BertModel) -> None:
    words = torch.tensor([[1, 3], [1, NO_WORD], [NO_WORD, NO_WORD]])
    model = build(bert)
    for ours, theirs in zip(model(IDS, MASK, words=words).values(), model(IDS, MASK).values(), strict=True):
        assert torch.equal(ours, theirs)


def test_heads_with_their_own_layers_attend_to_their_own_vectors(bert: BertModel) -> None:
    heads = [HeadSpec(("a",), private=1), HeadSpec(("b",), private=1)]
    model, shared = build(bert, heads), build(bert, [HeadSpec(("a",)), HeadSpec(("b",))])
    with torch.no_grad():
        for weight in model.private.copies.parameters():
            weight.mul_(1.1)
        ours, theirs = model(IDS, MASK), shared(IDS, MASK)
    assert torch.allclose(ours[heads[0].name], theirs[heads[0].name], atol=1e-6)
    assert not torch.allclose(ours[heads[1].name], theirs[heads[1].name], atol=1e-3)


def test_weights_are_over_the_tokens_of_all_windows(bert: BertModel) -> None:
    """A document of one window, then one of two: weights and logits from the vectors of both together."""
    model = build(bert, HEADS[:1])
    windows = torch.tensor([[0, NO_WORD], [1, 2]])
    weights = model(IDS, MASK, windows=windows, read=Head.attention)[HEADS[0].name]
    assert weights.shape == (2, 10, 2)
    torch.testing.assert_close(weights.sum(1), torch.ones(2, 2))
    of_documents = torch.tensor([[1] * 5 + [0] * 5, [1, 1, 0, 0, 0, 1, 1, 1, 0, 0]]).bool()
    assert torch.equal(weights[..., 0] > 0, of_documents)
    hidden = model.encoder(input_ids=IDS, attention_mask=MASK).last_hidden_state
    (head,) = model.heads.values()
    both = torch.cat([hidden[1][MASK[1]], hidden[2][MASK[2]]])[None]
    logits = model(IDS, MASK, windows=windows)[HEADS[0].name]
    for document, vectors in enumerate((hidden[:1], both)):
        alone = head(vectors, torch.ones(vectors.shape[:2], dtype=torch.bool))
        torch.testing.assert_close(logits[document : document + 1], alone, atol=1e-5, rtol=1e-5)
