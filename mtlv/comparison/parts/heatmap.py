"""A heatmap of tasks x runs, with bars of the tasks' support."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mtlv.comparison.parts.channels import GREY, label, number, run_names, task_axis, tip
from mtlv.evaluation.compared_runs import Comparison
from mtlv.figures.palette import DIVERGING
from mtlv.reporting.metric_titles import describe_support

CELL, WIDE, NARROW = 20, 110, 46  # pixels: height of a cell, and its width with few and with many runs
AREA = 620  # pixels of a whole row, within those widths
NUMBERED, MOST = 14, 700  # maximum runs and cells with numbers in the cells
BARS = 90  # pixels of the support bars


@dataclass(frozen=True)
class HeatmapCells:
    """Content of the cells."""

    field: str
    number: str  # number format of the cells
    scale: Mapping[str, Any]
    title: str  # title of the colour scale
    dark_text: str  # expression that is true for bright cells, whose numbers must be dark
    tips: tuple[Mapping[str, str], ...]  # lines of the tooltip in addition to run, task and support


def heatmap(comparison: Comparison, cells: HeatmapCells) -> dict[str, Any]:
    """Return two charts with a common task axis: bars of the support, and the cells."""
    names = [task.name for task in comparison.tasks]
    y = label("task", sort=names, axis=task_axis())
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
    return label("name", sort=run_names(comparison), axis=slanted_axis(None, 420))


def slanted_axis(title: str | None, limit: int) -> dict[str, Any]:
    """Return an axis of names above the cells, up to `limit` pixels long."""
    return {
        "title": title, "orient": "top", "labelAngle": -35, "labelAlign": "left", "labelLimit": limit,
        "ticks": False, "domain": False, "labelOverlap": False,
    }  # fmt: skip


def text_layer(text: Mapping[str, Any], dark: str) -> dict[str, Any]:
    """Return a layer with the text of each cell, unless there are too many; dark where `dark` is true."""
    counts = [{"op": "distinct", "field": "run", "as": "runs"}, {"op": "count", "as": "cells"}]
    few = f"datum.runs <= {NUMBERED} && datum.cells <= {MOST}"
    return {
        "transform": [{"joinaggregate": counts}, {"filter": few}],
        "mark": {"type": "text", "fontSize": 11},
        "encoding": {"text": text, "color": ink(dark)},
    }


def gain_scale(reach: float) -> dict[str, Any]:
    """Return the colours of gains and losses from -reach to reach."""
    return {"type": "linear", "range": list(DIVERGING), "domain": [-reach, 0, reach]}


def is_pale(field: str, reach: float) -> str:
    """Return an expression that is true for cells of gains whose text must be dark."""
    return f"abs(datum.{field}) < {0.62 * reach:.4f}"


def ink(dark: str) -> dict[str, Any]:
    """Return the colour of what is drawn on cells; `dark` is true for bright ones."""
    return {"condition": {"test": dark, "value": "#111111"}, "value": "#ffffff"}


def _cells(comparison: Comparison, cells: HeatmapCells, y: Mapping[str, Any]) -> dict[str, Any]:
    legend = {"title": cells.title, "orient": "top", "gradientLength": 200, "format": cells.number}
    colour = number(cells.field, scale=cells.scale, legend=legend)
    tips = [tip("task"), tip("name", "run"), *cells.tips, _tip_of_support(comparison)]
    numbers = text_layer(number(cells.field, format=cells.number), cells.dark_text)
    return {
        "width": {"step": cell_width(comparison)},
        "height": {"step": CELL},
        "transform": [{"filter": f"isValid(datum.{cells.field})"}],
        "encoding": {"x": run_columns(comparison), "y": dict(y) | {"axis": None}, "tooltip": tips},
        "layer": [{"mark": {"type": "rect"}, "encoding": {"color": colour}}, numbers],
    }


def _tip_of_support(comparison: Comparison) -> Mapping[str, str]:
    return tip("support", describe_support(comparison.tasks, "test documents"), ".4~g")


def _support(comparison: Comparison, y: Mapping[str, Any]) -> dict[str, Any]:
    """Return bars with numbers, one per task for any number of runs."""
    mean = {"aggregate": [{"op": "max", "field": "support", "as": "support"}], "groupby": ["task"]}
    hidden = dict.fromkeys(("labels", "ticks", "domain", "grid"), False)
    x = number("support", axis={"title": "support", "orient": "top"} | hidden)
    return {
        "width": BARS,
        "height": {"step": CELL},
        "transform": [mean],
        "encoding": {"x": x, "y": y, "tooltip": [tip("task"), _tip_of_support(comparison)]},
        "layer": [
            {"mark": {"type": "bar", "color": GREY, "opacity": 0.55, "height": {"band": 0.6}}},
            {
                "mark": {"type": "text", "align": "left", "dx": 4, "fontSize": 11},
                "encoding": {"text": number("support", format=".4~g")},
            },
        ],
    }
