"""Confident learning on hand-made probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from mtlv.evaluation.label_errors import suspected_classes

THREE_CLASSES = [  # with the mean of the own probability of each class: 0.65, 0.5, 0.3
    (0, [0.8, 0.1, 0.1]),  # the only class that reaches its threshold is the given one
    (0, [0.5, 0.1, 0.4]),  # 0.5 is too little for class 0, but 0.4 is enough for class 2
    (1, [0.1, 0.8, 0.1]),
    (1, [0.7, 0.2, 0.1]),
    (2, [0.3, 0.3, 0.4]),
    (2, [0.2, 0.6, 0.2]),
]


def test_thresholds_are_per_class():
    given, probabilities = (np.array(column) for column in zip(*THREE_CLASSES, strict=True))
    suspected, margins = suspected_classes(probabilities, given)
    assert np.flatnonzero(~np.isnan(margins)).tolist() == [1, 3, 5]
    assert suspected[[1, 3, 5]].tolist() == [2, 0, 1]
    assert margins[[1, 3, 5]] == pytest.approx([0.1, -0.5, -0.4])


def test_the_likeliest_error_has_the_lowest_margin():
    yes = np.array([0.9, 0.8, 0.95, 0.1, 0.05, 0.65, 0.3])
    given = np.array([1, 1, 0, 1, 0, 0, 0])  # thresholds: yes 0.6, no 2.05 / 4
    _, margins = suspected_classes(np.stack([1 - yes, yes], axis=1), given)
    order = np.argsort(margins)[:3].tolist()
    assert order == [2, 3, 5]  # a no with 0.95 for yes, a yes with 0.9 for no, a no with 0.65 for yes
    assert np.isnan(margins).tolist() == [True, True, False, False, True, False, True]


def test_of_two_classes_that_reach_their_thresholds_the_more_probable_is_suspected():
    probabilities = np.array([[0.4, 0.6], [0.6, 0.4], [0.5, 0.5], [0.5, 0.5]])
    suspected, margins = suspected_classes(probabilities, np.array([0, 0, 1, 1]))
    assert suspected.tolist()[:2] == [1, 0]
    assert margins[0] == pytest.approx(-0.2)
    assert np.isnan(margins[1])


def test_a_class_that_nobody_has_is_not_suspected():
    _, margins = suspected_classes(np.array([[0.2, 0.8], [0.1, 0.9]]), np.array([0, 0]))
    assert np.isnan(margins).all()
