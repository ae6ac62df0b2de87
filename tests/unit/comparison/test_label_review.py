"""Likely label errors and documents worth annotating, from the scores of documents outside training."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mtlv.comparison.label_review import label_review, suspected_classes
from mtlv.comparison.sections import errors
from mtlv.evaluation.compared_runs import ComparedRun, Comparison, TaskInfo
from mtlv.plan import Scores, TaskScores
from mtlv.plan.spans import Span


def scores(part, ids, *, targets, mask=True, task="fever", **outputs):
    outputs = np.asarray(outputs[task], float)
    known = np.broadcast_to(mask, len(ids)).copy()
    return Scores(("unit",), part, tuple(ids), {task: TaskScores(outputs, np.array(targets), known)})


FEVER = TaskInfo("fever")


@pytest.fixture
def scored(comparison_of):
    """A comparison of runs whose children have (validation, test) scores of the same tasks."""

    def make(*runs, tasks=(FEVER,)) -> Comparison:
        made = comparison_of(runs=len(runs), children=max(map(len, runs)))
        children = [
            tuple(
                replace(child, validation=validation, test=test)
                for child, (validation, test) in zip(run.children, parts, strict=False)
            )
            for run, parts in zip(made.runs, runs, strict=True)
        ]
        changed = tuple(replace(run, children=of) for run, of in zip(made.runs, children, strict=True))
        return replace(made, runs=changed, tasks=tasks, texts={})

    return make


def table(comparison, id):
    return next((block for block in label_review(comparison) if block.id == id), None)


def two_folds(*probabilities, targets=(1, 0, 1, 0), mask=True):
    """Children with two of four documents in each part; each document is in one part of each child."""
    first, second = probabilities
    known = np.broadcast_to(mask, 4)
    return [
        (
            scores("validation", "ab", targets=targets[:2], mask=known[:2], fever=first[:2]),
            scores("test", "cd", targets=targets[2:], mask=known[2:], fever=first[2:]),
        ),
        (
            scores("validation", "cd", targets=targets[2:], mask=known[2:], fever=second[2:]),
            scores("test", "ab", targets=targets[:2], mask=known[:2], fever=second[:2]),
        ),
    ]


def test_errors_are_ranked_by_the_means_over_runs_folds_and_parts(scored):
    one = two_folds([0.9, 0.9, 0.1, 0.0], [0.7, 0.9, 0.3, 0.2])
    other = two_folds([0.8, 0.8, 0.0, 0.1], [0.8, 1.0, 0.0, 0.1])
    rows = table(scored(one, other), "errors_labels").rows
    # means: a 0.8 (yes), b 0.9 (no), c 0.1 (yes), d 0.1 (no)
    assert [(row["document"], row["given"], row["suspected"]) for row in rows] == [
        ("b", "no", "yes"), ("c", "yes", "no"),
    ]  # fmt: skip
    assert [row["probability of given"] for row in rows] == pytest.approx([0.1, 0.1])
    assert [row["models"] for row in rows] == [4, 4]
    surer = two_folds([0.9, 0.6, 0.1, 0.0], [0.7, 0.7, 0.1, 0.0])
    assert [row["document"] for row in table(scored(surer), "errors_labels").rows] == ["c", "b"]


def test_a_document_that_was_never_outside_training_is_not_judged(scored):
    run = two_folds([0.9, 0.9, 0.1, 0.0], [0.7, 0.9, 0.3, 0.2])[:1]
    comparison = replace(scored(run), texts={name: f"report {name}" for name in "abcdef"})
    section = errors.build(comparison)
    block = next(block for block in section.blocks if getattr(block, "id", "") == "errors_labels")
    assert {row["document"]: row["text"] for row in block.rows} == {"b": "report b", "c": "report c"}
    assert "Not judged: 2 of 6 documents" in block.caption
    assert [column.key for column in block.columns][-1] == "text"


def test_without_texts_there_is_no_column_of_texts(scored):
    comparison = scored(two_folds([0.9, 0.9, 0.1, 0.0], [0.7, 0.9, 0.3, 0.2]))
    section = errors.build(comparison)
    block = next(block for block in section.blocks if getattr(block, "id", "") == "errors_labels")
    assert block.rows
    assert "text" not in {*block.rows[0], *(column.key for column in block.columns)}


def test_runs_on_other_data_do_not_count(scored):
    one = two_folds([0.9, 0.9, 0.1, 0.0], [0.7, 0.9, 0.3, 0.2])
    comparison = scored(one, two_folds([0.5] * 4, [0.5] * 4))
    runs = comparison.runs[0], replace(comparison.runs[1], data_digest="ffff")
    rows = table(replace(comparison, runs=runs), "errors_labels").rows
    assert rows == table(scored(one), "errors_labels").rows


def test_unlabelled_documents_are_ranked_by_entropy_and_are_no_errors(scored):
    known = [False, False, True, False]
    run = two_folds([0.9, 0.6, 0.8, 0.1], [0.9, 0.2, 0.8, 0.5], mask=known)  # means 0.9, 0.4, 0.8, 0.3
    comparison = scored(run)
    rows = table(comparison, "errors_unlabelled").rows
    assert [row["document"] for row in rows] == ["b", "d", "a"]
    by_hand = [-(p * np.log2(p) + (1 - p) * np.log2(1 - p)) for p in (0.4, 0.3, 0.9)]
    assert [row["entropy"] for row in rows] == pytest.approx(by_hand)
    assert {row["missing"] for row in rows} == {"fever"}
    assert table(comparison, "errors_labels") is None
    assert table(scored(two_folds([0.9] * 4, [0.8] * 4)), "errors_unlabelled") is None


def test_documents_of_another_corpus_are_not_worth_annotating(scored):
    run = two_folds([0.9, 0.0, 0.8, 0.0], [0.9, 0.0, 0.8, 0.0], mask=[False, False, True, False])
    assert [row["document"] for row in table(scored(run), "errors_unlabelled").rows] == ["a"]


def test_classes_are_named_and_numbers_and_tags_left_out(scored):
    outputs = np.array([[0.7, 0.2, 0.1], [0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])
    part = scores("test", "abcd", targets=[0, 1, 1, 2], task="organ", organ=outputs)
    spans = np.empty(4, object)
    spans[:] = [(Span(0, 1, "X"),)] * 4
    part.tasks["age"] = TaskScores(np.arange(4.0), np.arange(4.0), np.ones(4, bool))
    part.tasks["words"] = TaskScores(spans, spans, np.ones(4, bool))
    tasks = (
        TaskInfo("organ", "multiclass", classes=("heart", "lung", "bone")),
        TaskInfo("age", "regression"),
        TaskInfo("words", "tagging", classes=("X",)),
    )
    block = table(scored([(None, part)], tasks=tasks), "errors_labels")
    assert [(row["document"], row["given"], row["suspected"]) for row in block.rows] == [
        ("b", "lung", "heart"),
    ]  # fmt: skip


def test_nothing_without_scores(comparison_of):
    bare = comparison_of(runs=1)
    children = tuple(replace(child, validation=None, test=None) for child in bare.runs[0].children)
    run: ComparedRun = replace(bare.runs[0], children=children)
    assert label_review(replace(bare, runs=(run,))) == []


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
