"""Colours for readers with colour-vision deficiency, on light and dark backgrounds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from mtlv.evaluation.compared_runs import Comparison

# Okabe and Ito's palette without black and yellow (invisible on one of the backgrounds), then colours from
# Paul Tol's muted palette, the darkest made lighter for dark backgrounds.
RUNS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00",
    "#B2456E", "#999933", "#44AA99", "#AA4499", "#7F7F7F", "#8B6B4A",
)  # fmt: skip
# Groups of tasks, never the colours of runs. They have the same lightness: white numbers can be read
# on them (4.9 : 1), and they can be seen on white and on the page's dark background (3.7 : 1).
GROUPS = (
    "#5A66D6", "#AF5B0A", "#0A815D", "#BD4386", "#74750C", "#107B95",
    "#8E56C5", "#C74434", "#418003", "#8F6C0A",
)  # fmt: skip
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])
DIVERGING = ("#B35806", "#F7F7F7", "#2166AC")  # worse, equal, better: orange to blue, never red to green
SEQUENTIAL = "viridis"


LETTER, SWATCH = 7, 34  # pixels: of a letter in the legend, and of symbol and margins of an entry
LEGEND = 620  # pixels: maximum width of a legend, so that it fits on half a page


def run_colour(comparison: Comparison) -> dict[str, Any]:
    """Return Vega-Lite's `color` channel for the field `name`: a run has the same colour everywhere."""
    return _channel(comparison, RUNS, 1)


def run_lines(comparison: Comparison) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the channels for lines of runs: colours for all marks, and dashes once colours repeat.

    Dashes are for the lines only: they are no channel of areas, and break the outlines of points.
    """
    colour = {"color": run_colour(comparison)}
    repeat = len(comparison.runs) > len(RUNS)
    dashes = {"strokeDash": _channel(comparison, DASHES, len(RUNS))} if repeat else {}
    for channel in (*colour.values(), *dashes.values()):
        channel["legend"] |= {"symbolType": "stroke", "symbolStrokeWidth": 2, "symbolSize": 300}
    return colour, dashes


def _channel(comparison: Comparison, values: Sequence[Any], repeats: int) -> dict[str, Any]:
    """Return a channel by run name; each of `values` is used for `repeats` runs in turn."""
    names = [run.name for run in comparison.runs]
    scale = {"domain": names, "range": [values[at // repeats % len(values)] for at in range(len(names))]}
    legend = _legend(names)
    return {"field": "name", "type": "nominal", "scale": scale, "title": "run", "legend": legend}


def _legend(names: Sequence[str]) -> dict[str, Any]:
    """Return a legend above the figure, in as many columns as fit, with only the runs in the rows."""
    there = ",".join(f"indata('rows','name',{json.dumps(n)})?{json.dumps(n)}:''" for n in names)
    kept = f"split(trim(replace(join([{there}],'\\n'),regexp('\\n+','g'),'\\n')),'\\n')"
    longest = max(map(len, names), default=1)
    columns = max(1, min(4, LEGEND // (SWATCH + LETTER * longest)))
    return {
        "title": None,
        "orient": "top",
        "direction": "horizontal",
        "columns": columns,
        "labelLimit": LEGEND - SWATCH,
        "symbolOpacity": 1,
        "values": {"expr": kept},
    }
