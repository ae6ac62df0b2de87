"""What raw outputs mean, by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mtlv.models.heads import HeadSize
from mtlv.models.kinds import KINDS
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
    kind = KINDS["regression"].bound(head)
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
