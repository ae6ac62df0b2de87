"""What each task gains with each other: a matrix, and a tree of the tasks that help each other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from mtlv.comparison.blocks import FigureBlock
from mtlv.comparison.parts import of_run
from mtlv.comparison.parts.channels import (
    GREY,
    ZERO,
    dots,
    label,
    number,
    only,
    task_axis,
    tip,
    with_value,
)
from mtlv.comparison.parts.heatmap import CELL, ink, slanted_axis
from mtlv.comparison.parts.shared_groups import GroupNumbers, group_shapes
from mtlv.comparison.sections.transfer.matrix import LIGHT, NARROW
from mtlv.evaluation.compared_runs import ComparedRun
from mtlv.evaluation.transfer import POINTS
from mtlv.figures.palette import DIVERGING
from mtlv_lab.prediction import Floats, Prediction

MOST = 40  # tasks; with more, cells are too small and the page too large
MET = 3  # measurements of two tasks together, with fewer of which their effect is unreliable
WITHIN = 1.96  # standard errors: half of a 95% interval
WIDE, AREA = 76, 760  # pixels: width of a cell with few tasks, and of a row
UNRELIABLE, RELIABLE, SAME, GROUP = "unreliable", "reliable", "same", "group"


def matrix(run: ComparedRun, found: Prediction, id: str) -> list[FigureBlock]:
    """Build a heatmap of the effects, receiver by giver, in the order of the groups; [] without effects."""
    if not has_effects(found):
        return []
    rows = _cells(run, found)
    doubtful = sum(row["kind"] == UNRELIABLE for row in rows)
    cells = len(found.tasks) * (len(found.tasks) - 1)
    caption = (
        "Rows are tasks that receive, columns tasks that give: the change of the receiver's validation "
        "score, in points (100 x its metric), when the giver joins its group, estimated from the measured "
        "groups. Blue is a gain, orange a loss. Not bold: unreliable, since the two met fewer than "
        f"{MET} times, or the 95% interval of the effect contains 0 or is unknown ({doubtful} of {cells} "
        "cells; without any effect, about 5% would be bold). A row of one colour: what matters is the "
        "size of its group, not which tasks are in it. Frames are the groups that follow."
    )
    title = "What each task gains with each other"
    return [FigureBlock(f"{id}_effects", title, caption, _matrix_spec(found), rows, wide=True)]


def has_effects(found: Prediction) -> bool:
    """Return whether the effects of a prediction are known, and of so few tasks that they can be drawn."""
    return 3 <= len(found.tasks) <= MOST and bool(np.isfinite(found.effects).all())


def reliable(found: Prediction) -> np.ndarray:
    """Return whether the effect of each pair [T, T] is known well enough to have a sign."""
    with np.errstate(invalid="ignore"):
        return (found.together >= MET) & (np.abs(found.effects) > WITHIN * found.errors)


def _cells(run: ComparedRun, found: Prediction) -> list[dict[str, Any]]:
    """Return the rows of all cells, and of a frame per group."""
    sure, order = reliable(found), _order(found)
    rows: list[dict[str, Any]] = []
    for at in order:
        for by in order:
            row: dict[str, Any] = {"receiver": found.tasks[at], "giver": found.tasks[by]}
            if at == by:
                rows.append(of_run(run) | row | {"kind": SAME, "shown": "–"})
                continue
            effect, error = POINTS * found.effects[at, by], POINTS * found.errors[at, by]
            known = bool(np.isfinite(error))
            row |= {"kind": RELIABLE if sure[at, by] else UNRELIABLE, "points": float(effect)}
            row |= {"low": float(effect - WITHIN * error) if known else None}
            row |= {"high": float(effect + WITHIN * error) if known else None}
            rows.append(
                of_run(run)
                | row
                | {"shown": f"{effect:+.1f}".replace("-", "−"), "together": int(found.together[at, by])}
            )
    for group in found.groups:
        first, *_, last = 2 * [found.tasks[at] for at in order if found.tasks[at] in group]
        ends = {"receiver": first, "giver": first, "receiver_end": last, "giver_end": last}
        rows.append(of_run(run) | ends | {"kind": GROUP})
    return rows


def _order(found: Prediction) -> list[int]:
    """Return tasks in the order of the groups, and of the tree within them."""
    group = {name: number for number, names in enumerate(found.groups) for name in names}
    return sorted(_dendrogram(found)["leaves"], key=lambda at: group[found.tasks[at]])


def _matrix_spec(found: Prediction) -> dict[str, Any]:
    limit = max(0.1, float(POINTS * np.abs(found.effects).max()))
    names = [found.tasks[at] for at in _order(found)]
    light = f"!isValid(datum.points) || abs(datum.points) < {LIGHT * limit:.4f}"
    legend = {
        "title": ["effect in points", "bold: reliable"],
        "orient": "right",
        "gradientLength": max(80, min(220, CELL * len(names) - 60)),
        "format": "+.1f",
        "labelExpr": ZERO,
        "values": [limit * share for share in (-1, -0.5, 0, 0.5, 1)],
    }
    scale = {"domain": [-limit, 0, limit], "range": list(DIVERGING)}
    colour = number("points", scale=scale, legend=legend)
    tips = [
        tip("receiver", "receives"), tip("giver", "gives"), tip("points", "effect, points", "+.2f"),
        tip("low", "interval from", "+.2f"), tip("high", "to", "+.2f"),
        tip("together", "measured together", "d"), tip("kind"),
    ]  # fmt: skip
    written = {"text": label("shown"), "tooltip": tips}
    bold = {"fontWeight": {"expr": f"datum.kind === '{UNRELIABLE}' ? 'normal' : 'bold'"}}
    frame = {
        "x": label("giver", bandPosition=0),
        "y": label("receiver", bandPosition=0),
        "x2": {"field": "giver_end", "bandPosition": 1},
        "y2": {"field": "receiver_end", "bandPosition": 1},
    }
    border = {"type": "rect", "filled": False, "stroke": GREY, "strokeWidth": 2.5}
    small = {"type": "text", "fontSize": 10}
    down = task_axis(labelOverlap=False, title="receives")
    return {
        "width": {"step": max(NARROW - 8, min(WIDE, AREA // max(1, len(names))))},
        "height": {"step": CELL + 4},
        "encoding": {
            "x": label("giver", scale={"domain": names}, axis=slanted_axis("gives", 220)),
            "y": label("receiver", scale={"domain": names}, axis=down),
        },
        "layer": [
            with_value("points", {"mark": "rect", "encoding": {"color": colour, "tooltip": tips}}),
            with_value("points", {"mark": small | bold, "encoding": written | {"color": ink(light)}}),
            only("kind", SAME, {"mark": small, "encoding": written}),
            only("kind", GROUP, {"mark": border, "encoding": frame}),
        ],
    }


# ---- Tree -------------------------------------------------------------------------------------------------


def tree(run: ComparedRun, found: Prediction, given: GroupNumbers, id: str) -> list[FigureBlock]:
    """Build a dendrogram of the tasks by their mutual effects, with their groups; [] without effects."""
    if not has_effects(found):
        return []
    drawn, top = _dendrogram(found), _mutual(found.effects).max() + _stem(found)
    numbers = [given.number(run, names, at) for at, names in enumerate(found.groups, 1)]
    group = {name: number for number, names in zip(numbers, found.groups, strict=True) for name in names}
    rows: list[dict[str, Any]] = [
        of_run(run) | {"node": number, "step": step, "effect": float(POINTS * (top - height)), "place": place}
        for number, (places, heights) in enumerate(zip(drawn["icoord"], drawn["dcoord"], strict=True))
        for step, (place, height) in enumerate(zip(places, heights, strict=True))
    ]
    names = [found.tasks[at] for at in drawn["leaves"]]
    rows += [
        of_run(run)
        | {"leaf": name, "group": group[name], "place": 5.0 + 10 * at, "effect": float(POINTS * top)}
        for at, name in enumerate(names)
    ]
    caption = (
        "Tasks that join further to the left help each other more, on average over the pairs of the two "
        "branches: the mean of both effects of a pair, in points, by average linkage. Colours and shapes "
        "are the groups that follow; they maximise predicted scores and need not be branches of the tree."
    )
    return [FigureBlock(f"{id}_tree", "Tree of the tasks", caption, _tree_spec(names, numbers), rows)]


def _mutual(effects: Floats) -> Floats:
    """Return the mean effect of each pair, of tasks that differ: -inf on the diagonal."""
    out = (effects + effects.T) / 2
    np.fill_diagonal(out, -np.inf)
    return out


def _dendrogram(found: Prediction) -> dict[str, Any]:
    """Return SciPy's dendrogram by distances: the largest mutual effect, and a stem, minus that of a pair."""
    from scipy.cluster.hierarchy import dendrogram, linkage
    from scipy.spatial.distance import squareform

    mutual = _mutual(found.effects)
    away = mutual.max() + _stem(found) - mutual
    np.fill_diagonal(away, 0.0)
    joined = linkage(squareform(away, checks=False), "average", optimal_ordering=True)
    return dict(dendrogram(joined, no_plot=True))


def _stem(found: Prediction) -> float:
    """Return a length for the branches of the two tasks that help each other most."""
    return float(np.ptp(found.effects)) / 20 or 1 / POINTS


def _tree_spec(names: Sequence[str], groups: Sequence[str]) -> dict[str, Any]:
    axis = {
        "values": [5 + 10 * at for at in range(len(names))],
        "labelExpr": f"{json.dumps(list(names))}[(datum.value - 5) / 10]",
        "title": None, "ticks": False, "domain": False, "grid": False, "labelLimit": 220,
        "labelOverlap": False,
    }  # fmt: skip
    y = number("place", scale={"domain": [0, 10 * len(names)], "nice": False}, axis=axis)
    x = number(
        "effect",
        title="mean mutual effect, points",
        scale={"reverse": True, "zero": False, "padding": 12},
        axis={"format": "+.2~f", "tickCount": 6, "labelExpr": ZERO},
    )
    lines = {
        "mark": {"type": "line", "color": GREY, "strokeWidth": 1.5},
        "encoding": {
            "detail": label("node"),
            "order": number("step"),
            "tooltip": [tip("effect", "mean mutual effect, points", "+.2f")],
        },
    }
    leaves = {
        "mark": dots(80),
        "encoding": group_shapes(sorted(groups, key=int)) | {"tooltip": [tip("leaf", "task"), tip("group")]},
    }
    return {
        "width": "container",
        "height": max(120, CELL * len(names)),
        "encoding": {"x": x, "y": y},
        "layer": [with_value("node", lines), with_value("leaf", leaves)],
    }
