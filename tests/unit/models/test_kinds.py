"""What raw outputs mean, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from sklearn.utils.class_weight import compute_class_weight

from mtlv.models.heads import HeadSize
from mtlv.models.kinds import KINDS, Kind, kinds_with
from mtlv.models.kinds.class_weights import CLASS_WEIGHTS, class_weights
from mtlv.models.kinds.regression import NumberHead
from mtlv.plan.task import UNKNOWN

LOGITS = torch.tensor([[0.0, 2.0], [-1.0, 3.0], [1.5, -0.5]])  # of three documents


def sigmoid(values: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-values))


def test_yes_no_tasks_have_cross_entropies_and_probabilities_of_their_own() -> None:
    wanted = [torch.tensor([1, 0, 1]), torch.tensor([0, 0, 1])]
    yes = sigmoid(LOGITS.numpy().astype(np.float64))
    truth = torch.stack(wanted, 1).numpy()
    expected = -np.log(np.where(truth == 1, yes, 1 - yes)).mean(0)
    assert KINDS["binary"].losses(LOGITS, wanted).tolist() == pytest.approx(expected, rel=1e-5)
    first, second = KINDS["binary"].scores(LOGITS)
    assert first.tolist() == pytest.approx(yes[:, 0])
    assert second.tolist() == pytest.approx(yes[:, 1])


def test_an_unknown_label_is_not_learned_and_the_others_count_the_same() -> None:
    logits = LOGITS.clone().requires_grad_()
    wanted = [torch.tensor([1, UNKNOWN, 1]), torch.tensor([0, 0, UNKNOWN])]
    losses = KINDS["binary"].losses(logits, wanted)
    truth, yes = torch.stack(wanted, 1).numpy(), sigmoid(LOGITS.numpy().astype(np.float64))
    each = np.where(truth == UNKNOWN, 0, -np.log(np.where(truth == 1, yes, 1 - yes)))
    assert losses.tolist() == pytest.approx(each.sum(0) / 3, rel=1e-5)
    losses.sum().backward()
    assert logits.grad is not None
    assert ((logits.grad == 0).numpy() == (truth == UNKNOWN)).all()


@pytest.mark.parametrize("weights", [None, "balanced"])
def test_an_unknown_class_is_not_learned_and_the_others_count_the_same(weights: str | None) -> None:
    logits = torch.randn(5, 3, generator=torch.Generator().manual_seed(0)).requires_grad_()
    wanted = torch.tensor([2, UNKNOWN, 0, UNKNOWN, 2])
    kind = KINDS["multiclass"]
    if weights is not None:
        kind = weighted("multiclass", [[0, UNKNOWN, 2, 2, 2, UNKNOWN, 1]], outputs=3, name=weights)
    of_class = torch.tensor([5 / 3, 5 / 3, 5 / 9]) if weights else torch.ones(3)
    losses = kind.losses(logits, [wanted])
    known = wanted != UNKNOWN
    each = -torch.log_softmax(logits, 1)[known].gather(1, wanted[known, None])[:, 0]
    torch.testing.assert_close(losses, (each * of_class[wanted[known]]).sum().reshape(1) / 5)
    losses.sum().backward()
    assert logits.grad is not None
    assert ((logits.grad == 0).all(1) == ~known).all()
    assert kind.losses(logits, [torch.full((5,), UNKNOWN)]).tolist() == [0.0]


def test_an_unknown_number_is_not_learned_and_the_others_count_the_same() -> None:
    trained_on = [torch.tensor([1.0, math.nan, 3.0, 8.0]), torch.tensor([math.nan, 5.0, 5.0, math.nan])]
    head = KINDS["regression"].head(HeadSize(4, 2, 1, 0.0))
    head.use_targets(lambda: trained_on)
    assert head.mean.tolist() == [4.0, 5.0]
    assert head.deviation.tolist() == pytest.approx([np.std([1, 3, 8]), 1.0])
    logits = torch.tensor([[1.0, 2.0], [3.0, 4.0], [0.0, 7.0]], requires_grad=True)
    wanted = [torch.tensor([2.0, math.nan, 4.0]), torch.tensor([math.nan, 1.0, math.nan])]
    losses = KINDS["regression"].bind(head).losses(logits, wanted)
    assert losses.tolist() == pytest.approx([(1 + 16) / np.var([1, 3, 8]) / 3, 9 / 3])
    losses.sum().backward()
    assert logits.grad is not None
    assert ((logits.grad == 0) == torch.stack(wanted, 1).isnan()).all()


@pytest.mark.parametrize("classes", [[0] * 6 + [1] * 2, [2, 0, 0, 1, 0, 0, 2, 2, 2], [1, 1]])
def test_balanced_weights_are_scikit_learns_and_the_mean_of_any_is_one(classes: list[int]) -> None:
    found = {name: class_weights(torch.tensor(classes), 3, power) for name, power in CLASS_WEIGHTS.items()}
    there, counts = np.unique(classes, return_counts=True)
    balanced = compute_class_weight("balanced", classes=there, y=classes)
    assert found["balanced"][there].tolist() == pytest.approx(balanced)
    for weights in found.values():
        assert weights[classes].mean().item() == pytest.approx(1)
    root = found["sqrt"][there]
    assert (root / root[0]).tolist() == pytest.approx(np.sqrt(counts[0] / counts))


def weighted(kind: str, targets: list[list[int]], *, outputs: int, name: str = "balanced") -> Kind:
    """Return a kind that has counted the classes of training documents."""
    own = kinds_with(tagging_scheme="bio", tagging_layer="linear", class_weights=name)[kind]
    head = own.head(HeadSize(4, outputs, 1, 0.0))
    head.use_targets(lambda: [torch.tensor(each) for each in targets])
    assert set(head.state_dict()) == set(KINDS[kind].head(HeadSize(4, outputs, 1, 0.0)).state_dict())
    return own.bind(head)


def test_yes_and_no_count_by_their_weights_and_unknown_labels_not_at_all() -> None:
    trained_on = [[1, 0, 0, 0, UNKNOWN], [1, 1, 1, 0, 0]]  # weights of no and yes: 2/3 and 2, 5/4 and 5/6
    kind = weighted("binary", trained_on, outputs=2)
    wanted = [torch.tensor([1, 0, UNKNOWN]), torch.tensor([0, 1, 1])]
    truth, yes = torch.stack(wanted, 1).numpy(), sigmoid(LOGITS.numpy().astype(np.float64))
    each = np.where(truth == UNKNOWN, 0, -np.log(np.where(truth == 1, yes, 1 - yes)))
    weights = np.array([[2, 5 / 4], [2 / 3, 5 / 6], [0, 5 / 6]])
    assert kind.losses(LOGITS, wanted).tolist() == pytest.approx((weights * each).sum(0) / 3, rel=1e-5)
    plain = KINDS["binary"]
    torch.testing.assert_close(kind.scores(LOGITS), plain.scores(LOGITS))
    taught = {"teacher_outputs": [LOGITS[:, 1], LOGITS[:, 0]], "temperature": 1.0}
    losses = kind.distillation_losses(LOGITS, wanted, **taught)
    torch.testing.assert_close(losses, plain.distillation_losses(LOGITS, wanted, **taught))


def test_classes_count_by_their_weights_in_any_batch() -> None:
    kind = weighted("multiclass", [[0, 0, 0, 0, 1, 1, 1, 1, 1]], outputs=2, name="sqrt")
    weights = np.sqrt([1 / 4, 1 / 5]) * 9 / (np.sqrt(4) + np.sqrt(5))
    raised = np.exp(LOGITS.numpy().astype(np.float64))
    each = -np.log(raised / raised.sum(1, keepdims=True))[[0, 1, 2], [1, 0, 0]] * weights[[1, 0, 0]]
    wanted = torch.tensor([1, 0, 0])
    assert kind.losses(LOGITS, [wanted]).tolist() == pytest.approx([each.mean()], rel=1e-5)
    parts = [kind.losses(LOGITS[at : at + 1], [wanted[at : at + 1]]).item() for at in range(3)]
    assert np.mean(parts) == pytest.approx(each.mean(), rel=1e-5), "as in one large batch"


def test_classes_have_one_cross_entropy_and_probabilities_that_add_up() -> None:
    raised = np.exp(LOGITS.numpy().astype(np.float64))
    shares = raised / raised.sum(1, keepdims=True)
    loss = KINDS["multiclass"].losses(LOGITS, [torch.tensor([1, 0, 0])])
    assert loss.tolist() == pytest.approx([-np.log(shares[[0, 1, 2], [1, 0, 0]]).mean()], rel=1e-5)
    (scores,) = KINDS["multiclass"].scores(LOGITS)
    np.testing.assert_allclose(scores.numpy(), shares, rtol=1e-5)


def test_numbers_have_squared_errors_and_are_what_comes_out() -> None:
    wanted = [torch.tensor([0.0, 1.0, 1.5]), torch.tensor([1.0, 1.0, -0.5])]
    head = KINDS["regression"].head(HeadSize(4, 2, 1, 0.0))
    kind = KINDS["regression"].bind(head)
    assert kind.losses(LOGITS, wanted).tolist() == pytest.approx([4 / 3, 5 / 3])
    first, second = kind.scores(LOGITS)
    assert (first.tolist(), second.tolist()) == ([0.0, -1.0, 1.5], [2.0, 3.0, -0.5])
    head.use_targets(lambda: [torch.tensor([1.0, 5.0]), torch.tensor([3.0, 3.0])])  # deviations 2 and 0
    assert kind.losses(LOGITS, wanted).tolist() == pytest.approx([4 / 3 / 2**2, 5 / 3])
    assert kind.scores(LOGITS)[0].tolist() == [0.0, -1.0, 1.5]


def test_a_head_of_numbers_begins_at_their_mean_and_moves_in_their_units() -> None:
    vectors, size = torch.randn(5, 4), HeadSize(4, 2, 1, 0.0)
    plain, scaled = NumberHead(size), NumberHead(size)
    for head in (plain, scaled):
        head.reset(torch.Generator().manual_seed(0))
    scaled.use_targets(lambda: [torch.tensor([10.0, 30.0]), torch.tensor([-1.0, -3.0])])
    expected = plain(vectors) * torch.tensor([10.0, 1.0]) + torch.tensor([20.0, -2.0])
    torch.testing.assert_close(scaled(vectors), expected)
    with torch.autocast("cpu", torch.bfloat16):
        assert scaled(vectors).dtype == torch.float32, "a number such as 1,001 is not rounded to 1,000"
    again = NumberHead(size)
    again.load_state_dict(scaled.state_dict())
    assert torch.equal(again(vectors), scaled(vectors))
