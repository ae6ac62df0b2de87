"""Calibration: Brier scores, their differences, temperatures and the figure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from drawing import block, svg
from sklearn.metrics import brier_score_loss

from mtlv.comparison.sections import calibration
from mtlv.evaluation.calibration import brier_score, known_pairs, squared_errors, temperature


@pytest.fixture
def comparison(comparison_of):
    return comparison_of(runs=3, children=2)


def changed(run, split, change):
    """The run with other outputs of a part of the documents."""

    def other(scores):
        return scores.with_outputs({name: change(task) for name, task in scores.tasks.items()})

    children = [replace(child, **{split: other(getattr(child, split))}) for child in run.children]
    return replace(run, children=tuple(children))


def table(comparison):
    return {row["run"]: row for row in block(calibration.build(comparison), "calibration").rows}


def brier(child):
    outputs, targets = child.test.matrix(list(child.test.tasks))
    return brier_score_loss(targets.ravel(), outputs.ravel())


def test_scores_are_means_over_children(comparison):
    found = table(comparison)
    for run in comparison.runs:
        each = [brier(child) for child in run.children]
        assert found[run.key]["brier"] == pytest.approx(np.mean(each))
        assert found[run.key]["brier_sd"] == pytest.approx(np.std(each, ddof=1))


def test_differences_are_to_the_baseline_and_inside_their_intervals(comparison):
    found = table(comparison)
    assert found["r0"]["difference"] is None
    assert found["r0"]["interval"] is None
    for key in ("r1", "r2"):
        assert found[key]["difference"] == pytest.approx(found[key]["brier"] - found["r0"]["brier"])
        low, high = map(float, found[key]["interval"].replace("−", "-").split(" to "))
        assert low < found[key]["difference"] < high


def test_a_run_that_knows_the_truth_is_better(comparison):
    best = changed(comparison.runs[1], "test", lambda task: np.where(task.targets == 1, 0.95, 0.01))
    section = calibration.build(replace(comparison, runs=(comparison.runs[0], best, comparison.runs[2])))
    row = block(section, "calibration").rows[1]
    assert max(float(end) for end in row["interval"].replace("−", "-").split(" to ")) < 0
    assert (row["share"], row["probability"]) == (1.0, pytest.approx(0.95))
    text = section.blocks[0].text
    assert (
        f"“{best.name}” has the lowest Brier score, {row['brier']:.4f}. “{comparison.runs[0].name}” has"
        in text
    )
    assert f"(95% interval {row['interval']})" in text
    scores = [f"{each['calibrated']:.4f}" for each in (row, block(section, "calibration").rows[0])]
    assert f" Calibrated on validation: {' and '.join(scores)}." in text
    assert f"these are true: 100.0% of “{best.name}” (mean probability 95.0%)" in text


def test_temperatures_are_fitted_on_validation(comparison):
    before = table(comparison)
    logits = {
        split: changed(comparison.runs[1], split, lambda task: 1 / (1 + (1 / task.outputs - 1) ** 3))
        for split in ("test", "validation")
    }
    test, validation = (
        table(replace(comparison, runs=(comparison.runs[0], logits[split])))
        for split in ("test", "validation")
    )
    children = comparison.runs[1].children
    fitted = [temperature(*known_pairs(c.validation, list(c.test.tasks))) for c in children]
    assert before["r1"]["temperature"] == pytest.approx(np.mean(fitted))
    after = [
        brier_score(*squared_errors(c.test, list(c.test.tasks), t))
        for c, t in zip(children, fitted, strict=True)
    ]
    assert before["r1"]["calibrated"] == pytest.approx(np.mean(after))
    assert before["r1"]["calibrated"] != before["r1"]["brier"]
    assert test["r1"]["temperature"] == before["r1"]["temperature"]
    assert test["r1"]["brier"] != before["r1"]["brier"]
    assert validation["r1"]["temperature"] == pytest.approx(3 * before["r1"]["temperature"], rel=1e-3)
    assert validation["r1"]["brier"] == before["r1"]["brier"]


def test_runs_of_other_documents_have_no_difference(comparison):
    other = replace(comparison.runs[1], data_digest="of others")
    found = table(replace(comparison, runs=(comparison.runs[0], other, comparison.runs[2])))
    assert (found["r1"]["difference"], found["r1"]["interval"]) == (None, None)
    assert found["r2"]["interval"]
    children = [replace(c, test=replace(c.test, ids=c.test.ids[::-1])) for c in comparison.runs[1].children]
    turned = replace(comparison.runs[1], children=tuple(children))
    found = table(replace(comparison, runs=(comparison.runs[0], turned, comparison.runs[2])))
    assert (found["r1"]["difference"], found["r1"]["interval"]) == (None, None)


def test_runs_of_other_tasks_are_not_ranked(comparison):
    run = comparison.runs[1]
    children = [replace(c, tasks=dict(list(c.tasks.items())[1:])) for c in run.children]
    runs = (comparison.runs[0], replace(run, children=tuple(children)))
    other = replace(comparison, runs=(comparison.runs[0], replace(run, data_digest="of others")))
    for section in map(calibration.build, (replace(comparison, runs=runs), other)):
        assert "so their scores cannot be compared" in section.blocks[0].text
        assert "lowest" not in section.blocks[0].text
        assert not any(column.best for column in block(section, "calibration").columns)


def test_runs_that_learned_nothing_are_not_ranked(comparison, monkeypatch):
    best = changed(comparison.runs[1], "test", lambda task: np.where(task.targets == 1, 0.95, 0.01))
    comparison = replace(comparison, runs=(comparison.runs[0], best, comparison.runs[2]))
    monkeypatch.setattr(calibration, "learned_nothing", lambda _: [best])
    section = calibration.build(comparison)
    assert f"“{best.name}”" not in section.blocks[0].text
    assert "has the lowest Brier score" in section.blocks[0].text
    assert not any(column.best for column in block(section, "calibration").columns)
    monkeypatch.setattr(calibration, "learned_nothing", lambda _: [comparison.runs[0]])
    assert comparison.runs[0].name not in calibration.build(comparison).blocks[0].text
    monkeypatch.setattr(calibration, "learned_nothing", lambda given: list(given.runs))
    assert calibration.build(comparison).blocks[0].text.startswith(calibration.NOTHING)


def test_intervals_rest_on_the_documents_of_their_pair(comparison):
    whole = table(comparison)["r1"]["interval"]
    few = [of_rows(child, np.arange(4)) for child in comparison.runs[2].children]
    small = replace(comparison.runs[2], data_digest="of others", children=tuple(few))
    found = table(replace(comparison, runs=(*comparison.runs[:2], small)))
    assert (found["r1"]["interval"], found["r2"]["interval"]) == (whole, None)

    def known(child):
        tasks = {
            name: replace(task, mask=np.arange(len(task.mask)) < 2) for name, task in child.test.tasks.items()
        }
        return replace(child, test=replace(child.test, tasks=tasks))

    rare = [replace(run, children=tuple(map(known, run.children))) for run in comparison.runs]
    assert table(replace(comparison, runs=tuple(rare)))["r1"]["interval"] is None


def of_rows(child, rows):
    """The child with these test documents only."""
    test = child.test
    tasks = {
        name: replace(t, outputs=t.outputs[rows], targets=t.targets[rows], mask=t.mask[rows])
        for name, t in test.tasks.items()
    }
    groups = None if test.groups is None else tuple(test.groups[row] for row in rows)
    ids = tuple(test.ids[row] for row in rows)
    return replace(child, test=replace(test, ids=ids, tasks=tasks, groups=groups))


def test_without_scores_or_yes_no_tasks_there_is_no_section(comparison):
    def without(run):
        return replace(run, children=tuple(replace(c, test=None, validation=None) for c in run.children))

    assert calibration.build(replace(comparison, runs=tuple(map(without, comparison.runs)))) is None
    some = calibration.build(replace(comparison, runs=(without(comparison.runs[0]), *comparison.runs[1:])))
    assert {row["run"] for row in block(some, "calibration").rows} == {"r1", "r2"}
    first, *others = comparison.runs[0].children
    part = replace(comparison.runs[0], children=(replace(first, validation=None), *others))
    row = table(replace(comparison, runs=(part, *comparison.runs[1:])))["r0"]
    assert (row["temperature"] > 0, row["calibrated"]) == (True, None)
    assert "difference" not in {column.key for column in block(some, "calibration").columns}
    numbers = tuple(replace(task, kind="regression") for task in comparison.tasks)
    assert calibration.build(replace(comparison, tasks=numbers)) is None


def test_the_figure_shows_bins_with_enough_predictions(comparison, comparison_of):
    small = comparison_of(runs=1, children=1, tasks=3)
    rows = block(calibration.build(small), "reliability").rows
    assert sum(row["count"] for row in rows) < len(small.runs[0].children[0].test.ids) * 3
    assert min(row["count"] for row in rows) >= calibration.FEWEST
    figure = block(calibration.build(comparison), "reliability")
    for row in figure.rows:
        assert row["low"] - 1e-9 <= row["share"] <= row["high"] + 1e-9
    drawing = svg(figure)
    assert "mean probability" in drawing
    assert all(run.architecture in drawing for run in comparison.runs)
