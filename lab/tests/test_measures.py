"""Measures of transferability, beside known answers and their authors' definitions."""

from __future__ import annotations

import numpy as np
import pytest
from mtlv_lab.measures import h_score, leep, log_me, one_hot
from scipy.optimize import minimize
from sklearn.covariance import LedoitWolf

RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 3, 60)
VECTORS = RNG.normal(size=(60, 5)) + one_hot(LABELS) @ RNG.normal(size=(3, 5))


def test_a_class_has_a_column() -> None:
    assert one_hot([5, 2, 5]).tolist() == [[0, 1], [1, 0], [0, 1]]


def test_vectors_that_are_class_means_have_an_h_score_of_1_per_dimension() -> None:
    assert h_score(LABELS[:, None] == 1, LABELS) == pytest.approx(1)
    many = one_hot(RNG.integers(0, 3, 20_000))
    assert h_score(many[:, :2], many.argmax(axis=1)) == pytest.approx(2, abs=1e-2)  # a little is shrunk
    assert h_score(RNG.normal(size=(20_000, 5)), many.argmax(axis=1)) < 1e-3


def test_the_h_score_is_that_of_its_definition() -> None:
    """cov(E[f | y]) of the vectors that are replaced by the means of their classes."""
    fitted = LedoitWolf().fit(VECTORS)
    means = np.stack([VECTORS[label == LABELS].mean(axis=0) for label in LABELS])
    between = np.cov(means, rowvar=False, bias=True)
    wanted = (1 - fitted.shrinkage_) * np.trace(np.linalg.solve(fitted.covariance_, between))
    assert h_score(VECTORS + 7, LABELS + 1) == pytest.approx(wanted)
    few = np.arange(8) % 2
    assert h_score(RNG.normal(size=(8, 100)), few) < 1, "without shrinkage, it is the rank"


def test_log_me_is_the_largest_evidence() -> None:
    def evidence(column: np.ndarray) -> float:
        def negative(logs: np.ndarray) -> float:
            prior, noise = np.exp(logs)
            covariance = VECTORS @ VECTORS.T / prior + np.eye(len(column)) / noise
            whole = np.linalg.slogdet(2 * np.pi * covariance).logabsdet
            return float(whole + column @ np.linalg.solve(covariance, column)) / 2

        return -minimize(negative, [0.0, 0.0], method="Nelder-Mead").fun / len(column)

    wanted = np.mean([evidence(column) for column in one_hot(LABELS).T])
    assert log_me(VECTORS, LABELS) == pytest.approx(wanted, abs=1e-5)
    shuffled = RNG.permutation(LABELS)
    assert log_me(VECTORS, shuffled) < log_me(VECTORS, LABELS) - 0.05


def test_log_me_of_more_dimensions_than_documents_and_of_exact_labels_is_finite() -> None:
    wide = RNG.normal(size=(10, 50))
    assert np.isfinite(log_me(wide, np.arange(10) % 2))
    assert np.isfinite(log_me(one_hot(LABELS), LABELS))


def test_leep_by_hand() -> None:
    labels = np.array([0, 0, 1, 1])
    assert leep(np.full((4, 2), 0.5), labels) == pytest.approx(-np.log(2))
    assert leep(one_hot(labels), labels) == pytest.approx(0)
    assert leep(one_hot(labels)[:, ::-1], labels) == pytest.approx(0)
    uneven = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.3, 0.7]])
    first, second = 1.5 / 2.0, 0.5 / 2.0  # P(y = 0 | z)
    of_zero = uneven @ [first, second]
    wanted = np.log([of_zero[0], of_zero[1], 1 - of_zero[2], 1 - of_zero[3]]).mean()
    assert leep(uneven, labels) == pytest.approx(wanted)
    assert leep(np.hstack([uneven, np.zeros((4, 1))]), labels) == pytest.approx(wanted), "an empty class"
