"""The contract types on a made-up comparison: its figures are those of its own scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import isnan

import pytest

from mtlv.evaluation.compared_runs import SHOWN_AT_FIRST, Comparison, TaskInfo, mean_and_sd
from mtlv.evaluation.metrics import evaluate


def test_figures_of_a_made_up_run_are_those_of_its_scores(comparison_of: Callable[..., Comparison]) -> None:
    comparison = comparison_of()
    names = [task.name for task in comparison.tasks]
    for run in comparison.runs:
        for child in run.children:
            limits = {name: child.tasks[name]["threshold"] for name in names}
            found = evaluate(child.test, names, limits)
            assert child.metrics["test/f1_macro"] == found.plan.f1_macro
            assert {name: dict(child.tasks[name]) for name in names} == {
                name: task.as_dict() for name, task in found.tasks.items()
            }


def test_a_made_up_comparison_has_names_that_need_escaping(comparison_of: Callable[..., Comparison]) -> None:
    names = [task.name for task in comparison_of(tasks=3).tasks]
    assert "<script>alert(1)</script>" in names
    assert any("," in name for name in names)


def test_the_baseline_is_always_shown(comparison_of: Callable[..., Comparison]) -> None:
    comparison = comparison_of(runs=SHOWN_AT_FIRST + 3, children=1, tasks=3, baseline="r14")
    assert len(comparison.shown) == SHOWN_AT_FIRST
    assert "r14" in comparison.shown
    assert comparison.run("r14").name == comparison.runs[14].name


def test_the_best_run_is_always_shown_and_random_groups_only_where_there_is_room(
    comparison_of: Callable[..., Comparison],
) -> None:
    comparison = comparison_of(runs=SHOWN_AT_FIRST + 3, children=1, tasks=3)
    last = comparison.runs[-1]
    (child,) = last.children
    assert last.key not in comparison.shown
    best = replace(last, children=(replace(child, metrics=dict.fromkeys(child.metrics, 2.0)),))
    assert best.key in replace(comparison, runs=(*comparison.runs[:-1], best)).shown
    grouped = next(run for run in comparison.runs if run.groups is not None)
    random = replace(grouped, params=grouped.params | {"grouping.method": "random"})
    runs = tuple(random if run is grouped else run for run in comparison.runs)
    assert random.key not in replace(comparison, runs=runs, baseline="r0").shown
    fitting = runs[:SHOWN_AT_FIRST]
    assert random in fitting
    assert replace(comparison, runs=fitting, baseline="r0").shown == tuple(run.key for run in fitting)
    others = [run for run in comparison.runs if run.groups is None]
    few = (others[0], grouped, *(replace(random, key=f"c{n}") for n in range(SHOWN_AT_FIRST)))
    assert replace(comparison, runs=few, baseline=others[0].key).shown == (others[0].key, grouped.key)
    unscored = replace(last, children=())
    assert unscored.key not in replace(comparison, runs=(*comparison.runs[:-1], unscored)).shown


def test_groups_with_random_groups_of_the_same_sizes_are_shown_before_other_runs(
    comparison_of: Callable[..., Comparison],
) -> None:
    """They are to be tested against the best run, although the proposed groups of `explore` come last."""
    comparison = comparison_of(runs=SHOWN_AT_FIRST + 3, children=1, tasks=3)
    grouped = next(run for run in comparison.runs if run.groups is not None)
    *first, one, control = comparison.runs
    last = replace(one, groups=grouped.groups, params=grouped.params)
    assert last.key not in replace(comparison, runs=(*first, last, control)).shown
    random = replace(control, groups=grouped.groups, params=grouped.params | {"grouping.method": "random"})
    beside = replace(comparison, runs=(*first, last, random))
    assert last.key in beside.shown
    assert random.key not in beside.shown
    assert beside.baseline in beside.shown
    sizes = [len(group) for group in grouped.groups.groups]
    other = replace(grouped.groups, groups=(tuple(name for g in grouped.groups.groups for name in g),))
    assert len(sizes) > 1
    unlike = replace(random, groups=other)
    assert last.key not in replace(comparison, runs=(*first, last, unlike)).shown


def test_values_come_from_the_children_that_have_them(comparison_of: Callable[..., Comparison]) -> None:
    run = comparison_of(runs=1, children=2).runs[0]
    assert run.values("test/f1_macro") == [child.metrics["test/f1_macro"] for child in run.children]
    assert run.values("test/unknown") == []
    assert run.of_task("Opacity", "recall") == [child.tasks["Opacity"]["recall"] for child in run.children]
    assert run.of_task("unknown") == []


def test_frequency_needs_the_number_of_documents() -> None:
    assert TaskInfo("a", support=30, documents=120).frequency == 0.25
    assert isnan(TaskInfo("a", support=30).frequency)


def test_mean_and_sd_by_hand() -> None:
    assert mean_and_sd([]) == (None, None)
    assert mean_and_sd([0.5]) == (0.5, None)
    assert mean_and_sd([1.0, 2.0, 3.0]) == (2.0, pytest.approx(1.0))
