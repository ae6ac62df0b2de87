"""Heads and models: nothing is left out of the state, the optimizer or the gradient."""

from __future__ import annotations

import copy

import pytest
import torch
from objectives import on_batch
from transformers import BertConfig, BertModel, DistilBertConfig, DistilBertModel

from mtlv.errors import EncoderError
from mtlv.models.heads import Head, HeadSize
from mtlv.models.multitask import MultiTaskModel
from mtlv.models.pooling import cls_vector, last_vector, mean_vector, prepare_pooler
from mtlv.plan import HeadSpec, Task
from mtlv.registries import ARCHITECTURES, OBJECTIVES
from mtlv.training.objective import Objective
from mtlv.training.optim import make_optimizer

TASKS = {name: Task(name) for name in ("a", "b", "c.d", "e", "f")}
GROUPS = (("a", "e"), ("b",), ("c.d", "f"))


@pytest.fixture(scope="module")
def bert() -> BertModel:
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
    )
    return BertModel(config)


def build(bert: BertModel, architecture: str, *, layers: int, features: str = "mean", seed: int = 3) -> list:
    plan = ARCHITECTURES[architecture].build(list(TASKS), GROUPS, layers).check(list(TASKS.values()))
    return [
        MultiTaskModel(
            copy.deepcopy(bert), model.heads, tasks=TASKS, features=features, seed=seed, dropout=0.0
        )
        for model in plan.models
    ]


HEADS = [HeadSpec((name,), layers=2) for name in TASKS]


def batch() -> tuple[torch.Tensor, torch.Tensor, dict[str, torch.Tensor]]:
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(5, 50, (6, 9), generator=generator)
    mask = torch.arange(9)[None] < torch.tensor([9, 7, 5, 9, 3, 8])[:, None]
    targets = {name: torch.randint(0, 2, (6,), generator=generator) for name in TASKS}
    return ids, mask, targets


def objective(
    model: MultiTaskModel, combine: str = "sum", weights: object = None, tasks: dict = TASKS
) -> Objective:
    return Objective(list(model.specs.values()), tasks=tasks, combine=combine, head_weights=weights)


def backward(model: MultiTaskModel, aim: Objective) -> torch.Tensor:
    ids, mask, targets = batch()
    loss, _ = on_batch(aim, model, model(ids, mask), targets)
    loss.backward()
    return loss.detach()


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("architecture", sorted(ARCHITECTURES))
def test_every_parameter_of_every_head_moves_in_one_step(
    bert: BertModel, architecture: str, layers: int
) -> None:
    for model in build(bert, architecture, layers=layers):
        before = {name: p.detach().clone() for name, p in model.named_parameters()}
        assert all(f"heads.{name}." in " ".join(before) for name in model.heads)
        optimizer = make_optimizer(model, learning_rate=1e-2, weight_decay=0.0)
        backward(model, objective(model))
        optimizer.step()
        still = [
            n for n, p in model.named_parameters() if n.startswith("heads.") and torch.equal(p, before[n])
        ]
        assert still == []
        assert set(before) <= set(model.state_dict())


@pytest.mark.parametrize("features", ["mean", "cls", "pooler", "last"])
def test_no_parameter_of_the_model_is_without_a_gradient(bert: BertModel, features: str) -> None:
    (model,) = build(bert, "gmhl", layers=2, features=features)
    backward(model, objective(model))
    assert [name for name, p in model.named_parameters() if p.grad is None] == []


def linear_pair(bert: BertModel) -> tuple[MultiTaskModel, MultiTaskModel]:
    """GMHL with linear heads, and MTL with the same weights row by row."""
    (gmhl,), (mtl,) = build(bert, "gmhl", layers=1), build(bert, "mtl", layers=1)
    (whole,) = (head.layers[-1] for head in mtl.heads.values())
    with torch.no_grad():
        for spec, head in zip(gmhl.specs.values(), gmhl.heads.values(), strict=True):
            rows = [list(TASKS).index(task) for task in spec.tasks]
            head.layers[-1].weight.copy_(whole.weight[rows])
            head.layers[-1].bias.copy_(whole.bias[rows])
    return gmhl, mtl


def encoder_gradients(model: MultiTaskModel) -> torch.Tensor:
    return torch.cat([p.grad.flatten() for p in model.encoder.parameters()])


def test_linear_gmhl_with_summed_losses_has_the_gradients_of_reweighted_mtl(bert: BertModel) -> None:
    gmhl, mtl = linear_pair(bert)
    size = {task: len(group) for group in GROUPS for task in group}
    reweighted = {name: Task(name, weight=len(TASKS) / size[name]) for name in TASKS}
    ours, theirs = backward(gmhl, objective(gmhl)), backward(mtl, objective(mtl, tasks=reweighted))
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(encoder_gradients(gmhl), encoder_gradients(mtl), rtol=1e-4, atol=1e-7)


def test_linear_gmhl_weighted_by_size_is_mtl(bert: BertModel) -> None:
    gmhl, mtl = linear_pair(bert)
    ours = backward(gmhl, objective(gmhl, "weighted_sum", "size"))
    theirs = backward(mtl, objective(mtl))
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(encoder_gradients(gmhl), encoder_gradients(mtl), rtol=1e-4, atol=1e-7)


def test_a_hidden_layer_makes_gmhl_another_function(bert: BertModel) -> None:
    (gmhl,) = build(bert, "gmhl", layers=ARCHITECTURES["gmhl"].head_layers)
    assert all(
        len([x for x in head.layers if isinstance(x, torch.nn.Linear)]) == 2 for head in gmhl.heads.values()
    )


def test_a_head_starts_from_the_same_weights_whatever_stands_beside_it(bert: BertModel) -> None:
    groups = build(bert, "gmtl", layers=2)
    (together,) = build(bert, "gmhl", layers=2)
    for model in groups:
        for name, head in model.heads.items():
            torch.testing.assert_close(head.state_dict(), together.heads[name].state_dict(), rtol=0, atol=0)


def test_each_head_and_each_seed_has_first_weights_of_its_own(bert: BertModel) -> None:
    models = [
        MultiTaskModel(copy.deepcopy(bert), HEADS, tasks=TASKS, features="mean", seed=seed) for seed in (3, 4)
    ]
    drawn = [head.layers[-1].weight for model in models for head in model.heads.values()]
    assert len({str(weight.tolist()) for weight in drawn}) == len(drawn) == 2 * len(TASKS)


def test_dropout_is_that_of_every_layer_of_heads_and_encoder(bert: BertModel) -> None:
    def rates(given: float | None) -> list[float]:
        model = MultiTaskModel(
            copy.deepcopy(bert), HEADS, tasks=TASKS, features="mean", seed=0, dropout=given
        )
        assert all(len(head.layers) == 5 for head in model.heads.values())
        return [part.p for part in model.modules() if isinstance(part, torch.nn.Dropout)]

    assert set(rates(0.25)) == {0.25}
    assert set(rates(0.0)) == {0.0}
    assert set(rates(None)) == {0.1}, "BERT's own"


def test_dropout_is_that_of_heads_whatever_an_encoder_calls_its_own() -> None:
    encoder = DistilBertModel(DistilBertConfig(vocab_size=50, dim=16, n_layers=1, n_heads=2, hidden_dim=16))
    model = MultiTaskModel(encoder, HEADS, tasks=TASKS, features="mean", seed=0, dropout=0.25)
    assert {part.p for part in model.heads.modules() if isinstance(part, torch.nn.Dropout)} == {0.25}


def test_a_hidden_layer_by_hand() -> None:
    head = Head(HeadSize(3, 2, layers=2, dropout=0.5)).eval()
    vectors = torch.tensor([[1.0, -2.0, 0.5], [0.0, 1.0, 3.0]])
    first, last = (layer for layer in head.layers if isinstance(layer, torch.nn.Linear))
    inside = vectors @ first.weight.T + first.bias
    raised = inside * (1 + torch.erf(inside / 2**0.5)) / 2  # GELU
    torch.testing.assert_close(head(vectors), raised @ last.weight.T + last.bias)


def test_heads_that_are_asked_for_answer(bert: BertModel) -> None:
    ids, mask, _ = batch()
    (model,) = build(bert, "gmhl", layers=1)
    first, *_, last = model.specs
    assert list(model(ids, mask)) == list(model.specs)
    assert list(model(ids, mask, heads=[last])) == [last]
    torch.testing.assert_close(model(ids, mask, heads={first})[first], model(ids, mask)[first])


def test_second_texts_are_read_as_such(bert: BertModel) -> None:
    ids, mask, _ = batch()
    (model,) = build(bert, "mtl", layers=1)
    segments = (torch.arange(9)[None] > 1).long().expand(6, 9)
    ((plain,), (pair,)) = (model(ids, mask, given).values() for given in (None, segments))
    assert not torch.isclose(plain, pair, rtol=1e-3).all(1).any()


def test_outputs_have_one_column_per_task(bert: BertModel) -> None:
    ids, mask, _ = batch()
    (model,) = build(bert, "gmhl", layers=2)
    out = model(ids, mask)
    assert {name: tuple(x.shape) for name, x in out.items()} == {
        name: (6, len(spec.tasks)) for name, spec in model.specs.items()
    }


@pytest.mark.parametrize("packs", [True, False])
def test_padding_changes_nothing(bert: BertModel, packs: bool) -> None:
    ids, mask, _ = batch()
    (model,) = build(bert, "mtl", layers=1)
    model.eval()
    model._packable = packs  # if not, the encoder gets the mask
    longer = torch.nn.functional.pad(ids, (0, 4)), torch.nn.functional.pad(mask, (0, 4))
    for ours, theirs in zip(model(ids, mask).values(), model(*longer).values(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_features_by_hand() -> None:
    class Output:
        last_hidden_state = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [100.0, 100.0]]])

    mask = torch.tensor([[True, True, False]])
    assert mean_vector(Output, mask).tolist() == [[2.0, 3.0]]
    assert cls_vector(Output, mask).tolist() == [[1.0, 2.0]]
    assert last_vector(Output, mask).tolist() == [[3.0, 4.0]]


def test_the_last_token_is_found_whichever_side_is_padded() -> None:
    class Output:
        last_hidden_state = torch.arange(24.0).view(4, 3, 2)

    mask = torch.tensor([[1, 1, 0], [0, 1, 1], [1, 1, 1], [1, 0, 0]], dtype=torch.bool)
    for given in (mask, mask.long()):
        found = last_vector(Output, given)
        assert found.tolist() == [
            Output.last_hidden_state[n, at].tolist() for n, at in enumerate((1, 2, 2, 0))
        ]


def test_a_missing_pooler_is_refused(bert: BertModel) -> None:
    bare = copy.deepcopy(bert)
    prepare_pooler(bare, "mean")
    assert bare.pooler is None
    with pytest.raises(EncoderError, match=r"no pooler.*allowed: cls, mean, last"):
        prepare_pooler(bare, "pooler")


def test_head_weights_are_drawn_as_bert_draws_its_last_layer_and_glorot_the_hidden_ones() -> None:
    head = Head(HeadSize(400, 300, layers=2, dropout=0.0))
    head.reset(torch.Generator().manual_seed(0))
    hidden, last = (layer for layer in head.layers if isinstance(layer, torch.nn.Linear))
    assert last.weight.std().item() == pytest.approx(0.02, rel=0.02)
    assert hidden.weight.std().item() == pytest.approx((2 / 800) ** 0.5, rel=0.02)
    assert not hidden.bias.any()
    assert not last.bias.any()


LOSSES = torch.tensor([0.1, 1.0, 0.4])
WEIGHTS = torch.tensor([2.0, 1.0, 0.5])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sum", 1.5),
        ("mean", 0.5),
        ("weighted_sum", 0.2 + 1.0 + 0.2),
        ("weighted_mean", 1.4 / 3.5),
        ("loss_proportional", 0.1 * 0.2 + 1.0 * 2.0 + 0.4 * 0.8),
    ],
)
def test_combiners_by_hand(name: str, expected: float) -> None:
    factors = OBJECTIVES[name].factors(LOSSES, WEIGHTS)
    assert (factors * LOSSES).sum().item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", sorted(OBJECTIVES))
def test_no_combiner_pushes_a_loss_up(name: str) -> None:
    """The gradient of each head's loss is its factor."""
    assert (OBJECTIVES[name].factors(LOSSES, WEIGHTS) > 0).all()


@pytest.mark.parametrize("name", sorted(OBJECTIVES))
def test_a_combiner_reads_the_losses_where_it_says_so(name: str) -> None:
    """Where it does not, factors are known before any loss is."""
    same = torch.equal(
        OBJECTIVES[name].factors(LOSSES, WEIGHTS), OBJECTIVES[name].factors(LOSSES.flip(0), WEIGHTS)
    )
    assert same != OBJECTIVES[name].by_loss


def test_head_weights_by_a_task_of_the_head(bert: BertModel) -> None:
    (model,) = build(bert, "gmhl", layers=1)
    aim = objective(model, "weighted_sum", {"e": 3.0, "f": 0.5})
    assert aim.weights.tolist() == [3.0, 1.0, 0.5]


def test_labels_may_be_called_as_attributes_and_methods_are(bert: BertModel) -> None:
    names = ["type", "train", "half", "items", "a.b", "a_b", "A/B", "A_B"]
    tasks = {name: Task(name) for name in names}
    plan = ARCHITECTURES["gmhl"].build(names, [[name] for name in names], 1).check(list(tasks.values()))
    model = MultiTaskModel(
        copy.deepcopy(bert), plan.models[0].heads, tasks=tasks, features="cls", seed=0, dropout=0.0
    )
    assert len(model.heads) == len(model.specs) == len(names)
