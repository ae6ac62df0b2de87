"""The overview: its numbers are the runs'."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from statistics import fmean, stdev

import pytest
from drawing import block
from looking import drawn, findings

from mtlv.comparison.blocks import FigureBlock
from mtlv.comparison.sections.overview import build, describe_score
from mtlv.evaluation.compared_runs import ComparedRun, Comparison

Make = Callable[..., Comparison]


def with_macro(comparison: Comparison, *values: list[float]) -> Comparison:
    """The comparison with these macro F1 of the children of its first runs, and no other run."""
    runs = tuple(_given(run, each) for run, each in zip(comparison.runs, values, strict=False))
    return replace(comparison, runs=runs)


def _given(run: ComparedRun, values: list[float]) -> ComparedRun:
    children = tuple(
        replace(run.children[at % len(run.children)], metrics={"test/f1_macro": value})
        for at, value in enumerate(values)
    )
    return replace(run, children=children)


def test_the_table_holds_means_and_spreads_of_the_children(comparison_of: Make) -> None:
    comparison = comparison_of()
    for run, row in zip(comparison.runs, block(build(comparison), "overview").rows, strict=True):
        for key in ("f1_macro", "f1_micro", "subset_accuracy", "hamming_score", "average_precision_macro"):
            values = [child.metrics[f"test/{key}"] for child in run.children]
            assert row[key] == fmean(values)
            assert row[f"{key}_sd"] == stdev(values)
        assert row["parameters"] == fmean(child.metrics["cost/parameters"] for child in run.children)
        assert (row["models"], row["children"]) == (len(run.plan), 3)


def test_minutes_and_millions_are_a_matter_of_the_columns(comparison_of: Make) -> None:
    section = build(comparison_of())
    table = block(section, "overview")
    every = (*table.columns, *block(section, "overview_costs").columns)
    columns = {column.key: column for column in every}
    seconds = table.rows[0]["train_seconds"]
    assert seconds * columns["train_seconds"].scale == pytest.approx(seconds / 60)
    assert 22_713_216 * columns["parameters"].scale == pytest.approx(22.713216)
    assert columns["train_seconds"].best == columns["parameters"].best == "low"
    assert columns["f1_macro"].best == "high"
    assert columns["documents_per_second"].best == columns["peak_memory_mb"].best == "", "of the machine"
    assert columns["f1_macro"].spread == "f1_macro_sd"


def test_the_first_table_fits_a_small_screen(comparison_of: Make) -> None:
    section = build(comparison_of())
    first, others = block(section, "overview"), block(section, "overview_costs")
    assert len(first.columns) <= 8
    assert {"name", "parameters", "models", "grouping"} < {column.key for column in others.columns}
    assert set(others.rows[0]) == {"run", *(column.key for column in others.columns)}
    assert others.rows[1]["parameters"] == first.rows[1]["parameters"]


def test_columns_without_any_value_are_left_out(comparison_of: Make) -> None:
    comparison = with_macro(comparison_of(), [0.5, 0.6], [0.7, 0.8])
    titles = [column.title for column in block(build(comparison), "overview").columns]
    assert "F1 macro" in titles
    assert not {"F1 micro", "parameters, M", "status"} & set(titles)


def test_a_status_column_appears_while_a_run_is_not_finished(comparison_of: Make) -> None:
    comparison = comparison_of()
    running = replace(comparison.runs[1], status="RUNNING")
    comparison = replace(comparison, runs=(comparison.runs[0], running, *comparison.runs[2:]))
    table = block(build(comparison), "overview")
    assert "status" in [column.key for column in table.columns]
    assert table.rows[1]["status"] == "running"


def test_a_single_run_is_not_called_the_best(comparison_of: Make) -> None:
    comparison = with_macro(comparison_of(), [0.7, 0.8])
    assert (
        describe_score(comparison) == "“stl · minilm” has a macro F1 of 0.750 ± 0.071 over 2 folds and seeds."
    )
    assert not [one for one in build(comparison).blocks if isinstance(one, FigureBlock)]


def test_nothing_measured_is_said(comparison_of: Make) -> None:
    comparison = comparison_of()
    bare = tuple(replace(run, children=()) for run in comparison.runs)
    assert "No run has a macro F1" in describe_score(replace(comparison, runs=bare))


def test_runs_are_ranked_by_the_answer_alone(comparison_of: Make) -> None:
    assert not findings(build(comparison_of()))


def test_runs_of_different_tasks_have_no_common_score(comparison_of: Make) -> None:
    comparison = comparison_of(runs=2)
    first, second = comparison.runs
    name = comparison.tasks[0].name
    fewer = (
        replace(child, tasks={task: of for task, of in child.tasks.items() if task != name})
        for child in second.children
    )
    comparison = replace(comparison, runs=(first, replace(second, children=tuple(fewer))))
    assert "cannot be ranked by one score" in findings(build(comparison))


def test_error_bars_reach_one_standard_deviation(comparison_of: Make) -> None:
    comparison = comparison_of()
    figure = block(build(comparison), "overview_f1")
    values = comparison.runs[0].values("test/f1_macro")
    row = figure.rows[0]
    assert (row["low"], row["high"]) == pytest.approx(
        (fmean(values) - stdev(values), fmean(values) + stdev(values))
    )
    once = block(build(comparison_of(children=1)), "overview_f1")
    assert all(row["low"] is None and row["sd"] is None for row in once.rows)


def test_the_picture_names_every_run(comparison_of: Make) -> None:
    comparison = comparison_of()
    words = drawn(block(build(comparison), "overview_f1"), comparison)
    assert {run.name for run in comparison.runs} <= set(words)
    assert {"macro F1", "micro F1"} <= set(words)
