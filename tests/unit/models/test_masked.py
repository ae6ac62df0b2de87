"""Masked language modelling: the head, its loss and its sums, by hand."""

from __future__ import annotations

import copy
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from transformers import BertConfig, BertModel

from mtlv.data.batches import PartDocuments
from mtlv.data.columns import DenseColumn
from mtlv.data.masking import Masking, Pieces
from mtlv.data.tokens import tokenise
from mtlv.evaluation.kinds import masked
from mtlv.models.encoder import load_encoder
from mtlv.models.heads import HeadSize
from mtlv.models.kinds import KINDS
from mtlv.models.kinds.masked import MaskedHead
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import HeadSpec, Task
from mtlv.training.loop import train
from mtlv.training.objective import Objective
from mtlv.training.optim import make_optimizer, schedule
from mtlv.training.predict import predict
from mtlv.training.state import TrainingState

KIND = KINDS["mlm"]
WIDTH = 32


def model_of(vocabulary: int, seed: int = 0) -> MultiTaskModel:
    torch.manual_seed(seed)
    encoder = BertModel(
        BertConfig(
            vocab_size=vocabulary,
            hidden_size=WIDTH,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=64,
        )
    )
    tasks = {"text": Task("text", "mlm")}
    return MultiTaskModel(encoder, [HeadSpec(("text",))], tasks=tasks, features="mean", seed=0)


def batch(vocabulary: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Ids [8, 20], places [8, 3] with padding, and targets."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(0, vocabulary, (8, 20), generator=generator)
    places = torch.tensor([[1, 5, 7]] * 8)
    places[1, 2] = places[2, 1] = places[2, 2] = -2
    pieces = ids.gather(1, places.clamp(min=0))
    targets = torch.stack([pieces, places, torch.full_like(places, 4)], -1)
    targets[places < 0] = -100
    return ids, places, targets


@pytest.mark.parametrize("vocabulary", [2000, 30522])
def test_a_random_model_knows_nothing(vocabulary: int) -> None:
    """The loss at random initialisation is ln V."""
    model = model_of(vocabulary).eval()
    ids, places, targets = batch(vocabulary)
    logits = model(ids, torch.ones_like(ids, dtype=torch.bool), words=places)["text"]
    assert logits.shape == (21, vocabulary), "padding is not decoded"
    assert KIND.losses(logits, [targets]).item() == pytest.approx(np.log(vocabulary), rel=0.02)


def test_the_head_is_berts_and_decodes_with_the_embeddings() -> None:
    from transformers import BertForMaskedLM

    model = model_of(200).eval()
    theirs = BertForMaskedLM(model.encoder.config).eval()
    theirs.bert.load_state_dict(model.encoder.state_dict(), strict=False)
    (head,) = model.heads.values()
    with torch.no_grad():
        head.bias.normal_()
        theirs.cls.predictions.bias.copy_(head.bias)
        transform = theirs.cls.predictions.transform
        transform.dense.load_state_dict(head.layers[-1].state_dict())
        transform.LayerNorm.load_state_dict(head.norm.state_dict())
    theirs.cls.predictions.decoder.bias = theirs.cls.predictions.bias
    ids, places, _ = batch(200)
    mask = torch.ones_like(ids, dtype=torch.bool)
    known = places >= 0
    expected = theirs(input_ids=ids, attention_mask=mask).logits
    expected = expected[torch.arange(8)[:, None].expand_as(places)[known], places[known]]
    torch.testing.assert_close(model(ids, mask, words=places)["text"], expected, rtol=1e-5, atol=1e-5)


def test_the_norm_is_berts_where_the_encoder_names_none() -> None:
    """DistilBERT's config has no `layer_norm_eps`."""
    head = MaskedHead(HeadSize(WIDTH, 1, 1, 0.0))
    head.use_encoder(SimpleNamespace(get_input_embeddings=lambda: nn.Embedding(50, WIDTH), config=object()))
    assert head.norm.eps == 1e-12


def test_embeddings_may_be_narrower_than_layers() -> None:
    """As in ELECTRA, whose generator has this head."""
    from transformers import ElectraConfig, ElectraForMaskedLM

    small = {"hidden_size": WIDTH, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    theirs = ElectraForMaskedLM(ElectraConfig(vocab_size=50, embedding_size=12, **small)).eval()
    tasks = {"text": Task("text", "mlm")}
    model = MultiTaskModel(theirs.electra, [HeadSpec(("text",))], tasks=tasks, features="mean", seed=0).eval()
    (head,) = model.heads.values()
    assert head.layers[-1].weight.std().item() == pytest.approx(0.02, rel=0.2), "drawn"
    theirs.generator_predictions.dense.load_state_dict(head.layers[-1].state_dict())
    theirs.generator_predictions.LayerNorm.load_state_dict(head.norm.state_dict())
    ids, places, _ = batch(50)
    mask, known = torch.ones_like(ids, dtype=torch.bool), places >= 0
    expected = theirs(input_ids=ids, attention_mask=mask).logits
    expected = expected[torch.arange(8)[:, None].expand_as(places)[known], places[known]]
    torch.testing.assert_close(model(ids, mask, words=places)["text"], expected, rtol=1e-5, atol=1e-5)


def test_only_hidden_places_have_a_gradient() -> None:
    model = model_of(50).eval()
    ids, places, targets = batch(50)
    mask = torch.ones_like(ids, dtype=torch.bool)
    model.__dict__["_packable"] = False  # which would leave out the other places
    seen: list[torch.Tensor] = []
    model.encoder.encoder.register_forward_hook(lambda *given: seen.append(given[-1].last_hidden_state))
    loss = KIND.losses(model(ids, mask, words=places)["text"], [targets])
    (found,) = torch.autograd.grad(loss.sum(), seen)
    hidden = torch.zeros(ids.shape, dtype=torch.bool)
    for row, own in enumerate(places):
        hidden[row, own[own >= 0]] = True
    assert (found.reshape(*ids.shape, -1).abs().sum(-1) > 0).equal(hidden)


def test_a_copy_of_a_model_decodes_with_its_own_embeddings() -> None:
    model = model_of(50).eval()
    other = copy.deepcopy(model)
    ids, places, _ = batch(50)
    mask = torch.ones_like(ids, dtype=torch.bool)
    before = model(ids, mask, words=places)["text"]
    with torch.no_grad():
        other.encoder.get_input_embeddings().weight.mul_(2)
    assert torch.equal(model(ids, mask, words=places)["text"], before)
    assert not any("embeddings" in name for name in model.heads.state_dict())
    loss = KIND.losses(other(ids, mask, words=places)["text"], [batch(50)[2]])
    loss.sum().backward()
    unused = set(range(50)) - set(ids.flatten().tolist())
    assert other.encoder.get_input_embeddings().weight.grad[list(unused)].abs().sum() > 0, "from the decoder"


def test_the_loss_and_the_sums_by_hand() -> None:
    targets = torch.full((3, 3, 3), -100)
    targets[0] = torch.tensor([[2, 0, 5], [3, 0, 1], [1, 4, 2]])  # a word of two pieces, and one of one
    targets[2, :1] = torch.tensor([[0, 7, 3]])
    logits = torch.zeros(4, 5)
    logits[0, 2] = logits[1, 1] = logits[2, 1] = logits[3, 0] = 10.0  # the second piece is wrong
    right, wrong = -np.log(np.exp(10) / (np.exp(10) + 4)), -np.log(1 / (np.exp(10) + 4))
    assert KIND.losses(logits, [targets]).tolist() == pytest.approx([(3 * right + wrong) / 4], rel=1e-5)
    (sums,) = KIND.scores(logits, [targets])
    expected = [[2 * right + wrong, 3, 2, 2, 1, 8], [0] * 6, [right, 1, 1, 1, 1, 3]]
    np.testing.assert_allclose(sums.numpy(), expected, rtol=1e-5, atol=1e-6)
    metrics = {name: each.value for name, each in masked.sums(sums.numpy()).items()}
    nats = 3 * right + wrong
    assert metrics == pytest.approx(
        {
            "masked_loss": nats / 4,
            "perplexity": np.exp(nats / 4),
            "piece_accuracy": 3 / 4,
            "word_accuracy": 2 / 3,
            "bits_per_character": nats / np.log(2) / 11,
        },
        rel=1e-5,
    )


def test_a_batch_that_hides_nothing_has_no_loss() -> None:
    logits, targets = torch.zeros(0, 5, requires_grad=True), torch.full((2, 1, 3), -100)
    loss = KIND.losses(logits, [targets])
    assert loss.tolist() == [0.0]
    loss.sum().backward()
    assert KIND.scores(logits, [targets])[0].tolist() == [[0.0] * 6] * 2


SENTENCES = (
    "the heart is enlarged and the lungs are clear",
    "no acute disease of the chest was found today",
    "an old fracture of the left sixth rib is seen",
    "a small effusion remains in the right pleural space",
    "sternal wires are intact after bypass surgery",
    "the catheter ends in the superior vena cava",
    "calcified granuloma in the upper lobe is unchanged",
    "degenerative changes of the thoracic spine are mild",
)


@pytest.fixture(scope="module", autouse=True)
def narrow_tiny() -> None:
    """The real one is wide enough to learn by heart."""


def test_eight_sentences_are_learned_by_heart() -> None:
    encoder = load_encoder("tiny", texts=SENTENCES)
    tokens = tokenise(SENTENCES, encoder.tokenizer, max_length=32, pad=encoder.tokenizer.pad_token_id)
    masking = Masking(Pieces.of(encoder.tokenizer, len(encoder.module.get_input_embeddings().weight)))
    part = PartDocuments(tokens, {"text": DenseColumn(np.zeros(8))}, np.arange(8), masking=masking)
    heads, tasks = [HeadSpec(("text",))], {"text": Task("text", "mlm")}
    model = MultiTaskModel(encoder.module, heads, tasks=tasks, features="mean", seed=0, dropout=0.0)
    optimizer = make_optimizer(model, learning_rate=2e-3, weight_decay=0.01)
    trained = TrainingState(model, optimizer, schedule(optimizer, "linear", steps=300, warmup=0.1))
    objective = Objective(heads, tasks=tasks, combine="sum", head_weights=None)
    train(trained, lambda epoch: part.training(8, seed=0, epoch=epoch), objective=objective, epochs=300)
    sums = predict(model, part, precision="fp32")["text"].sum(0)
    assert sums[masked.FOUND] / sums[masked.PIECES] > 0.9
