"""Runs that learned nothing are not ranked, and conclusions on runs not trained to the end are marked."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from statistics import fmean

import pytest
from drawing import block
from looking import findings

from mtlv.comparison.files import as_json
from mtlv.comparison.pairwise_tests import compare_main_scores
from mtlv.comparison.sections import cost, curves, overview, significance, tasks
from mtlv.evaluation.compared_runs import ComparedFold, ComparedRun, Comparison, Curve
from mtlv.evaluation.reference import Gain, Lag
from mtlv.evaluation.significance import Interval
from mtlv.reporting.learned_words import NOTHING

Make = Callable[..., Comparison]
ENDED, GOING = [(0, 0.5), (1, 0.5)], [(0, 0.25), (1, 0.5)]


def known(run: ComparedRun, curve: Curve = ENDED, constant: float = 0.0) -> ComparedRun:
    """The run with a validation curve, and with a constant answer of so much F1 on every task."""

    def child(held: ComparedFold) -> ComparedFold:
        figures = {name: {**values, "constant": constant} for name, values in held.tasks.items()}
        return replace(held, tasks=figures, curves={**held.curves, "val/f1_macro": curve})

    return replace(run, children=tuple(map(child, run.children)))


def best_first(comparison: Comparison) -> list[ComparedRun]:
    return sorted(comparison.runs, key=lambda run: -sum(run.mains) / len(run.mains))


def changed(comparison: Comparison, *runs: ComparedRun) -> Comparison:
    by_key = {run.key: run for run in runs}
    return replace(comparison, runs=tuple(by_key.get(run.key, run) for run in comparison.runs))


def test_runs_of_earlier_releases_are_compared_as_before(comparison_of: Make) -> None:
    comparison = comparison_of()
    assert "note" not in [column.key for column in block(overview.build(comparison), "overview").columns]
    (run, *_) = json.loads(as_json(comparison, ()))["runs"]
    assert run["not_learned"] is None
    everyone = changed(comparison, *map(known, comparison.runs))
    assert len(compare_main_scores(everyone)) == len(compare_main_scores(comparison)) > 0


def test_the_average_precision_of_a_task_that_was_not_learned_is_known(comparison_of: Make) -> None:
    comparison = comparison_of(children=2)
    run = known(comparison.runs[0], constant=1.0)
    for each in changed(comparison, run).learning(run).unlearned:
        assert each.average_precision == pytest.approx(
            fmean(run.of_task(each.task.name, "average_precision"))
        )


def test_the_children_with_both_scores_are_compared_with_a_bag_of_words(comparison_of: Make) -> None:
    comparison = comparison_of(children=3)
    run = comparison.runs[0]

    def with_words(*counts: float | None) -> Comparison:
        found = (
            replace(child, metrics=child.metrics | ({} if value is None else {"test/bag_of_words": value}))
            for child, value in zip(run.children, counts, strict=True)
        )
        return changed(comparison, replace(run, children=tuple(found)))

    first, second, _ = run.mains
    some = with_words(first - 0.1, second + 0.3, None)
    assert comparison.learning(run).beside is None
    assert some.learning(some.runs[0]).beside == pytest.approx(
        ((first + second) / 2, (first + second) / 2 + 0.1)
    )
    assert some.learning(some.runs[0]).behind
    assert not with_words(first - 0.1, None, None).learning(run).behind
    ahead = with_words(first - 0.1, None, None).runs[0]
    assert comparison.learning(ahead).gain is None
    sure = changed(comparison, replace(ahead, words_interval=Interval(0.05, 0.2)))
    assert sure.learning(run).gain == Gain(pytest.approx(0.1), Interval(0.05, 0.2), True)
    table = block(overview.build(some), "overview_costs")
    row = table.rows[0]
    assert row["note"] == "no better than a bag of words"
    assert row["bag_of_words"] == pytest.approx((first + second) / 2 + 0.1)
    assert table.caption.endswith("TF-IDF and a linear model per task on the same documents.")
    assert "bag of words" not in block(overview.build(comparison), "overview_costs").caption


def test_tasks_behind_a_bag_of_words_are_known(comparison_of: Make) -> None:
    comparison = comparison_of(children=2)
    run = comparison.runs[0]
    first, second = (task.name for task in comparison.tasks[:2])
    scores = {first: 0.2, second: -0.2}

    def child(fold: ComparedFold) -> ComparedFold:
        figures = {
            name: {**values, "bag_of_words": values["f1"] + scores[name]} if name in scores else values
            for name, values in fold.tasks.items()
        }
        return replace(fold, tasks=figures)

    some = changed(comparison, replace(run, children=tuple(map(child, run.children))))
    (lag,) = some.learning(run).lags
    score = fmean(run.of_task(first))
    assert lag == Lag(first, pytest.approx(score), pytest.approx(score + 0.2))


def test_a_run_that_learned_nothing_is_never_the_best(comparison_of: Make) -> None:
    comparison = comparison_of()
    first, *_ = best_first(comparison)
    fallen = changed(comparison, known(first, constant=1.0))
    for section in (significance.build(fallen), cost.build(fallen), tasks.build(fallen)):
        assert f"“{first.name}”" not in findings(section).replace(f"Against “{first.name}”", "").replace(
            f"Not tested, because nothing was learned: “{first.name}”", ""
        )
    assert all(first.key not in (pair.run.key, pair.other.key) for pair in compare_main_scores(fallen))
    assert f"Not tested, because nothing was learned: “{first.name}”." in [
        each.text for each in significance.build(fallen).blocks if each.kind == "text"
    ]
    assert "Left out, because nothing was learned: 1 of 4 runs." in findings(cost.build(fallen))


def test_if_no_run_learned_anything_none_is_ranked(comparison_of: Make) -> None:
    comparison = comparison_of()
    nothing = changed(comparison, *(known(run, constant=1.0) for run in comparison.runs))
    only = replace(nothing, runs=nothing.runs[:1])
    assert overview.describe_score(only) == NOTHING
    assert findings(cost.build(nothing)) == NOTHING
    assert significance.build(nothing) is None
    assert findings(tasks.build(nothing)) == ""


def test_conclusions_are_marked_while_training_has_not_ended(comparison_of: Make) -> None:
    comparison = comparison_of()
    first, *_ = best_first(comparison)
    going = changed(comparison, known(first, GOING))
    mark = f"Not trained to the end: “{first.name}”; longer training may change this."
    assert mark in findings(curves.build(going))
    assert mark not in findings(curves.build(comparison))
    only = replace(going, runs=tuple(run for run in going.runs if run.name == first.name))
    assert mark in findings(overview.build(only))


def test_many_runs_that_have_not_ended_are_counted(comparison_of: Make) -> None:
    comparison = comparison_of(runs=6)
    going = changed(comparison, *(known(run, GOING) for run in comparison.runs[:5]))
    mark = "Not trained to the end: 5 of 6 runs; longer training may change this."
    assert findings(curves.build(going)) == mark


def test_the_row_and_the_numbers_of_a_run_say_it(comparison_of: Make) -> None:
    comparison = comparison_of()
    run = comparison.runs[1]
    lost = [task.name for task in comparison.tasks[:3]]

    def child(held: ComparedFold) -> ComparedFold:
        figures = {
            name: {**f, "constant": f["f1"] + 0.01 * (name in lost) - 0.005} for name, f in held.tasks.items()
        }
        return replace(held, tasks=figures)

    made = known(run, GOING)
    comparison = changed(comparison, replace(made, children=tuple(map(child, made.children))))
    table = block(overview.build(comparison), "overview_costs")
    assert [column.key for column in table.columns][:2] == ["name", "note"]
    note = f"not trained to the end; not learned: {lost[0]}, {lost[1]} and 1 more"
    assert [row["note"] for row in table.rows] == [None, note, None, None]
    given = json.loads(as_json(comparison, ()))["runs"][1]
    assert given["training_end"] == {"rise": 0.25}
    assert given["not_learned"] == lost
