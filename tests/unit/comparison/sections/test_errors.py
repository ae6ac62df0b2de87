"""Errors: curves from the pooled scores, and the documents on which two runs differ most."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from drawing import block, svg
from sklearn.metrics import average_precision_score, f1_score

from mtlv.comparison.pooled_scores import by_document, one_after_the_other
from mtlv.comparison.sections import errors


@pytest.fixture
def comparison(comparison_of):
    return comparison_of(runs=3, children=2)


def without_scores(run):
    return replace(run, children=tuple(replace(c, test=None, validation=None) for c in run.children))


def of(rows, run, task):
    return [row for row in rows if row["run"] == run and row["task"] == task]


def pooled(run, task, split):
    parts = [getattr(child, split).tasks[task] for child in run.children]
    return tuple(np.concatenate([getattr(part, which) for part in parts]) for which in ("targets", "outputs"))


def test_the_area_under_a_curve_is_the_average_precision(comparison):
    rows = block(errors.build(comparison), "errors_precision_recall").rows
    for run in comparison.runs:
        for task in comparison.tasks:
            curve = of(rows, run.key, task.name)
            known = average_precision_score(*pooled(run, task.name, "test"))
            recall = np.array([row["recall"] for row in curve])
            area = np.sum(np.diff(recall) * [row["precision"] for row in curve[1:]])
            assert area == pytest.approx(known, abs=2e-3)  # points are rounded to 4 decimals
            assert {row["average_precision"] for row in curve} == {round(known, 4)}
            assert (curve[0]["recall"], curve[-1]["recall"]) == (0, 1)


def test_threshold_curves_are_f1_on_validation(comparison):
    rows = block(errors.build(comparison), "errors_thresholds").rows
    run, task = comparison.runs[1], comparison.tasks[2].name
    targets, outputs = pooled(run, task, "validation")
    mine = of(rows, "r1", task)
    for row in mine:
        assert row["f1"] == pytest.approx(f1_score(targets, outputs >= row["threshold"]), abs=1e-4)
    fitted = [row["threshold"] for row in mine if row["fitted"]]
    assert fitted == sorted({child.tasks[task]["threshold"] for child in run.children})
    assert len([row for row in mine if not row["fitted"]]) == 49


def test_risk_over_coverage_ends_at_the_error_of_all_decisions(comparison):
    section = errors.build(comparison)
    points, rows = (block(section, id).rows for id in ("errors_risk", "errors_abstention"))
    for run, row in zip(comparison.runs, rows, strict=True):
        of_children = []
        for child in run.children:
            tasks = [(name, child.test.tasks[name]) for name in child.test.tasks]
            wrong = [(task.outputs >= child.tasks[name]["threshold"]) != task.targets for name, task in tasks]
            of_children.append(np.mean(wrong))
        curve = [point for point in points if point["run"] == run.key]
        assert (curve[-1]["coverage"], len(curve)) == (1, 60)
        assert curve[-1]["risk"] == pytest.approx(np.mean(of_children)) == row["error"]
        assert row["area"] < row["error"]
    assert "coverage" in svg(block(section, "errors_risk"))


def test_decisions_without_probabilities_have_no_risk_curve(comparison):
    def hard(child):
        tasks = {n: replace(t, outputs=np.round(t.outputs)) for n, t in child.test.tasks.items()}
        return replace(child, test=replace(child.test, tasks=tasks))

    first = replace(comparison.runs[0], children=tuple(map(hard, comparison.runs[0].children)))
    section = errors.build(replace(comparison, runs=(first, *comparison.runs[1:])))
    assert {row["run"] for row in block(section, "errors_risk").rows} == {"r1", "r2"}


def test_rows_stay_few_with_many_runs_and_tasks(comparison_of):
    large = comparison_of(runs=12, children=1, tasks=60)
    section = errors.build(large)
    for id in ("errors_precision_recall", "errors_thresholds"):
        figure = block(section, id)
        assert len(figure.rows) <= 12 * 60 * 13
        assert {row["task"] for row in figure.rows} == {task.name for task in large.tasks}


def test_figures_can_be_drawn(comparison):
    section = errors.build(comparison)
    for id in ("errors_precision_recall", "errors_thresholds"):
        drawing = svg(block(section, id))
        assert "Cardiomegaly" in drawing
        assert "<script>" not in drawing


def test_only_runs_with_scores_that_are_shown(comparison_of):
    many = comparison_of(runs=14, children=1, tasks=3)
    runs = (without_scores(many.runs[0]), *many.runs[1:])
    section = errors.build(replace(many, runs=runs))
    found = {row["run"] for row in block(section, "errors_precision_recall").rows}
    assert found == {f"r{n}" for n in range(1, 12)}


def test_nothing_without_scores(comparison):
    bare = replace(comparison, runs=tuple(map(without_scores, comparison.runs)))
    assert errors.build(bare) is None


def by_hand(run, comparison):
    """Mean probability of the children, documents by tasks."""
    names = [task.name for task in comparison.tasks]
    return np.mean([np.stack([c.test.tasks[n].outputs for n in names], axis=1) for c in run.children], axis=0)


def test_documents_are_those_of_the_largest_mean_distance(comparison):
    found = block(errors.build(comparison), "errors_documents")
    assert set(found.pairs) == {("r0", "r1"), ("r0", "r2"), ("r1", "r2")}
    ids = comparison.runs[0].children[0].test.ids
    apart = np.abs(by_hand(comparison.runs[0], comparison) - by_hand(comparison.runs[1], comparison)).mean(
        axis=1
    )
    rows = found.pairs["r0", "r1"]
    assert [row.id for row in rows] == [ids[i] for i in np.argsort(-apart)[:8]]
    assert [row.distance for row in rows] == pytest.approx(np.sort(apart)[::-1][:8].tolist())


def test_scores_of_a_document_are_the_means_and_labels(comparison):
    row = block(errors.build(comparison), "errors_documents").pairs["r0", "r2"][0]
    names = [task.name for task in comparison.tasks]
    child = comparison.runs[0].children[0]
    at = child.test.ids.index(row.id)
    left, right = (by_hand(comparison.run(key), comparison)[at] for key in ("r0", "r2"))
    for task, one, other, target in row.scores:
        t = names.index(task)
        assert (one, other) == pytest.approx((left[t], right[t]))
        assert target == bool(child.test.tasks[task].targets[at])
    distances = [abs(one - other) for _, one, other, _ in row.scores]
    assert distances == sorted(distances, reverse=True)


def test_all_positive_tasks_of_a_document_are_shown(comparison_of):
    comparison = comparison_of(runs=2, children=1, tasks=20)
    scores = comparison.runs[0].children[0].test
    for row in block(errors.build(comparison), "errors_documents").pairs["r0", "r1"]:
        at = scores.ids.index(row.id)
        positive = {name for name, task in scores.tasks.items() if task.targets[at] == 1}
        assert positive <= {task for task, *_ in row.scores}
        assert len(row.scores) <= 6 + len(positive)


def test_texts_of_the_documents_come_along(comparison):
    found = block(errors.build(comparison), "errors_documents")
    shown = {row.id for rows in found.pairs.values() for row in rows}
    assert set(found.texts) == shown
    assert found.missing == ""
    without = block(errors.build(replace(comparison, texts={})), "errors_documents")
    assert without.texts == {}
    assert "`mtlv compare --data PATH`" in without.missing


def test_a_text_of_the_baselines_corpus_never_stands_for_another_corpus(comparison_of):
    comparison = comparison_of(runs=4)
    foreign = tuple(replace(run, data_digest="ffff") for run in comparison.runs[2:])  # the same ids
    mixed = block(
        errors.build(replace(comparison, runs=(*comparison.runs[:2], *foreign))), "errors_documents"
    )
    others = {row.id for row in mixed.pairs["r2", "r3"]}
    assert others
    assert not others & mixed.texts.keys()
    assert set(mixed.texts) == {row.id for row in mixed.pairs["r0", "r1"]} - others
    if mixed.texts:
        assert "baseline's data" in mixed.missing


def test_runs_of_other_data_are_not_set_against_each_other(comparison):
    other = replace(comparison.runs[2], data_digest="ffff")
    section = errors.build(replace(comparison, runs=(*comparison.runs[:2], other)))
    assert set(block(section, "errors_documents").pairs) == {("r0", "r1")}


def test_a_run_agrees_with_itself(comparison):
    twin = replace(comparison.runs[0], key="r9", name="twin")
    section = errors.build(replace(comparison, runs=(comparison.runs[0], twin)))
    assert block(section, "errors_documents").pairs == {("r0", "r9"): []}


def test_cells_without_a_target_count_nowhere(comparison):
    run = comparison.runs[0]
    task = comparison.tasks[0].name

    def masked(child):
        old = child.test.tasks[task]
        tasks = {**child.test.tasks, task: replace(old, mask=np.zeros(len(old.mask), bool))}
        return replace(child, test=replace(child.test, tasks=tasks))

    gone = replace(run, children=tuple(map(masked, run.children)))
    pooled = by_document([child.test for child in gone.children], comparison.tasks).tasks[task]
    assert not pooled.known.any()
    section = errors.build(replace(comparison, runs=(gone, comparison.runs[1])))
    rows = block(section, "errors_documents").pairs["r0", "r1"]
    assert all(task not in [name for name, *_ in row.scores] for row in rows)
    assert not of(block(section, "errors_precision_recall").rows, "r0", task)


def test_pooled_scores_stand_below_each_other(comparison):
    run = comparison.runs[0]
    scores = one_after_the_other(run, "test")
    assert scores.ids == run.children[0].test.ids + run.children[1].test.ids
    assert one_after_the_other(without_scores(run), "test") is None


def test_the_section_says_of_how_many_documents_all_labels_are_right(comparison):
    first, second, third = (
        replace(
            run, children=tuple(replace(c, metrics={"test/subset_accuracy": share}) for c in run.children)
        )
        for run, share in zip(comparison.runs, (0.25, 0.75, 0.5), strict=True)
    )
    third = replace(third, children=tuple(replace(c, metrics={}) for c in third.children))
    text = errors.build(replace(comparison, runs=(first, second, third))).blocks[0].text
    assert f"“{first.name}” 25%, “{second.name}” 75%." in text
    assert third.name not in text
    nothing = errors.build(replace(comparison, runs=(third,), baseline=third.key))
    assert "all labels are right" not in getattr(nothing.blocks[0], "text", "")
