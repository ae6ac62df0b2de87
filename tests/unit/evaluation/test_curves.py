"""Precision-recall steps: scikit-learn's points, and an area that thinning leaves as it is."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import precision_recall_curve

from mtlv.evaluation.curves import precision_recall_steps
from mtlv.evaluation.metrics import average_precision


def area(recall, precision):
    return float(np.sum(np.diff(recall, prepend=0) * precision))


def test_the_steps_are_points_of_scikit_learns_curve(arrays):
    outputs, targets = arrays
    for t in range(targets.shape[1]):
        truth = targets[:, t].astype(bool)
        if not truth.any():
            continue
        recall, precision = precision_recall_steps(truth, outputs[:, t], most=10**6)
        known_precision, known_recall, _ = precision_recall_curve(truth, outputs[:, t])
        points = {(round(r, 9), round(p, 9)) for r, p in zip(known_recall, known_precision, strict=True)}
        assert {(round(r, 9), round(p, 9)) for r, p in zip(recall, precision, strict=True)} <= points
        assert sorted(set(known_recall.round(9)) - {0.0}) == recall.round(9).tolist()


@pytest.mark.parametrize("most", [1, 2, 5, 11, 60])
def test_thinned_steps_keep_the_area(random_arrays, most):
    outputs, targets = random_arrays(5, documents=400, tasks=6)
    for t in range(6):
        truth = targets[:, t].astype(bool)
        recall, precision = precision_recall_steps(truth, outputs[:, t], most)
        assert len(recall) == len(precision) <= most
        assert recall[-1] == 1.0
        assert (np.diff(recall) > 0).all()
        assert area(recall, precision) == pytest.approx(average_precision(truth, outputs[:, t]), abs=1e-12)


def test_nothing_positive_has_no_curve():
    recall, precision = precision_recall_steps(np.zeros(5, bool), np.arange(5.0))
    assert recall.size == precision.size == 0
