"""Probabilities at a temperature against logits that are divided by it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, softmax

from mtlv.plan.temperature import at_temperature


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5])
def test_logits_are_divided(temperature: float) -> None:
    logits = np.random.default_rng(0).normal(0, 4, (50, 3))
    of_yes = at_temperature(expit(logits[:, 0]), temperature)
    np.testing.assert_allclose(of_yes, expit(logits[:, 0] / temperature), rtol=1e-9)
    of_classes = at_temperature(softmax(logits, axis=1), temperature)
    np.testing.assert_allclose(of_classes, softmax(logits / temperature, axis=1), rtol=1e-9)


def test_rounded_probabilities_move_as_those_beside_them_and_rows_of_zeros_stay() -> None:
    low, high = at_temperature(np.array([0, 1], np.float32), 4).tolist()
    assert low == pytest.approx(expit(-np.log(1e7) / 4), rel=1e-5)
    assert high == pytest.approx(1 - low)
    assert at_temperature([[0, 0], [0, 1]], 4).tolist() == [[0, 0], pytest.approx([low, high])]
    assert at_temperature([], 2).shape == (0,)
    assert at_temperature([0.0, 1e-9, 1.0, 7.5], 1.0).tolist() == [0.0, 1e-9, 1.0, 7.5]
