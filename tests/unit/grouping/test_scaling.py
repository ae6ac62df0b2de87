"""Scaling and distances equal scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import pairwise_distances
from sklearn.preprocessing import MinMaxScaler, normalize

from mtlv.grouping import distances, scale

FEATURES = np.random.default_rng(0).normal(size=(9, 5))
FEATURES[:, 1] *= 0.01  # a small dimension
FEATURES[:, 3] = 2.0  # a constant dimension
FEATURES[4] = 0.0  # a zero row


def test_minmax_is_that_of_scikit_learn():
    assert scale(FEATURES, "minmax") == pytest.approx(MinMaxScaler().fit_transform(FEATURES))


def test_l2_is_that_of_scikit_learn():
    assert scale(FEATURES, "l2") == pytest.approx(normalize(FEATURES))


def test_none_leaves_the_features():
    assert (scale(FEATURES, "none") == FEATURES).all()
    assert scale([1, 2, 3], "none").tolist() == [[1.0], [2.0], [3.0]]


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_distances_are_those_of_scikit_learn(metric):
    found = distances(FEATURES, metric)
    assert found == pytest.approx(pairwise_distances(FEATURES, metric=metric), abs=1e-7)
    assert (found == found.T).all()
    assert (np.diag(found) == 0).all()
