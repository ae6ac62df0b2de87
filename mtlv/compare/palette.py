"""Colours that people with a colour-vision deficiency can tell apart, on light and on dark ground."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mtlv.compare.comparison import Comparison

# Okabe and Ito's palette without black and yellow (both vanish on one of the grounds), then Paul Tol's muted.
RUNS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00",
    "#882255", "#999933", "#44AA99", "#AA4499", "#7F7F7F", "#CC6677",
)  # fmt: skip
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])
DIVERGING = ("#B35806", "#F7F7F7", "#2166AC")  # worse, equal, better: orange to blue, never red to green
SEQUENTIAL = "viridis"


def run_colour(comparison: Comparison) -> Mapping[str, Any]:
    """Vega-Lite's `color` channel for the field `name` of rows: the same colour for a run everywhere."""
    names = [run.name for run in comparison.runs]
    colours = [RUNS[i % len(RUNS)] for i in range(len(names))]
    return {"field": "name", "type": "nominal", "scale": {"domain": names, "range": colours}, "title": "run"}


def run_dash(comparison: Comparison) -> Mapping[str, Any]:
    """The `strokeDash` channel that tells runs of one colour apart; the same legend as `run_colour`."""
    names = [run.name for run in comparison.runs]
    dashes = [list(DASHES[(i // len(RUNS)) % len(DASHES)]) for i in range(len(names))]
    return {"field": "name", "type": "nominal", "scale": {"domain": names, "range": dashes}, "title": "run"}
