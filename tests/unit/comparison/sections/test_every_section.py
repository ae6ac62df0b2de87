"""What every section must keep, whatever it shows."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module

import pytest
from looking import marks
from mixed import a_mixed_comparison

from mtlv.comparison.blocks import FigureBlock, Section, TableBlock
from mtlv.evaluation.compared_runs import Comparison

SECTIONS = ("overview", "curves", "tasks", "groups", "calibration")
SIZES = ({"runs": 1, "children": 1, "tasks": 3}, {}, {"runs": 14, "children": 2, "tasks": 7}, None)


def built(name: str, comparison: Comparison) -> Section | None:
    return import_module(f"mtlv.comparison.sections.{name}").build(comparison)


@pytest.fixture(params=SIZES, ids=("one run", "a suite", "fourteen runs", "four kinds"))
def comparison(request: pytest.FixtureRequest, comparison_of: Callable[..., Comparison]) -> Comparison:
    return a_mixed_comparison() if request.param is None else comparison_of(**request.param)


@pytest.mark.parametrize("name", SECTIONS)
def test_rows_are_strict_json_of_known_runs_and_tasks(name: str, comparison: Comparison) -> None:
    runs = {run.key: run.name for run in comparison.runs}
    tasks = {task.name for task in comparison.tasks}
    for block in built(name, comparison).blocks:
        if isinstance(block, (FigureBlock, TableBlock)):
            json.dumps([dict(row) for row in block.rows], allow_nan=False)
            assert block.rows
            of_choices = [row for row in block.rows if row.get("choice")]
            assert not any("run" in row for row in of_choices)  # no run's switch hides them
            for row in block.rows:
                if row in of_choices:
                    continue
                assert row["name"] == runs[row["run"]]
                assert row.get("other", row["run"]) in runs
                assert row.get("task") is None or row["task"] in tasks


@pytest.mark.parametrize("name", SECTIONS)
def test_figures_have_captions_own_ids_no_data_and_tooltips(name: str, comparison: Comparison) -> None:
    section = built(name, comparison)
    figures = [block for block in section.blocks if isinstance(block, FigureBlock)]
    assert len({figure.id for figure in figures}) == len(figures)
    for figure in figures:
        assert figure.caption.endswith((".", "!"))
        assert "data" not in figure.spec
        assert "config" not in figure.spec
        for view in marks(dict(figure.spec)):
            kind = view["mark"]["type"] if isinstance(view["mark"], dict) else view["mark"]
            fixed = all("datum" in channel for key, channel in view["encoding"].items() if key in ("x", "y"))
            assert "tooltip" in view["encoding"] or (kind == "rule" and (fixed or "x2" in view["encoding"]))


@pytest.mark.parametrize("name", SECTIONS)
def test_columns_of_tables_are_fields_of_rows(name: str, comparison: Comparison) -> None:
    for block in built(name, comparison).blocks:
        if isinstance(block, TableBlock):
            fields = {field for row in block.rows for field in row}
            fields |= {"delta"} if block.baseline else set()
            used = {key for column in block.columns for key in (column.key, column.spread) if key}
            assert used <= fields


@pytest.mark.parametrize("name", SECTIONS)
def test_a_comparison_without_runs_has_no_section(
    name: str, comparison_of: Callable[..., Comparison]
) -> None:
    assert built(name, replace(comparison_of(), runs=())) is None


@pytest.mark.parametrize("name", SECTIONS)
def test_runs_that_have_measured_nothing_yet_do_no_harm(
    name: str, comparison_of: Callable[..., Comparison]
) -> None:
    comparison = comparison_of()
    bare = tuple(replace(run, children=(), plan=(), groups=None, status="RUNNING") for run in comparison.runs)
    section = built(name, replace(comparison, runs=bare))
    assert section is None or not any(isinstance(block, FigureBlock) for block in section.blocks)


@pytest.mark.parametrize("name", SECTIONS)
def test_numbers_that_are_not_finite_never_reach_a_row(
    name: str, comparison_of: Callable[..., Comparison]
) -> None:
    comparison = comparison_of(runs=2, children=1)
    run = comparison.runs[0]
    child = run.children[0]
    broken = replace(
        child,
        metrics=dict.fromkeys(child.metrics, math.nan),
        tasks={task: dict.fromkeys(figures, math.nan) for task, figures in child.tasks.items()},
        curves={key: [(step, math.inf) for step, _ in curve] for key, curve in child.curves.items()},
    )
    section = built(name, replace(comparison, runs=(replace(run, children=(broken,)), comparison.runs[1])))
    for block in section.blocks if section else ():
        if isinstance(block, (FigureBlock, TableBlock)):
            json.dumps([dict(row) for row in block.rows], allow_nan=False)
