"""Sections on runs of all four kinds of task, one of which was tested on two corpora only."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest
from drawing import block, svg
from looking import drawn, findings
from mixed import EACH, TASKS, a_mixed_comparison

from mtlv.comparison.blocks import FigureBlock
from mtlv.comparison.parts import shared_groups
from mtlv.comparison.sections import (
    cost,
    curves,
    each_section,
    errors,
    overview,
    significance,
    tasks,
)
from mtlv.evaluation.compared_runs import ComparedFold, Comparison, TaskInfo


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return a_mixed_comparison()


def test_every_figure_can_be_drawn(comparison: Comparison) -> None:
    figures = [
        each for part in each_section(comparison) for each in part.blocks if isinstance(each, FigureBlock)
    ]
    assert len(figures) >= 8
    for figure in figures:
        assert "<b>activator" not in svg(figure)


def test_no_word_of_macro_f1_where_runs_are_judged_by_their_score(comparison: Comparison) -> None:
    for section in (overview.build(comparison), significance.build(comparison), cost.build(comparison)):
        said = [getattr(each, field, "") for each in section.blocks for field in ("text", "title", "caption")]
        assert "acro F1" not in " ".join([section.intro, *said])
        assert "score" in " ".join([section.intro, *said])


@pytest.mark.parametrize(
    ("shown", "thresholds", "positive", "some"),
    [(TASKS[:1], True, True, True), (TASKS, False, False, True), (TASKS[1:], False, False, False)],
    ids=["yes/no", "all kinds", "others"],
)
def test_thresholds_and_positive_documents_are_named_where_tasks_have_them(
    comparison: Comparison, shown: tuple[TaskInfo, ...], thresholds: bool, positive: bool, some: bool
) -> None:
    """Of all tasks, of none or of `some`."""
    comparison = replace(comparison, tasks=shown)
    of_tasks, of_errors = tasks.build(comparison), errors.build(comparison)
    caption, table = block(of_tasks, "tasks_f1").caption, block(of_tasks, "tasks")
    assert ("thresholds" in block(overview.build(comparison), "overview").caption.lower()) == some
    assert ("at thresholds fitted" in caption) == thresholds
    assert ("of a yes/no task the positive ones" in caption) == (some and not thresholds)
    assert ("threshold" in [column.key for column in table.columns]) == thresholds
    assert ("number of positive test documents" in table.caption) == positive
    assert ("tasks_gain_by_frequency" in [getattr(each, "id", "") for each in of_tasks.blocks]) == positive
    assert ("its threshold" in of_errors.intro) == some
    assert ("left out" in findings(of_errors)) == (some and not thresholds)


def test_a_score_ranks_runs_of_the_same_tasks_only(comparison: Comparison) -> None:
    assert "they cannot be ranked by one score" in findings(overview.build(comparison))
    same = replace(comparison, runs=comparison.runs[:2])
    assert not findings(overview.build(same))


def test_tasks_have_their_own_figure_and_gaps(comparison: Comparison) -> None:
    rows = block(tasks.build(comparison), "tasks").rows
    assert len(rows) == 4 + 4 + 2
    main = {task.name: task.main_metric for task in TASKS}
    for row in rows:
        run = comparison.run(row["run"])
        assert row["value"] == fmean(run.of_task(row["task"], main[row["task"]]))
    assert "entity precision" in rows[-1]["others"] or "Spearman" in rows[-1]["others"]
    words = drawn(block(tasks.build(comparison), "tasks_f1"), comparison)
    assert f"{rows[0]['value']:.2f}" in words


def test_one_kind_alone_gives_its_figure_the_name() -> None:
    comparison = a_mixed_comparison()
    only = replace(comparison, tasks=TASKS[3:])
    section = tasks.build(only)
    assert block(section, "tasks_f1").title == "Entity F1 of each task"
    assert "judged_by" not in [column.key for column in block(section, "tasks").columns]
    assert block(curves.build(only), "curves_task_f1").title == "Validation entity F1 of each task"


def test_pairs_of_the_same_data_have_an_interval_over_documents(comparison: Comparison) -> None:
    (row,) = block(significance.build(comparison), "significance").rows
    assert (row["run"], row["other"]) == ("r1", "r0")
    assert row["documents_low"] < row["mean"] < row["documents_high"]
    assert row["documents_micro"] is None


def test_a_rank_correlation_is_not_drawn_anew_and_that_is_said(comparison: Comparison) -> None:
    by_rank = replace(TASKS[2], main_metric="spearman")
    section = significance.build(replace(comparison, tasks=(*TASKS[:2], by_rank, TASKS[3])))
    assert block(section, "significance").rows[0]["documents"] is None
    assert "not a sum over documents: “similarity” (Spearman)." in findings(section)


def test_documents_show_what_their_own_task_says(comparison: Comparison) -> None:
    documents = block(errors.build(comparison), "errors_documents").pairs["r0", "r1"]
    kinds = set()
    for document in documents:
        ((task, *said),) = document.scores
        assert document.id.split("/")[0] == next(each.source for each in TASKS if each.name == task)
        kinds.add(type(said[0]))
    assert kinds == {float, str, tuple}
    assert {document.id.split("/")[0] for document in documents[:4]} == {task.source for task in TASKS}
    assert {row["task"] for row in block(errors.build(comparison), "errors_precision_recall").rows} == {
        "heart"
    }
    assert "left out: relation, similarity, drugs." in findings(errors.build(comparison))
    assert all(int(document.id.split("/")[1]) < EACH for document in documents)


def test_tasks_on_the_same_documents_are_named(comparison: Comparison) -> None:
    assert "same documents by runs on different data: similarity, drugs." in findings(tasks.build(comparison))
    last = comparison.runs[2]
    fewer = tuple(_without_a_document(child, "drugs") for child in last.children)
    changed = replace(comparison, runs=(*comparison.runs[:2], replace(last, children=fewer)))
    said = findings(tasks.build(changed))
    assert "different data: similarity. Tested on different documents" in said
    assert "so not comparable: drugs." in said
    same = replace(comparison, runs=comparison.runs[:2])
    assert "same documents" not in findings(tasks.build(same))


def _without_a_document(child: ComparedFold, task: str) -> ComparedFold:
    scores = child.test.tasks[task]
    mask = scores.mask.copy()
    mask[np.flatnonzero(mask)[0]] = False
    held = child.test.tasks | {task: replace(scores, mask=mask)}
    return replace(child, test=replace(child.test, tasks=held))


def test_no_score_is_laid_over_the_training_time_of_other_tasks(comparison: Comparison) -> None:
    assert "so their scores cannot be compared" in findings(cost.build(comparison))
    same = replace(comparison, runs=comparison.runs[:2])
    assert block(cost.build(same), "cost").title == "Score over training time"


def test_heads_that_must_be_apart_are_learned_together_in_one_model(comparison: Comparison) -> None:
    given = shared_groups.numbering(comparison)
    (figure,) = shared_groups.together(comparison, given)
    rows = figure.rows
    assert {(row["run"], row["group"]) for row in rows} == {("r0", "alone"), ("r1", "all"), ("r2", "alone")}
