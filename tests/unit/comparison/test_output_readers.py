"""Outputs of each kind of task: put together over children, and how far two runs are apart."""

from __future__ import annotations

import numpy as np
import pytest

from mtlv.comparison.output_readers import READINGS, describe_distances
from mtlv.data.targets import spans_column
from mtlv.plan import Task
from mtlv.plan.spans import Span

A, B = Span(0, 1, "X"), Span(2, 4, "X")
PLACE = np.array([0, 1, 0, 1])  # two documents, each of two children


def test_probabilities_and_numbers_are_means_of_the_models_that_scored_a_document() -> None:
    outputs, place = np.array([0.2, 0.6, 0.9]), np.array([0, 0, 1])
    for kind in ("binary", "regression"):
        assert READINGS[kind].combine(outputs, place, 3)[:2].tolist() == pytest.approx([0.4, 0.9])
        assert np.isnan(READINGS[kind].combine(outputs, place, 3)[2])


def test_classes() -> None:
    reading, task = READINGS["multiclass"], Task("r", "multiclass", classes=("no", "yes"))
    outputs = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.5, 0.5]])
    means = reading.combine(outputs, PLACE, 2)
    assert means.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    other = np.array([[0.0, 1.0], [0.5, 0.5]])
    assert reading.distances(means, other, np.zeros(2)).tolist() == [0.5, 0.0]
    assert (reading.format_output(task, other[0]), reading.format_target(task, 0)) == ("yes (1.00)", "no")


def test_numbers_are_apart_by_the_range_of_the_true_ones() -> None:
    apart = READINGS["regression"].distances
    assert apart(np.array([1.0, 9.0]), np.array([2.0, 0.0]), np.array([0.0, 4.0])).tolist() == [0.25, 1.0]
    assert apart(np.array([1.5]), np.array([1.0]), np.array([3.0])).tolist() == [0.5]  # no range


def test_spans_that_most_children_found() -> None:
    reading = READINGS["tagging"]
    outputs = spans_column([[A, B], [A], [A], []])
    found = reading.combine(outputs, PLACE, 2)
    assert found.tolist() == [(A,), ()]  # half is not most
    other = spans_column([[A, B], []])
    assert reading.distances(found, other, other).tolist() == pytest.approx([1 - 2 / 3, 0.0])
    assert reading.format_output(Task("n", "tagging"), (A,)) == (A,)


def test_words_for_one_kind_and_for_several() -> None:
    yes_no, number = Task("a"), Task("s", "regression")
    assert describe_distances([yes_no, yes_no]) == "the distance between their probabilities"
    said = describe_distances([yes_no, number])
    assert said.startswith("the distance between their outputs (the distance between their probabilities; ")
