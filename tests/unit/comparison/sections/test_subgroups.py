"""Subgroups: scores, differences to the other documents, and groups that are too small."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from drawing import block, svg
from mixed import a_mixed_comparison

from mtlv.comparison.sections import subgroups
from mtlv.evaluation.calibration import calibration_error, known_pairs, reliability
from mtlv.evaluation.compared_runs import Comparison
from mtlv.evaluation.metrics import evaluate
from mtlv.plan import Scores, TaskScores


def columns_of(comparison: Comparison, **names: np.ndarray) -> dict[str, dict[str, frozenset[str]]]:
    """Groups of the test documents, by a column of names."""
    ids = np.array(comparison.runs[0].children[0].test.ids)
    return {
        column: {name: frozenset(ids[values == name].tolist()) for name in dict.fromkeys(values.tolist())}
        for column, values in names.items()
    }


@pytest.fixture
def comparison(comparison_of) -> Comparison:
    plain = comparison_of(runs=2, children=2, tasks=3)
    sex = np.where(np.arange(120) % 3 == 0, "F", "M")
    site = np.where(np.arange(120) < 100, "A", "B")
    return replace(plain, subgroups=columns_of(plain, sex=sex, site=site))


def rows_of(comparison: Comparison) -> dict[tuple[str, str], dict]:
    rows = block(subgroups.build(comparison), "subgroups").rows
    return {(row["run"], row["group"]): row for row in rows}


def restricted(test: Scores, ids: frozenset[str]) -> Scores:
    rows = [row for row, id_ in enumerate(test.ids) if id_ in ids]
    tasks = {
        name: TaskScores(task.outputs[rows], task.targets[rows], task.mask[rows])
        for name, task in test.tasks.items()
    }
    return Scores(test.units, test.part, tuple(test.ids[row] for row in rows), tasks)


def macro_f1(run, ids: frozenset[str]) -> float:
    names = list(run.children[0].test.tasks)
    return float(
        np.mean(
            [
                evaluate(
                    restricted(child.test, ids),
                    names,
                    {name: child.tasks[name]["threshold"] for name in names},
                ).plan.f1_macro
                for child in run.children
            ]
        )
    )


def test_scores_are_those_of_the_groups_own_documents(comparison):
    rows, groups = rows_of(comparison), comparison.subgroups["sex"]
    for run in comparison.runs:
        women, men = (macro_f1(run, groups[name]) for name in "FM")
        row = rows[run.key, "sex: F"]
        assert row["score"] == pytest.approx(women)
        assert row["difference"] == pytest.approx(women - men)
        assert row["difference_low"] < row["difference"] < row["difference_high"]
        assert row["difference"] == -rows[run.key, "sex: M"]["difference"]
        assert (row["documents"], row["tasks"]) == (40, 3)
        tests = [restricted(child.test, groups["F"]) for child in run.children]
        pairs = zip(*(known_pairs(test, list(test.tasks)) for test in tests), strict=True)
        assert row["error"] == pytest.approx(calibration_error(reliability(*map(np.concatenate, pairs))))
        truth = known_pairs(tests[0], list(tests[0].tasks))[1]
        assert row["positive"] == truth.sum()


def test_small_groups_and_those_beside_them_are_listed_but_not_judged(comparison):
    section = subgroups.build(comparison)
    for name in "AB":  # A has 20 others
        row = rows_of(comparison)["r0", f"site: {name}"]
        assert row["conclusion"] == subgroups.SMALL
        assert row["p"] is None
        assert "score" not in row
    assert {row["group"] for row in block(section, "subgroups_differences").rows} == {"sex: F", "sex: M"}
    assert svg(block(section, "subgroups_differences")).count("sex: F") >= 1


def test_documents_that_are_resampled_together_count_once(comparison):
    def grouped(run):
        patients = tuple(f"patient {n // 8}" for n in range(120))  # 15 patients
        children = [replace(child, test=replace(child.test, groups=patients)) for child in run.children]
        return replace(run, children=tuple(children))

    rows = rows_of(replace(comparison, runs=tuple(map(grouped, comparison.runs))))
    assert {row["tasks"] for row in rows.values()} == {0}


def test_groups_with_few_positive_labels_are_not_judged(comparison):
    (first, *_), ids = comparison.runs, comparison.runs[0].children[0].test.ids
    tests = [child.test for child in first.children]
    positive = np.any([task.targets == 1 for test in tests for task in test.tasks.values()], axis=0)
    rare = np.flatnonzero(~positive)[:35].tolist() + np.flatnonzero(positive)[:2].tolist()
    names = np.array(["rare" if n in rare else "rest" for n in range(len(ids))])
    rows = rows_of(replace(comparison, subgroups=columns_of(comparison, column=names)))
    assert rows["r0", "column: rare"]["documents"] == 37
    assert 0 < rows["r0", "column: rare"]["positive"] < 10
    assert {row["conclusion"] for row in rows.values()} == {subgroups.SMALL}


def test_a_group_without_the_few_errors_of_a_run_is_not_called_better(comparison):
    """None of 5 errors is in a third of the documents in one of 8 cases; no resample of it has one."""
    first, second = comparison.runs
    men = sorted(comparison.subgroups["sex"]["M"])
    rows = rows_of(replace(comparison, runs=(worse_on(first, frozenset(men[:5]), right=True), second)))
    assert rows["r0", "sex: F"]["score"] == 1
    assert rows["r0", "sex: F"]["difference"] > 0
    assert rows["r0", "sex: F"]["conclusion"] == subgroups.OPEN
    assert rows["r0", "sex: F"]["p"] == rows["r0", "sex: M"]["p"] > 0.1


def test_documents_that_are_resampled_together_are_dealt_together(comparison):
    test = comparison.runs[0].children[0].test
    patients = [f"patient {n // 4}" for n in range(100)]
    everyone, ids = frozenset(test.ids[:100]), frozenset(test.ids[:40])
    units = (*patients, *test.ids[100:])
    dealt = subgroups._deal(test.ids, units, ids, everyone)
    assert dealt[0, :40].all()
    assert not dealt[0, 40:].any()
    assert set(dealt.sum(axis=1)) == {40}
    assert not dealt[:, 100:].any()
    by_patient = dealt[:, :100].reshape(len(dealt), 25, 4)
    assert (by_patient == by_patient[:, :, :1]).all()
    assert len(np.unique(dealt, axis=0)) > 900


def worse_on(run, ids: frozenset[str], *, right: bool = False):
    """The run with the opposite answers for these documents, and perhaps the right ones for the others."""

    def wrong(test: Scores) -> Scores:
        rows = np.array([id_ in ids for id_ in test.ids])
        return test.with_outputs(
            {
                name: np.where(rows, 1 - task.targets, task.targets if right else task.outputs)
                for name, task in test.tasks.items()
            }
        )

    return replace(run, children=tuple(replace(child, test=wrong(child.test)) for child in run.children))


def test_a_group_that_a_run_fails_on_is_named(comparison):
    first, second = comparison.runs
    failing = worse_on(first, comparison.subgroups["sex"]["F"])
    changed = replace(comparison, runs=(failing, second))
    rows = rows_of(changed)
    assert rows["r0", "sex: F"]["conclusion"] == subgroups.LOWER
    assert rows["r0", "sex: M"]["conclusion"] == subgroups.HIGHER
    assert rows["r0", "sex: F"]["p"] == pytest.approx(
        2 / 1001
    )  # of two groups; only the group itself is so bad
    assert rows["r1", "sex: F"]["conclusion"] == subgroups.OPEN
    text = subgroups.build(changed).blocks[0].text
    assert f"“sex: F” (lower for “{first.name}”), “sex: M” (higher for “{first.name}”)" in text
    assert second.name not in text


def test_p_values_are_corrected_for_the_groups_of_a_run(comparison):
    sex = comparison.subgroups["sex"]
    one = rows_of(replace(comparison, subgroups={"sex": sex}))["r0", "sex: F"]
    two = rows_of(replace(comparison, subgroups={"sex": sex, "again": sex}))["r0", "sex: F"]
    assert 0 < one["p"] <= 1
    assert two["p"] == pytest.approx(min(1.0, 2 * one["p"]))


def test_there_is_no_section_without_subgroups_or_for_other_data(comparison):
    assert subgroups.build(replace(comparison, subgroups={})) is None
    other = replace(comparison.runs[1], data_digest="other")
    section = subgroups.build(replace(comparison, runs=(comparison.runs[0], other)))
    assert {row["run"] for row in block(section, "subgroups").rows} == {"r0"}
    assert f"“{other.name}” (other data" in section.blocks[0].text


def test_other_kinds_are_judged_by_enough_targets():
    plain = a_mixed_comparison()
    names = np.array(["F", "M"] * 60)
    few = rows_of(replace(plain, subgroups=columns_of(plain, sex=names)))  # 15 targets of each kind
    assert few["r0", "sex: F"]["tasks"] == 0
    task = plain.tasks[1]
    targets, outputs = np.arange(120) % 3, np.eye(3)[np.arange(120) % 3]
    wrong = np.where(names[:, None] == "F", np.roll(outputs, 1, axis=1), outputs)
    scores = {task.name: TaskScores(wrong, targets, np.ones(120, bool))}
    (first, *_) = plain.runs
    children = tuple(replace(c, test=replace(c.test, tasks=scores)) for c in first.children)
    run = replace(first, children=children)
    rows = rows_of(replace(plain, runs=(run,), tasks=(task,), subgroups=columns_of(plain, sex=names)))
    assert (rows["r0", "sex: F"]["score"], rows["r0", "sex: M"]["score"]) == (pytest.approx(0, abs=0.6), 1.0)
    assert rows["r0", "sex: F"]["difference"] < 0
    assert "error" not in rows["r0", "sex: F"]


def test_tasks_whose_metric_is_no_sum_are_left_out(comparison):
    ranked = replace(comparison.tasks[2], kind="regression", main_metric="spearman")
    section = subgroups.build(replace(comparison, tasks=(*comparison.tasks[:2], ranked)))
    assert {row["tasks"] for row in block(section, "subgroups_differences").rows} == {2}
    assert f"“{ranked.name}” (its metric is not a sum" in section.blocks[0].text
