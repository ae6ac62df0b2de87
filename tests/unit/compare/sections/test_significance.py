"""Significance: SciPy's numbers over the children of each pair, and plain words about them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from drawing import block, of_runs, svg
from scipy import stats

from mtlv.compare.blocks import Text
from mtlv.compare.sections import significance
from mtlv.evaluation import decide
from mtlv.evaluation.bootstrap import document_weights
from mtlv.evaluation.metrics import Decisions, f1_macro, f1_micro
from mtlv.evaluation.significance import holm

F1 = "test/f1_macro"


def with_f1(comparison, **values):
    """The comparison with these macro F1 of the children, and no scores."""
    runs = []
    for run in comparison.runs:
        children = [
            replace(child, metrics={**child.metrics, F1: value}, test=None)
            for child, value in zip(run.children, values.get(run.key, run.values(F1)), strict=True)
        ]
        runs.append(replace(run, children=tuple(children)))
    return replace(comparison, runs=tuple(runs))


def words(section):
    return " ".join(one.text for one in section.blocks if isinstance(one, Text))


def test_every_p_is_scipys_on_the_runs_values(comparison_of):
    comparison = comparison_of(runs=4, children=8)
    rows = block(significance.build(comparison), "significance").rows
    assert len(rows) == 6
    known_w, known_t = [], []
    for row in rows:
        first, second = (comparison.run(row[key]).values(F1) for key in ("run", "other"))
        differences = np.round(np.subtract(first, second), 12)
        known_w.append(stats.wilcoxon(differences, method="exact").pvalue)
        known_t.append(stats.ttest_rel(first, second).pvalue)
        assert row["mean"] == pytest.approx(np.mean(first) - np.mean(second))
        assert row["n"] == 8
        assert row["interval_low"] <= row["mean"] <= row["interval_high"]
        assert row["d_z"] == pytest.approx(differences.mean() / differences.std(ddof=1))
    assert [row["wilcoxon_p"] for row in rows] == pytest.approx(known_w, rel=1e-10)
    assert [row["t_p"] for row in rows] == pytest.approx(known_t, rel=1e-6)
    assert [row["wilcoxon_holm"] for row in rows] == pytest.approx(holm(known_w))
    assert [row["t_holm"] for row in rows] == pytest.approx(holm(known_t), rel=1e-6)


def test_the_interval_over_documents_is_that_of_drawn_documents(comparison_of):
    comparison = comparison_of(runs=2, children=2)
    (row,) = block(significance.build(comparison), "significance").rows
    weights = document_weights(comparison.runs[0].children[0].test.ids)
    differences = np.zeros((2, len(weights)))
    for sign, run in ((1, "r1"), (-1, "r0")):
        for child in comparison.run(run).children:
            limits = {name: task["threshold"] for name, task in child.tasks.items()}
            d = decide(child.test, list(limits), limits)
            for i, often in enumerate(weights):
                places = np.repeat(np.arange(often.size), often.astype(int))
                drawn = Decisions.of(d.truth[places], d.predicted[places])
                differences[:, i] += sign * np.array([f1_macro(drawn), f1_micro(drawn)]) / 2
    for figure, values in zip(("documents", "documents_micro"), differences, strict=True):
        low, high = np.quantile(values, [0.025, 0.975])
        assert row[f"{figure}_low"] == pytest.approx(low, abs=1e-9)
        assert row[f"{figure}_high"] == pytest.approx(high, abs=1e-9)


def test_too_few_folds_give_no_wilcoxon_p_and_say_so(comparison_of):
    section = significance.build(comparison_of(runs=2, children=3))
    (row,) = block(section, "significance").rows
    assert row["wilcoxon_p"] is None
    assert row["wilcoxon_holm"] is None
    assert row["t_p"] is not None
    assert row["follows"].startswith("3 pairs are too few for Wilcoxon, whose p cannot be below 0.25.")
    assert "it needs at least 6 differences, there are 3 at most" in words(section)


@pytest.mark.parametrize(("runs", "title"), [(12, "Every pair of runs"), (13, "Pairs of runs")])
def test_it_does_not_claim_every_pair_where_runs_are_many(comparison_of, runs, title):
    table = block(significance.build(comparison_of(runs=runs, children=2, tasks=3)), "significance")
    assert table.title == title
    assert ("all others with the baseline" in table.caption) == (runs > 12)


def test_many_equal_folds_are_not_called_too_few(comparison_of):
    run = comparison_of(runs=1, children=8).runs[0]
    section = significance.build(
        replace(comparison_of(runs=1, children=8), runs=(run, replace(run, key="r1", name="twin")))
    )
    assert "equal on so many folds and seeds that fewer than 6 differences are left" in words(section)
    assert "there are 8 at most" not in words(section)


def test_one_split_has_no_test_but_its_documents(comparison_of):
    section = significance.build(comparison_of(runs=2, children=1))
    (row,) = block(section, "significance").rows
    assert (row["wilcoxon_p"], row["t_p"], row["interval"]) == (None, None, None)
    assert row["documents_low"] < row["mean"] < row["documents_high"]
    assert row["follows"].startswith("One fold and seed: no test is possible. Other test documents")
    assert "no test over training runs is possible" in words(section)
    assert "not the noise of training" in words(section)


UP = [0.51, 0.52, 0.53, 0.54, 0.55, 0.56]
EVEN = [0.5] * 6


@pytest.mark.parametrize(("values", "said"), [
    (UP, "Better by 0.035; both tests agree."),
    ([0.49, 0.48, 0.47, 0.46, 0.45, 0.44], "Worse by 0.035; both tests agree."),
    ([0.501, 0.502, 0.503, 0.504, 0.505, 0.9], "Better by 0.069; the t-test does not confirm it."),
    ([0.49, 0.51, 0.48, 0.53, 0.47, 0.54], "No difference shown, which is not the same as equal."),
    (EVEN, "Equal on every fold and seed."),
])  # fmt: skip
def test_what_follows_for_one_pair(comparison_of, values, said):
    comparison = with_f1(comparison_of(runs=2, children=6), r0=EVEN, r1=values)
    (row,) = block(significance.build(comparison), "significance").rows
    assert row["follows"] == said


def test_the_correction_counts_all_pairs(comparison_of):
    comparison = with_f1(comparison_of(runs=3, children=6), r0=EVEN, r1=UP, r2=[x + 0.1 for x in UP])
    section = significance.build(comparison)
    rows = {(row["run"], row["other"]): row for row in block(section, "significance").rows}
    assert rows["r1", "r0"]["wilcoxon_p"] == pytest.approx(0.03125)
    assert rows["r1", "r0"]["wilcoxon_holm"] == pytest.approx(0.09375)
    assert (
        rows["r1", "r0"]["follows"] == "Undecided: p = 0.031 does not survive the correction for all pairs."
    )
    assert "runs over the 3 Wilcoxon and the 2 t-tests" in block(section, "significance").caption
    assert "After a correction over 3 it would take 7 differences to reach it." in words(section)


def test_the_finding_names_the_largest_difference(comparison_of):
    comparison = with_f1(comparison_of(runs=2, children=6), r0=EVEN, r1=UP)
    assert words(significance.build(comparison)).startswith(
        "1 of 1 pair of runs differs by Wilcoxon's test at 0.05 after Holm's correction. The largest: “mtl · "
        "minilm” stands 0.035 above “stl · minilm”."
    )


def test_dependent_folds_and_seeds_alone_are_told_apart(comparison_of):
    folds = comparison_of(runs=2, children=4)
    fixed = tuple(replace(run, params={**run.params, "data.scheme": "fixed_test"}) for run in folds.runs)
    assert "share many of their training documents" in words(significance.build(folds))
    assert "share one test set and many of their training documents" in words(
        significance.build(replace(folds, runs=fixed))
    )
    two = tuple(
        replace(run, children=run.children[:2]) for run in folds.runs
    )  # they share no training document
    assert "Each fold trains on what the other is tested on" in words(
        significance.build(replace(folds, runs=two))
    )
    seeds = tuple(
        replace(run, children=tuple(replace(c, fold=0, seed=i) for i, c in enumerate(run.children)))
        for run in folds.runs
    )
    assert "The pairs differ by seed alone" in words(significance.build(replace(folds, runs=seeds)))


def test_without_scores_there_is_no_word_of_documents(comparison_of):
    section = significance.build(with_f1(comparison_of(runs=2, children=6)))
    assert block(section, "significance").rows[0]["documents"] is None
    assert "documents" not in words(section).replace("training documents", "")


def test_scores_of_other_documents_are_not_paired(comparison_of):
    comparison = comparison_of(runs=2, children=2)
    one, two = comparison.runs
    moved = tuple(
        replace(c, test=replace(c.test, ids=tuple(f"x{i}" for i in c.test.ids))) for c in two.children
    )
    section = significance.build(replace(comparison, runs=(one, replace(two, children=moved))))
    assert block(section, "significance").rows[0]["documents"] is None


def test_nothing_to_pair(comparison_of):
    assert significance.build(comparison_of(runs=1)) is None
    comparison = comparison_of(runs=2)
    bare = replace(
        comparison.runs[1], children=tuple(replace(c, metrics={}) for c in comparison.runs[1].children)
    )
    assert significance.build(replace(comparison, runs=(comparison.runs[0], bare))) is None


def test_the_forest_shows_the_tables_intervals(comparison_of):
    section = significance.build(comparison_of(runs=3, children=3))
    table, forest = block(section, "significance"), block(section, "significance_forest")
    for row in table.rows:
        mine = {one["over"]: one for one in of_runs(forest.rows, row["run"], row["other"])}
        assert mine["folds and seeds"]["low"] == row["interval_low"]
        assert mine["test documents"]["high"] == row["documents_high"]
        assert all(
            (one["verdict"] == "cannot tell") == (one["low"] <= 0 <= one["high"]) for one in mine.values()
        )
    drawing = svg(forest)
    assert "mtl  −  stl" in drawing.replace("\xa0", " ") or "mtl − stl" in drawing


def test_a_pair_without_any_interval_still_has_its_dot(comparison_of):
    section = significance.build(with_f1(comparison_of(runs=2, children=1)))
    (row,) = block(section, "significance_forest").rows
    assert (row["low"], row["verdict"]) == (None, "cannot tell")
    assert svg(block(section, "significance_forest"))


def test_names_from_data_stay_text(comparison_of):
    comparison = comparison_of(runs=2)
    named = replace(comparison.runs[1], name="<b>x</b>")
    section = significance.build(replace(comparison, runs=(comparison.runs[0], named)))
    assert "<b>x</b>" not in svg(block(section, "significance_forest"))
