"""What raw outputs mean, by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mtlv.models.kinds import KINDS

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


def test_classes_have_one_cross_entropy_and_probabilities_that_add_up() -> None:
    raised = np.exp(LOGITS.numpy().astype(np.float64))
    shares = raised / raised.sum(1, keepdims=True)
    loss = KINDS["multiclass"].losses(LOGITS, [torch.tensor([1, 0, 0])])
    assert loss.tolist() == pytest.approx([-np.log(shares[[0, 1, 2], [1, 0, 0]]).mean()], rel=1e-5)
    (scores,) = KINDS["multiclass"].scores(LOGITS)
    np.testing.assert_allclose(scores.numpy(), shares, rtol=1e-5)


def test_numbers_have_squared_errors_and_are_what_comes_out() -> None:
    wanted = [torch.tensor([0.0, 1.0, 1.5]), torch.tensor([1.0, 1.0, -0.5])]
    assert KINDS["regression"].losses(LOGITS, wanted).tolist() == pytest.approx([4 / 3, 5 / 3])
    first, second = KINDS["regression"].scores(LOGITS)
    assert (first.tolist(), second.tolist()) == ([0.0, -1.0, 1.5], [2.0, 3.0, -0.5])
