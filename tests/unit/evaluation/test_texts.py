"""The texts: scikit-learn's layout to the letter, and a CSV that reads back."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from sklearn.metrics import classification_report as sk_report

from mtlv.evaluation.metrics import evaluate
from mtlv.evaluation.texts import classification_report, per_task_csv


def test_report_is_scikit_learns_to_the_letter(scores_of, arrays):
    outputs, targets = arrays
    if targets.shape[0] == 1:
        pytest.skip("scikit-learn takes one document of one-hot targets for classes")
    scores, names = scores_of(outputs, targets)
    text = classification_report(scores, names, dict.fromkeys(names, 0.5))
    assert text == sk_report(targets, outputs >= 0.5, target_names=names, digits=4, zero_division=0)


def test_report_of_one_task_by_hand(scores_of):
    scores, names = scores_of([[0.9], [0.1], [0.2], [0.3]], [[1], [1], [0], [0]])
    lines = classification_report(scores, names, {"task 0": 0.5}).splitlines()
    assert [line.split() for line in lines if line] == [
        ["precision", "recall", "f1-score", "support"],
        *([*name.split(), "1.0000", "0.5000", "0.6667", "2"] for name in ("task 0", "micro avg")),
        *([*name.split(), "1.0000", "0.5000", "0.6667", "2"] for name in ("macro avg", "weighted avg")),
        ["samples", "avg", "0.2500", "0.2500", "0.2500", "2"],
    ]


def test_report_without_any_target_has_zeros(scores_of, random_arrays):
    outputs, targets = random_arrays(5, documents=3)
    scores, names = scores_of(outputs, targets, mask=np.zeros(targets.shape))
    figures = classification_report(scores, names, dict.fromkeys(names, 0.5)).split()[4:]
    assert {each for each in figures if each[0].isdigit() and "." in each} == {"0.0000"}


def test_documents_without_any_target_are_not_in_the_report(scores_of, random_arrays):
    outputs, targets = random_arrays(4, documents=40)
    known = np.repeat([True, False], 20)[:, None] & np.ones(targets.shape, bool)
    scores, names = scores_of(outputs, targets, mask=known)
    fewer, _ = scores_of(outputs[:20], targets[:20])
    limits = dict.fromkeys(names, 0.5)
    assert classification_report(scores, names, limits) == classification_report(fewer, names, limits)


def test_csv_reads_back(scores_of, random_arrays):
    scores, _ = scores_of(*random_arrays(1, tasks=2))
    scores.tasks['odd, "name"'] = scores.tasks.pop("task 1")
    names = list(scores.tasks)
    metrics = evaluate(scores, names, dict.fromkeys(names, 0.5))
    rows = list(csv.DictReader(io.StringIO(per_task_csv(metrics))))
    assert [row["task"] for row in rows] == names
    assert float(rows[1]["f1"]) == pytest.approx(metrics.tasks[names[1]].f1, abs=1e-6)
    assert int(rows[0]["support"]) == metrics.tasks[names[0]].support
