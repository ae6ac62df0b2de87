"""Elbow curves of the runs: how the number of groups was chosen."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from mtlv.comparison.blocks import FigureBlock
from mtlv.comparison.parts import finite_or_none, of_run, shared_panels
from mtlv.comparison.parts.channels import (
    GREY,
    dots,
    integer_ticks,
    label,
    number,
    of_rows,
    run_header,
    small_multiples,
    tip,
)
from mtlv.evaluation.compared_runs import ComparedRun, Comparison
from mtlv.figures.palette import run_colour

PANEL = 210, 130  # width and height of a panel in pixels
PANEL_ALONE = 420, 230  # of the only panel
RECOMMENDED, CHOSEN, BOTH = "recommended by the elbow", "used by the run", "recommended and used"
MEASURES = (
    ("inertia", "Elbow: inertia by the number of groups",
     "Inertia is the sum of the distances of the tasks to the centre of their group. It always decreases "
     "with k; the elbow is the k at which the curve is furthest below the straight line between its ends. "
     "Each panel has its own scale, because distances between different vectors cannot be compared."),
    ("silhouette", "Silhouette by the number of groups",
     "The silhouette measures how much closer the tasks are to their own group than to the next one, from -1 "
     "to 1; higher is better."),
)  # fmt: skip
LINED = "inertia"  # the measure whose ends a straight line connects
MARKS = (
    "Runs with the same curve share a panel. A ring marks the recommended number, a square the number used, "
    "a diamond both."
)


def elbows(comparison: Comparison) -> list[FigureBlock]:
    """Build the figures of inertia and silhouette, with a panel for each distinct curve."""
    return [figure for measure in MEASURES for figure in _elbows(comparison, *measure)]


def _elbows(comparison: Comparison, field: str, title: str, meaning: str) -> list[FigureBlock]:
    """Build a figure with a panel for each distinct curve."""
    panels = shared_panels([run for run in comparison.runs if run.groups], _curve)
    rows = [row for run in comparison.runs for row in _elbow_rows(run, panels, field)]
    if not rows:
        return []
    caption = f"{meaning} {MARKS}"
    alone = len({row["order"] for row in rows}) == 1
    spec = _elbow_spec(comparison, field, PANEL_ALONE if alone else PANEL)
    return [FigureBlock(f"groups_{field}", title, caption, spec, rows, wide=True, is_key=field == LINED)]


def _curve(run: ComparedRun) -> tuple[Hashable, ...]:
    assert run.groups is not None
    return (*sorted(run.groups.elbow.items()), run.groups.recommended, len(run.groups.groups))


def _elbow_rows(run: ComparedRun, panels: Mapping[str, dict[str, Any]], field: str) -> list[dict[str, Any]]:
    groups = run.groups
    if groups is None:
        return []
    fields, chosen = of_run(run) | panels[run.key], len(groups.groups)
    ends = (min(groups.elbow), groups.tried or max(groups.elbow)) if field == LINED and groups.elbow else ()
    return [
        fields | {"k": k, "value": value, "mark": _mark(k, chosen, groups.recommended), "end": k in ends}
        for k, pair in sorted(groups.elbow.items())
        if finite_or_none(value := pair[field == "silhouette"]) is not None
    ]


def _mark(k: int, chosen: int, recommended: int | None) -> str:
    if k == recommended:
        return BOTH if k == chosen else RECOMMENDED
    return CHOSEN if k == chosen else ""


def _elbow_spec(comparison: Comparison, axis: str, size: tuple[int, int]) -> dict[str, Any]:
    colour = run_colour(comparison) | {"legend": None}
    most = max((k for run in comparison.runs if run.groups for k in run.groups.elbow), default=1)
    ticks = {"values": integer_ticks(most, 9), "format": "d", "grid": False}
    x = number("k", title="number of groups k", axis=ticks, scale={"nice": False, "padding": 8})
    y = number("value", title=axis, scale={"zero": False}, axis={"tickCount": 4})
    tips = [tip("name", "run"), tip("k", "groups", "d"), tip("value", axis, ".4f")]
    tips += [tip("mark", "this number is")]
    scale = {"domain": [RECOMMENDED, CHOSEN, BOTH], "range": ["circle", "square", "diamond"]}
    legend = {"title": None, "orient": "top", "symbolStrokeColor": GREY, "labelLimit": 300}
    shape = label("mark", scale=scale, legend=legend)
    ring = dots(170, filled=False, strokeWidth=2.2)
    line = {"mark": {"type": "line", "strokeWidth": 2}}
    straight = {"type": "line", "strokeWidth": 1, "strokeDash": [4, 3], "color": GREY, "tooltip": None}
    inner = {
        "encoding": {"x": x, "y": y, "color": colour, "tooltip": tips},
        "layer": [
            of_rows("datum.end", {"mark": straight}),
            of_rows(
                "datum.k === chosen", {"mark": {"type": "rule", "tooltip": None}, "encoding": {"y": None}}
            ),
            line,
            {"mark": dots(25, cursor="pointer")},
            of_rows("datum.mark", {"mark": ring, "encoding": {"shape": shape}}),
        ],
    }
    panels = small_multiples(inner, "title", size, header=run_header(size[0] + 40))
    panels |= {"params": [{"name": "chosen", "value": 0}], "resolve": {"scale": {"y": "independent"}}}
    return panels | {"spacing": {"row": 16, "column": 14}}
