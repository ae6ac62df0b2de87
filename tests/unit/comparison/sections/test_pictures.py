"""The pictures beside the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from statistics import fmean

import pytest
from looking import drawn

from mtlv.comparison.sections import answer, cost
from mtlv.comparison.sections.answer import pictures
from mtlv.comparison.sections.answer.pictures import key_figures
from mtlv.evaluation.compared_runs import Comparison
from mtlv.evaluation.significance import Interval

Make = Callable[..., Comparison]


def test_gains_are_over_the_baseline_that_the_title_names(comparison_of: Make) -> None:
    comparison = comparison_of()
    gains = key_figures(comparison)[0]
    base, *others = comparison.runs
    assert base.name in gains.title
    assert len(gains.rows) == len(others) * len(comparison.tasks)
    for row in gains.rows:
        run = comparison.run(row["run"])
        expected = fmean(run.of_task(row["task"])) - fmean(base.of_task(row["task"]))
        assert row["gain"] == pytest.approx(expected)
    assert gains.baseline is None  # another baseline would make the title untrue


def test_only_gains_whose_interval_lacks_0_are_clear(
    comparison_of: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparison = comparison_of()
    first, second, third = (task.name for task in comparison.tasks[:3])
    run = comparison.runs[1].key
    ends = {first: (0.01, 0.2), second: (-0.1, 0.2), third: (-0.2, -0.01)}
    intervals = {(run, task): Interval(*pair) for task, pair in ends.items()}
    monkeypatch.setattr(pictures, "gain_intervals", lambda _: intervals)
    clear = {(row["run"], row["task"]) for row in key_figures(comparison)[0].rows if row["clear"]}
    assert clear == {(run, first), (run, third)}


def test_runs_of_other_documents_have_no_gain(comparison_of: Make) -> None:
    comparison = comparison_of()
    other = replace(comparison.runs[2], data_digest="of other documents")
    runs = (*comparison.runs[:2], other, *comparison.runs[3:])
    keys = {row["run"] for row in key_figures(replace(comparison, runs=runs))[0].rows}
    assert keys == {comparison.runs[1].key, comparison.runs[3].key}


def test_cells_have_numbers_while_they_are_wide_enough(comparison_of: Make) -> None:
    for runs, has_numbers in ((4, True), (12, False)):
        comparison = comparison_of(runs=runs)
        figure = key_figures(comparison)[0]
        words = drawn(replace(figure, spec={**figure.spec, "width": 300}), comparison)
        assert any(word[:1] in "+−" and word[1:2] == "0" for word in words) is has_numbers


def test_costs_have_names_in_place_of_a_legend(comparison_of: Make) -> None:
    made = comparison_of(runs=4)
    comparison = replace(made, runs=tuple(replace(run, name=f"run {run.key}") for run in made.runs))
    small = key_figures(comparison)[1]
    large = next(block for block in cost.build(comparison).blocks if getattr(block, "id", "") == "cost")
    assert small.rows == large.rows
    words = drawn(small, comparison)
    assert all(words.count(run.name) == 1 for run in comparison.runs), words
    many = comparison_of(runs=9)
    assert not {run.name for run in many.runs} & set(drawn(key_figures(many)[1], many))


def test_pictures_follow_the_answer(comparison_of: Make) -> None:
    kinds = [(block.kind, getattr(block, "is_key", False)) for block in answer.build(comparison_of()).blocks]
    first = next(at for at, (kind, _) in enumerate(kinds) if kind != "text")
    assert first == 1
    assert [is_key for _, is_key in kinds[1:3]] == [True, True]


def test_tasks_of_a_group_are_side_by_side(comparison_of: Make) -> None:
    comparison = comparison_of(runs=8, children=1)
    names = [task.name for task in comparison.tasks]
    grouped = next(run for run in comparison.runs if run.groups and run.groups.groups != (tuple(names),))
    perfect = tuple(replace(child, metrics={"test/f1_macro": 1.0}) for child in grouped.children)
    best = replace(grouped, children=perfect)
    made = replace(comparison, runs=tuple(best if run is grouped else run for run in comparison.runs))
    blocks = {getattr(block, "id", ""): block for block in answer.build(made).blocks}
    order = [row["task"] for row in blocks["answer_groups"].rows]
    assert blocks["answer_gain"].spec["encoding"]["y"]["sort"] == order != names
    assert key_figures(comparison, names[2:])[0].spec["encoding"]["y"]["sort"] == [*names[2:], *names[:2]]
