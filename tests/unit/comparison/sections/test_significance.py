"""Significance: SciPy's numbers over the children of each pair, and plain words about them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from drawing import block, of_runs, svg
from scipy import stats

from mtlv.comparison.blocks import TextBlock
from mtlv.comparison.sections import significance
from mtlv.evaluation.bootstrap import document_weights
from mtlv.evaluation.metrics import Decisions, decide, f1_macro, f1_micro
from mtlv.evaluation.significance import holm

F1 = "test/f1_macro"


def with_f1(comparison, *, scores=False, seeds=1, **values):
    """The comparison with these macro F1 of the children, a fold each or `seeds` of them in a fold.

    With the scores of the children where they have any.
    """
    runs = []
    for run in comparison.runs:
        held = values.get(run.key, run.values(F1))
        children = [
            replace(
                run.children[i % len(run.children)],
                fold=i // seeds,
                seed=i % seeds,
                metrics={**run.children[0].metrics, F1: value},
                test=run.children[i % len(run.children)].test if scores else None,
            )
            for i, value in enumerate(held)
        ]
        runs.append(replace(run, children=tuple(children)))
    return replace(comparison, runs=tuple(runs))


def rows_of(section, id="significance"):
    return {(row["run"], row["other"]): row for row in block(section, id).rows}


def words(section):
    return " ".join(one.text for one in section.blocks if isinstance(one, TextBlock))


def test_every_p_is_scipys_on_the_runs_values(comparison_of):
    comparison = with_f1(comparison_of(runs=4, children=8))
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
    assert_ends(row, comparison, weights, units=120)


def assert_ends(row, comparison, weights, *, units):
    """The row's intervals over documents are those of a plain loop over the draws."""
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
        tail = stats.norm.cdf(-stats.t.ppf(0.975, units - 1) * np.sqrt(units / (units - 1)))
        low, high = np.quantile(values, [tail, 1 - tail])
        assert row[f"{figure}_low"] == pytest.approx(low, abs=1e-9)
        assert row[f"{figure}_high"] == pytest.approx(high, abs=1e-9)


def test_too_few_folds_give_no_wilcoxon_p_and_say_so(comparison_of):
    section = significance.build(comparison_of(runs=2, children=3))
    (row,) = block(section, "significance").rows
    assert row["wilcoxon_p"] is None
    assert row["wilcoxon_holm"] is None
    assert row["t_p"] is not None
    assert row["follows"].startswith("3 pairs are too few for Wilcoxon, whose p cannot be below 0.25.")
    assert "it needs at least 6 differences, but there are at most 3" in words(section)


@pytest.mark.parametrize(("runs", "title"), [(12, "Every pair of runs"), (13, "Pairs of runs")])
def test_it_does_not_claim_every_pair_where_runs_are_many(comparison_of, runs, title):
    table = block(significance.build(comparison_of(runs=runs, children=2, tasks=3)), "significance")
    assert table.title == title
    assert ("all others with the baseline" in table.caption) == (runs > 12)


def test_many_equal_folds_are_not_called_too_few(comparison_of):
    comparison = with_f1(comparison_of(runs=1, children=8))
    run = comparison.runs[0]
    section = significance.build(replace(comparison, runs=(run, replace(run, key="r1", name="twin"))))
    assert "equal on too many folds and seeds, so that fewer than 6 differences are left" in words(section)
    assert "at most 8" not in words(section)


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


ONE_FAR_DOWN = [*(0.51 + 0.001 * i for i in range(11)), 0.0]
FOUR_UP = [0.55, 0.56, 0.54, 0.55, 0.57, 0.499, 0.498]
FEW = "3 pairs are too few for Wilcoxon, whose p cannot be below 0.25."


@pytest.mark.parametrize(("values", "said"), [
    (UP, "Better by 0.035, on 6 of 6 folds: both tests agree."),
    ([0.49, 0.48, 0.47, 0.46, 0.45, 0.44], "Worse by 0.035, on 6 of 6 folds: both tests agree."),
    ([0.51] * 6, "Better by 0.010, on 6 of 6 folds, by Wilcoxon's test alone. All differences are equal, so "
     "there is no t."),
    (ONE_FAR_DOWN, "The tests disagree: better on 11 of 12 folds by Wilcoxon's test, while the mean is "
     "−0.028 and the t-test shows no difference."),
    ([1 - x for x in ONE_FAR_DOWN], "The tests disagree: worse on 11 of 12 folds by Wilcoxon's test, while "
     "the mean is +0.028 and the t-test shows no difference."),
    ([0.501, 0.502, 0.503, 0.504, 0.505, 0.9], "The tests disagree: better on 6 of 6 folds by Wilcoxon's "
     "test, while the mean is +0.069 and the t-test shows no difference."),
    (FOUR_UP, "The tests disagree: better by 0.038 by the t-test, while Wilcoxon's test shows no difference "
     "(better on 5 of 7 folds)."),
    ([1 - x for x in FOUR_UP], "The tests disagree: worse by 0.038 by the t-test, while Wilcoxon's test "
     "shows no difference (worse on 5 of 7 folds)."),
    ([0.51, 0.511, 0.512], f"Better by 0.011, on 3 of 3 folds, by the t-test alone. {FEW}"),
    ([0.49, 0.51, 0.48, 0.53, 0.47, 0.54], "No difference shown, which is not the same as equal."),
    ([0.49, 0.51, 0.5], f"{FEW} The t-test shows no difference, which is not the same as equal."
     .replace("3 pairs", "2 unequal pairs").replace("0.25", "0.5")),
    ([0.51, 0.51, 0.51], f"{FEW} All differences are equal, so there is no t."),
    ([0.6], "One fold and seed: no test is possible."),
    ([0.6, 0.7], "Only 2 folds: no test is possible."),
    (EVEN, "Equal for every fold."),
])  # fmt: skip
def test_what_follows_for_one_pair(comparison_of, values, said):
    comparison = with_f1(comparison_of(runs=2, children=6), r0=[0.5] * len(values), r1=values)
    section = significance.build(comparison)
    (row,), (dot,) = block(section, "significance").rows, block(section, "significance_forest").rows
    assert row["follows"] == said
    coloured = {"Bet": "run is better", "Wor": "other is better"}.get(said[:3], "cannot tell")
    assert dot["verdict"] == row["verdict"] == ("cannot tell" if "disagree" in said else coloured)


def test_the_correction_counts_all_pairs(comparison_of):
    comparison = with_f1(comparison_of(runs=3, children=6), r0=EVEN, r1=UP, r2=[x + 0.1 for x in UP])
    section = significance.build(comparison)
    row = rows_of(section)["r1", "r0"]
    assert row["wilcoxon_p"] == pytest.approx(0.03125)
    assert row["wilcoxon_holm"] == pytest.approx(0.09375)
    assert row["follows"] == (
        "Better by 0.035, on 6 of 6 folds, by the t-test alone, corrected for 3 pairs of runs. 6 pairs are "
        "too few for Wilcoxon's test after the correction."
    )
    assert "covers the 3 Wilcoxon and the 2 t-tests" in block(section, "significance").caption
    assert "After the correction for 3 pairs of runs, Wilcoxon's test would need 7 differences" in words(
        section
    )


DOUBTFUL = [0.51, 0.52, 0.521]


def test_the_t_test_alone_counts_after_the_correction(comparison_of):
    two = with_f1(comparison_of(runs=2, children=3), r0=[0.5] * 3, r1=DOUBTFUL)
    assert rows_of(significance.build(two))["r1", "r0"]["follows"].startswith("Better by 0.017, on 3 of 3")
    three = with_f1(comparison_of(runs=3, children=3), r0=[0.5] * 3, r1=DOUBTFUL, r2=[0.6, 0.3, 0.5])
    section = significance.build(three)
    row = rows_of(section)["r1", "r0"]
    assert row["t_p"] < 0.05 < row["t_holm"]
    assert (
        row["follows"] == "Undecided: p = 0.04 (t-test) does not survive the correction for 3 pairs of runs."
    )
    assert row["verdict"] == rows_of(section, "significance_forest")["r1", "r0"]["verdict"] == "cannot tell"


def test_both_tests_agree_after_the_correction_only(comparison_of):
    up = [0.501 + 0.001 * i for i in range(9)] + [0.53]
    other = [0.5 + 0.01 * (-1) ** i for i in range(10)]
    runs = with_f1(comparison_of(runs=3, children=3), r0=[0.5] * 10, r1=up, r2=other)
    row = rows_of(significance.build(runs))["r1", "r0"]
    assert row["wilcoxon_holm"] <= 0.05
    assert row["t_p"] <= 0.05 < row["t_holm"]
    assert row["follows"] == (
        "The tests disagree, corrected for 3 pairs of runs: better on 10 of 10 folds by Wilcoxon's test, "
        "while the mean is +0.007 and the t-test shows no difference."
    )


def test_enough_folds_for_the_correction_are_not_called_too_few(comparison_of):
    up = [*UP, 0.57]  # 7 differences, which a correction over 3 asks for
    comparison = with_f1(comparison_of(runs=3, children=7), r0=[0.5] * 7, r1=up, r2=[x + 0.1 for x in up])
    section = significance.build(comparison)
    assert "After the correction for" not in words(section)
    assert "both tests agree, corrected for 3 pairs" in rows_of(section)["r1", "r0"]["follows"]


def test_the_finding_names_the_largest_difference(comparison_of):
    comparison = with_f1(comparison_of(runs=2, children=6), r0=EVEN, r1=UP)
    assert words(significance.build(comparison)).startswith(
        "By all tests that can decide, 1 of 1 pair of runs differs at 0.05 after Holm's correction. Largest "
        "difference: “mtl · minilm” is 0.035 above “stl · minilm”."
    )
    turned = with_f1(comparison_of(runs=2, children=6), r0=UP, r1=EVEN)
    assert "is 0.035 below “stl" in words(significance.build(turned))
    far = [value + 0.2 + 0.001 * place for place, value in enumerate(UP)]
    both = words(significance.build(with_f1(comparison_of(runs=3, children=6), r0=EVEN, r1=UP, r2=far)))
    assert ", 3 of 3 pairs of runs differ" in both
    assert "is 0.238 above “stl" in both


def test_the_finding_counts_tests_that_disagree(comparison_of):
    comparison = with_f1(comparison_of(runs=2, children=6), r0=[0.5] * 12, r1=ONE_FAR_DOWN)
    assert words(significance.build(comparison)).startswith(
        "By all tests that can decide, 0 of 1 pair of runs differ at 0.05 after Holm's correction. On 1 pair "
        "of runs the tests disagree."
    )


def test_seeds_of_a_fold_count_once(comparison_of):
    folds = with_f1(comparison_of(runs=2, children=4), seeds=2, r0=EVEN, r1=UP)
    section = significance.build(folds)
    (row,) = block(section, "significance").rows
    assert (row["n"], row["paired_by"]) == (3, "fold")
    assert row["mean"] == pytest.approx(0.035)
    assert row["t_p"] == pytest.approx(stats.ttest_1samp([0.015, 0.035, 0.055], 0).pvalue)
    assert "The seeds of a fold are averaged" in words(section)
    assert (
        "Each row compares two runs with the same data on 3 folds." in block(section, "significance").caption
    )
    seeds = significance.build(with_f1(comparison_of(runs=2, children=4), seeds=6, r0=EVEN, r1=UP))
    (row,) = block(seeds, "significance").rows
    assert (row["n"], row["paired_by"]) == (6, "seed")
    assert row["follows"] == "Better by 0.035, on 6 of 6 seeds: both tests agree."
    assert "seeds of a fold are averaged" not in words(seeds)
    assert "tests and intervals cover the noise of training on one split" in words(seeds)


@pytest.mark.parametrize(("skill", "said"), [
    (0.0, "Other test documents could change the sign."),
    (1.0, "Other test documents would not change the sign."),
])  # fmt: skip
def test_what_other_documents_would_do(comparison_of, skill, said):
    comparison = comparison_of(runs=2, children=1)
    first, second = comparison.runs
    child = first.children[0]
    outputs = {
        name: (1 - skill) * task.outputs + skill * task.targets for name, task in child.test.tasks.items()
    }
    better = replace(child, run_id="x", test=child.test.with_outputs(outputs))
    section = significance.build(replace(comparison, runs=(first, replace(second, children=(better,)))))
    (row,) = block(section, "significance").rows
    assert row["follows"] == f"One fold and seed: no test is possible. {said}"
    assert (row["documents_low"] > 0) == (skill == 1)
    kept = "for 1 of 1 pair of runs" if skill else "for 0 of 1 pair of runs"
    assert (
        f"the difference keeps its sign {kept} (about 0.1 would be expected without real differences)"
        in words(section)
    )
    assert {one["verdict"] for one in block(section, "significance_forest").rows} == {"cannot tell"}


def test_what_other_documents_would_do_is_said_of_how_many_pairs(comparison_of):
    comparison = comparison_of(runs=3, children=1)
    (child,) = comparison.runs[2].children
    outputs = {name: task.targets.astype(float) for name, task in child.test.tasks.items()}
    good = replace(comparison.runs[2], children=(replace(child, test=child.test.with_outputs(outputs)),))
    found = rows_of(significance.build(replace(comparison, runs=(*comparison.runs[:2], good))))
    said = "Other test documents would not change the sign (not corrected for 3 pairs of runs)."
    assert said in found["r2", "r0"]["follows"]


def in_groups(comparison, groups):
    """The comparison with these groups of its test documents, for each run in turn."""
    runs = [
        replace(run, children=tuple(replace(c, test=replace(c.test, groups=each)) for c in run.children))
        for run, each in zip(comparison.runs, groups, strict=True)
    ]
    return replace(comparison, runs=tuple(runs))


def test_documents_that_belong_together_are_drawn_together(comparison_of):
    comparison = comparison_of(runs=2, children=2)
    thirty = tuple(str(i // 4) for i in range(120))
    alone = tuple(str(i) for i in range(120))

    def of(*groups):
        section = significance.build(in_groups(comparison, groups))
        return block(section, "significance").rows[0], words(section)

    row, said = of(thirty, thirty)
    weights = document_weights(comparison.runs[0].children[0].test.ids, thirty)
    assert (weights[:, :1] == weights[:, :4]).all()
    assert_ends(row, comparison, weights, units=30)
    singly, of_singly = of(alone, alone)
    assert (row["documents_groups"], singly["documents_groups"]) == (30, 120)
    assert (row["documents_low"], row["documents_high"]) != (
        singly["documents_low"],
        singly["documents_high"],
    )
    assert "are drawn together: 30 groups contain 120 documents." in said
    assert "drawn together" not in of_singly
    assert "not known" not in said + of_singly
    unknown, of_unknown = of(None, None)  # as an earlier release stored them
    assert (unknown["documents_groups"], unknown["documents_low"]) == (None, singly["documents_low"])
    assert "(sentences of one abstract) are not known" in of_unknown
    assert of(None, thirty) == of(thirty, thirty)  # the documents are the same
    few, _ = of(*[tuple(str(i % 4) for i in range(120))] * 2)
    assert few["documents"] is None


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
    assert "The pairs differ only by seed" in words(significance.build(replace(folds, runs=seeds)))


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
        assert mine["folds and seeds"]["verdict"] == row["verdict"]
        assert mine["test documents"]["verdict"] in (row["verdict"], "cannot tell")
    drawing = svg(forest)
    assert ">mtl −<" in drawing
    assert ">stl<" in drawing


def test_a_line_that_holds_zero_has_no_colour(comparison_of):
    up = with_f1(comparison_of(runs=2, children=6), scores=True, r0=EVEN, r1=UP)
    same = replace(up.runs[1], children=tuple(
        replace(c, test=a.test) for c, a in zip(up.runs[1].children, up.runs[0].children, strict=True)
    ))  # fmt: skip
    section = significance.build(replace(up, runs=(up.runs[0], same)))
    lines = {row["over"]: row["verdict"] for row in block(section, "significance_forest").rows}
    assert lines == {"folds and seeds": "run is better", "test documents": "cannot tell"}


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
