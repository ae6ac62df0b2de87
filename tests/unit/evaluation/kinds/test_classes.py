"""Figures of classes are scikit-learn's with labels given, also where a class is nowhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score

from mtlv.errors import DataError
from mtlv.evaluation.kinds.classes import positive_classes, sums
from mtlv.evaluation.sums import values

C = 5
sides = st.lists(st.tuples(st.integers(0, C - 1), st.integers(0, C - 1)), min_size=1, max_size=30).map(
    lambda pairs: np.array(pairs).T
)
some_classes = st.sets(st.integers(0, C - 1), min_size=1)


def metrics(truth, guessed, *, classes=C, positive=None):
    return values(sums(truth, guessed, classes=classes, positive=positive))


def f1_micro_positive(truth, guessed, positive):
    return metrics(truth, guessed, positive=positive)["f1_micro_positive"]


@given(sides, some_classes)
def test_figures_are_scikit_learns(made, positive):
    truth, guessed = made
    found = metrics(truth, guessed, classes=C, positive=positive)
    each = f1_score(truth, guessed, average=None, labels=range(C), zero_division=0)
    assert found == pytest.approx(
        {
            "accuracy": accuracy_score(truth, guessed),
            "f1_micro": f1_score(truth, guessed, average="micro"),
            "f1_macro": each.mean(),
            "f1_micro_positive": f1_score(
                truth, guessed, average="micro", labels=sorted(positive), zero_division=0
            ),
        }
    )


@given(sides, some_classes, st.permutations(range(C)), st.randoms(use_true_random=False))
def test_neither_the_order_of_documents_nor_that_of_classes_matters(made, positive, renamed, random):
    order = random.sample(range(made.shape[1]), made.shape[1])
    names = np.array(renamed)
    before = metrics(*made, classes=C, positive=positive)
    after = metrics(*names[made[:, order]], classes=C, positive=[renamed[p] for p in positive])
    assert after == pytest.approx(before)
    assert all(0 <= value <= 1 for value in before.values())


def test_a_class_that_nobody_has_does_not_shift_the_negative_one():
    """Class 3 is negative and class 2 is nowhere: by place in a confusion matrix, `false` would count."""
    truth, guessed = np.array([0, 1, 3, 3, 3]), np.array([0, 3, 3, 3, 1])
    assert f1_micro_positive(truth, guessed, [0, 1, 2]) == pytest.approx(2 * 1 / (2 + 2))


def test_rightly_negative_documents_count_nowhere():
    truth, guessed = np.array([1, 0, 1]), np.array([1, 1, 0])
    more = np.zeros(100, int)
    few = f1_micro_positive(truth, guessed, [1])
    assert few == 0.5
    assert f1_micro_positive(np.append(truth, more), np.append(guessed, more), [1]) == few


def test_positive_classes_by_name():
    assert positive_classes(("false", "CPR:3", "CPR:4"), ["false"]) == (1, 2)
    assert positive_classes(("yes", "no"), []) == (0, 1)
    with pytest.raises(
        DataError, match=r"negative class `flase` is not a class.*allowed: false, effect.*`false`"
    ):
        positive_classes(("false", "effect"), ["flase"])
    with pytest.raises(DataError, match="every class of the task is negative"):
        positive_classes(("false",), ["false"])


def test_figures_without_documents_or_negative_classes():
    nothing = np.array([], int)
    assert metrics(nothing, nothing, classes=2) == {"accuracy": 0.0, "f1_micro": 0.0, "f1_macro": 0.0}


def test_the_last_class_counts_in_the_mean():
    truth = np.array([C - 1, C - 1, 0])
    assert metrics(truth, truth)["f1_macro"] == pytest.approx(2 / C)
