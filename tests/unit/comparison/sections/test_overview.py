"""The overview: its numbers are the runs', and its words claim no more than they carry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from statistics import fmean, stdev

import pytest
from drawing import block
from looking import drawn, findings

from mtlv.comparison.blocks import FigureBlock
from mtlv.comparison.sections.overview import build, describe_ranking
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
    assert "1 of 4 runs have not finished" in describe_ranking(comparison)


def test_the_lead_is_judged_by_pairs_whatever_the_spreads(comparison_of: Make) -> None:
    """Spreads over folds are wide where folds differ, and tell nothing on paired differences."""
    said = describe_ranking(with_macro(comparison_of(), [0.70, 0.80, 0.90], [0.72, 0.82, 0.9201]))
    assert said.startswith("“mtl · minilm” has the highest macro F1: 0.820 ± 0.100 over 3 folds and seeds.")
    assert "“stl · minilm”, is 0.020 lower (0.800 ± 0.100" in said
    assert said.endswith(" The tests show that difference: see the section on significance.")
    said = describe_ranking(with_macro(comparison_of(), [0.70, 0.71, 0.72], [0.90, 0.73, 0.71]))
    assert said.endswith(" The tests do not show that difference: see the section on significance.")
    first = describe_ranking(with_macro(comparison_of(), [0.7201, 0.82, 0.92], [0.70, 0.80, 0.90]))
    assert first.endswith(" The tests show that difference: see the section on significance.")


def test_a_lead_by_the_mean_alone_is_not_called_shown(comparison_of: Make) -> None:
    many = comparison_of(children=8)
    runs = [
        replace(run, children=tuple(replace(c, fold=i, seed=0) for i, c in enumerate(run.children)))
        for run in many.runs
    ]
    comparison = replace(many, runs=tuple(runs))
    far = [0.0, *(0.51 + 0.001 * i for i in range(7))]
    said = describe_ranking(with_macro(comparison, [0.5] * 8, far))
    assert said.startswith("“stl · minilm” has the highest macro F1")
    assert said.endswith(" The tests do not show that difference: see the section on significance.")


def test_a_lead_that_the_common_folds_turn_round_is_not_called_shown(comparison_of: Make) -> None:
    said = describe_ranking(
        with_macro(comparison_of(children=4), [0.5, 0.51, 0.52], [0.49, 0.499, 0.51, 0.99])
    )
    assert said.startswith("“mtl · minilm” has the highest macro F1")
    assert said.endswith(" The tests do not show that difference: see the section on significance.")


def test_one_measurement_each_is_said_to_be_one(comparison_of: Make) -> None:
    said = describe_ranking(with_macro(comparison_of(), [0.7], [0.9]))
    assert "As both were measured only once" in said
    assert said.endswith("the variation over folds and seeds is not known.")
    assert "±" not in said
    assert "one of them was measured only once" in describe_ranking(
        with_macro(comparison_of(), [0.7, 0.8], [0.9])
    )


def test_the_next_run_is_not_a_control_if_there_is_another(comparison_of: Make) -> None:
    comparison = with_macro(comparison_of(runs=4), [0.9], [0.5], [0.8], [0.7])
    first, second, third, fourth = comparison.runs
    grouped = next(run for run in comparison.runs if run.groups is not None)
    random = {
        "groups": grouped.groups,
        "params": grouped.params | {"grouping.method": "random"},
    }
    runs = (first, second, replace(third, **random), fourth)
    said = describe_ranking(replace(comparison, runs=runs))
    assert f"The next that is not a control, “{fourth.name}”, is 0.200 lower (0.700)." in said
    only = describe_ranking(replace(comparison, runs=(first, runs[2])))
    assert f"The next, “{third.name}”, is 0.100 lower (0.800)." in only


def test_equal_means_share_the_lead(comparison_of: Make) -> None:
    said = describe_ranking(with_macro(comparison_of(), [0.7, 0.8], [0.8, 0.7], [0.1, 0.2]))
    assert said.startswith("“stl · minilm” and “mtl · minilm” share the highest macro F1: 0.750.")


def test_a_single_run_is_not_called_the_best(comparison_of: Make) -> None:
    comparison = with_macro(comparison_of(), [0.7, 0.8])
    assert (
        describe_ranking(comparison)
        == "“stl · minilm” has a macro F1 of 0.750 ± 0.071 over 2 folds and seeds."
    )
    assert not [one for one in build(comparison).blocks if isinstance(one, FigureBlock)]


def test_nothing_measured_is_said(comparison_of: Make) -> None:
    comparison = comparison_of()
    bare = tuple(replace(run, children=()) for run in comparison.runs)
    assert "No run has a macro F1" in describe_ranking(replace(comparison, runs=bare))


def test_different_data_is_said_beside_the_ranking(comparison_of: Make) -> None:
    comparison = comparison_of()
    other = replace(comparison.runs[1], data_digest="other")
    said = describe_ranking(replace(comparison, runs=(comparison.runs[0], other)))
    assert "measured on different data" in said
    assert "different data" not in describe_ranking(comparison)


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
    assert "highest macro F1" in findings(build(comparison))


def test_a_run_that_came_to_no_number_is_not_ranked(comparison_of: Make) -> None:
    said = describe_ranking(with_macro(comparison_of(), [float("nan")], [0.5, 0.6], [0.4, 0.5]))
    assert said.startswith("“mtl · minilm” has the highest macro F1: 0.550")
    assert "nan" not in said
