"""A heatmap of tasks x runs, with bars of the tasks' support."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mtlv.comparison.sections.parts import run_names, task_axis, tip
from mtlv.evaluation.comparison import Comparison
from mtlv.reporting.metric_titles import supported_by

CELL, WIDE, NARROW = 20, 110, 46  # pixels: height of a cell, and its width with few and with many runs
AREA = 620  # pixels of a whole row, within those widths
NUMBERED, MOST = 14, 700  # maximum runs and cells with numbers in the cells
BARS = 90  # pixels of the support bars


@dataclass(frozen=True)
class HeatmapCells:
    """Content of the cells.

    Args:
        field: field of the rows.
        number: number format of the cells.
        scale: colour scale.
        title: title of the colour scale.
        dark_text: expression that is true for bright cells, whose numbers must be dark.
        tips: lines of the tooltip in addition to run, task and support.
    """

    field: str
    number: str
    scale: Mapping[str, Any]
    title: str
    dark_text: str
    tips: tuple[Mapping[str, str], ...]


def heatmap(comparison: Comparison, cells: HeatmapCells) -> dict[str, Any]:
    """Return two charts with a common task axis: bars of the support, and the cells."""
    names = [task.name for task in comparison.tasks]
    y = {"field": "task", "type": "nominal", "sort": names, "axis": task_axis()}
    return {
        "hconcat": [_support(comparison, y), _cells(comparison, cells, y)],
        "spacing": 10,
        "resolve": {"scale": {"y": "shared"}},
    }


def cell_width(comparison: Comparison) -> int:
    """Return the width of a cell in pixels, by the number of runs shown at first."""
    return max(NARROW, min(WIDE, AREA // max(1, len(comparison.shown))))


def run_columns(comparison: Comparison) -> dict[str, Any]:
    """Return an axis of runs above the cells, slanted so that long names fit."""
    axis = {
        "title": None, "orient": "top", "labelAngle": -35, "labelAlign": "left", "labelLimit": 420,
        "ticks": False, "domain": False, "labelOverlap": False,
    }  # fmt: skip
    return {"field": "name", "type": "nominal", "sort": run_names(comparison), "axis": axis}


def few_enough() -> list[dict[str, Any]]:
    """Return transforms that remove all rows if there are too many cells for numbers."""
    counted = [{"op": "distinct", "field": "run", "as": "runs"}, {"op": "count", "as": "cells"}]
    return [{"joinaggregate": counted}, {"filter": f"datum.runs <= {NUMBERED} && datum.cells <= {MOST}"}]


def _cells(comparison: Comparison, cells: HeatmapCells, y: Mapping[str, Any]) -> dict[str, Any]:
    colour = {
        "field": cells.field,
        "type": "quantitative",
        "scale": cells.scale,
        "legend": {"title": cells.title, "orient": "top", "gradientLength": 200, "format": cells.number},
    }
    tips = [tip("task"), tip("name", "run"), *cells.tips, _tip_of_support(comparison)]
    numbers = {
        "transform": few_enough(),
        "mark": {"type": "text", "fontSize": 11},
        "encoding": {
            "text": {"field": cells.field, "type": "quantitative", "format": cells.number},
            "color": {"condition": {"test": cells.dark_text, "value": "#111111"}, "value": "#ffffff"},
        },
    }
    return {
        "width": {"step": cell_width(comparison)},
        "height": {"step": CELL},
        "transform": [{"filter": f"isValid(datum.{cells.field})"}],
        "encoding": {"x": run_columns(comparison), "y": dict(y) | {"axis": None}, "tooltip": tips},
        "layer": [{"mark": {"type": "rect"}, "encoding": {"color": colour}}, numbers],
    }


def _tip_of_support(comparison: Comparison) -> Mapping[str, str]:
    return tip("support", supported_by(comparison.tasks, "test documents"), ".4~g")


def _support(comparison: Comparison, y: Mapping[str, Any]) -> dict[str, Any]:
    """Return bars with numbers, one per task for any number of runs."""
    mean = {"aggregate": [{"op": "max", "field": "support", "as": "support"}], "groupby": ["task"]}
    axis = {
        "title": "support",
        "orient": "top",
        "labels": False,
        "ticks": False,
        "domain": False,
        "grid": False,
    }
    x = {"field": "support", "type": "quantitative", "axis": axis}
    return {
        "width": BARS,
        "height": {"step": CELL},
        "transform": [mean],
        "encoding": {
            "x": x,
            "y": y,
            "tooltip": [tip("task"), _tip_of_support(comparison)],
        },
        "layer": [
            {"mark": {"type": "bar", "color": "#7F7F7F", "opacity": 0.55, "height": {"band": 0.6}}},
            {
                "mark": {"type": "text", "align": "left", "dx": 4, "fontSize": 11},
                "encoding": {"text": {"field": "support", "type": "quantitative", "format": ".4~g"}},
            },
        ],
    }
