"""Transfer matrix of the page: cells by target and source, with the baseline in a separate column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mtlv.comparison.blocks import FigureBlock
from mtlv.comparison.parts.channels import GREY, ZERO, label, number, only, task_axis, tip
from mtlv.comparison.parts.heatmap import ink, slanted_axis
from mtlv.evaluation.transfer import POINTS, TransferEffect, Transfers, baseline_mean, numbers, points
from mtlv.evaluation.transfer.words import RULE, pairs_text
from mtlv.figures.palette import DIVERGING

CELL, WIDE, NARROW, AREA = 28, 76, 48, 640  # pixels: height and widths of a cell, and width of a row
BASELINE, ALONE, SAME, UNMEASURED, MEASURED = "baseline", "alone", "same", "not measured", "measured"
LIGHT = 0.85  # share of the colour scale, from its middle, up to which cells are bright and need dark text
LEAST = 0.01  # minimum range of the scale, so that tiny differences have pale colours


def matrix(transfers: Transfers, effects: Sequence[TransferEffect], id: str) -> FigureBlock:
    """Build the figure, with one row of data per cell, measured or not, and per baseline."""
    wording = transfers.wording
    caption = (
        f"Rows are targets. The first column is the score of a model {wording.alone}, in points (100 x the "
        f"target's main metric); the others are the difference of a model {wording.after}; "
        f"{pairs_text(transfers, effects)}. Blue is better than the baseline, orange worse; all rows have "
        f"the same scale, by the square root of the difference. {RULE} Bold differences "
        "help or harm, plain ones are neutral, slanted ones unknown; grey cells were not measured."
    )
    spec = {
        "hconcat": [_baselines(transfers), _cells(transfers, effects)],
        "spacing": 14,
        "resolve": {"scale": {"y": "shared"}},
    }
    title = f"Difference to the baseline, by target and {wording.partner}"
    return FigureBlock(f"{id}_matrix", title, caption, spec, _rows(transfers, effects), wide=True)


def _rows(transfers: Transfers, effects: Sequence[TransferEffect]) -> list[dict[str, Any]]:
    cells = {(cell.source, cell.target): cell for cell in effects}
    rows = []
    for target in transfers.targets:
        mean = baseline_mean(transfers, target)
        shown = "" if mean is None else f"{POINTS * mean:.1f}"
        rows.append(_row(BASELINE, target, None, ALONE, shown) | {"baseline": mean})
        for source in transfers.sources:
            cell = cells.get((source, target))
            if cell is not None:
                rows.append(_row(source, target, cell, MEASURED, points(cell.mean)))
            elif source == target:
                rows.append(_row(source, target, None, SAME, "–"))
            else:
                rows.append(_row(source, target, None, UNMEASURED, ""))
    return rows


def _row(source: str, target: str, cell: TransferEffect | None, kind: str, shown: str) -> dict[str, Any]:
    return {"source": source, "target": target, "kind": kind, "shown": shown} | numbers(cell)


def _tips(transfers: Transfers) -> list[dict[str, str]]:
    """Return the lines of a cell's tooltip, as fractions like everywhere on the page."""
    return [
        tip("target"),
        tip("source", transfers.wording.columns),
        tip("verdict", "by the rule"),
        tip("difference", "difference", "+.4f"),
        tip("low", "interval from", "+.4f"),
        tip("high", "to", "+.4f"),
        tip("p_holm", "p after Holm", ".3~g"),
        tip("n", "pairs", "d"),
        tip("baseline", "score alone", ".4f"),
        tip("after", "score of the cell", ".4f"),
    ]


def reach(effects: Sequence[TransferEffect]) -> float:
    """Return half the range of the colours: the largest difference of all cells, at least 1 point."""
    return max((LEAST, *(abs(cell.mean) for cell in effects)))


def _axis(names: Sequence[str], title: str | None) -> dict[str, Any]:
    return label("source", scale={"domain": list(names)}, axis=slanted_axis(title, 220))


def _targets(transfers: Transfers, axis: dict[str, Any] | None) -> dict[str, Any]:
    return label("target", scale={"domain": list(transfers.targets)}, axis=axis)


def _baselines(transfers: Transfers) -> dict[str, Any]:
    column = {
        "width": {"step": NARROW},
        "height": {"step": CELL},
        "mark": {"type": "text", "fontSize": 11, "fontWeight": "bold"},
        "encoding": {
            "x": _axis([BASELINE], None),
            "y": _targets(transfers, task_axis(title="target")),
            "text": label("shown"),
            "tooltip": [tip("target"), tip("baseline", "score alone", ".4f")],
        },
    }
    return only("kind", ALONE, column)


def _cells(transfers: Transfers, effects: Sequence[TransferEffect]) -> dict[str, Any]:
    limit = reach(effects)
    legend = {
        "title": "difference in points",
        "orient": "right",
        "gradientLength": max(100, min(260, CELL * len(transfers.targets) - 40)),
        "format": "+.1f",
        "labelExpr": ZERO,
        "values": [POINTS * limit * share for share in (-1, -0.25, 0, 0.25, 1)],
    }
    scale = {"type": "sqrt", "domain": [-POINTS * limit, 0, POINTS * limit], "range": list(DIVERGING)}
    colour = number("points", scale=scale, legend=legend)
    light = f"!isValid(datum.points) || abs(datum.points) < {LIGHT**2 * POINTS * limit:.4f}"
    return {
        "width": {"step": max(NARROW, min(WIDE, AREA // max(1, len(transfers.sources))))},
        "height": {"step": CELL},
        "transform": [
            {"filter": f"datum.kind !== '{ALONE}'"},
            {"calculate": f"isValid(datum.difference) ? {POINTS} * datum.difference : null", "as": "points"},
        ],
        "encoding": {
            "x": _axis(transfers.sources, transfers.wording.columns),
            "y": _targets(transfers, None),
            "tooltip": _tips(transfers),
        },
        "layer": [
            only("kind", UNMEASURED, {"mark": {"type": "rect", "color": GREY, "opacity": 0.35}}),
            only("kind", MEASURED, {"mark": {"type": "rect"}, "encoding": {"color": colour}}),
            *_written(light),
        ],
    }


def _written(light: str) -> list[dict[str, Any]]:
    """Return the numbers, dark or white depending on the cell, and the dash of the diagonal."""
    text, colour = {"text": label("shown")}, {"color": ink(light)}
    mark = {"type": "text", "fontSize": 11}
    verdict = {
        "fontWeight": {"expr": "indexof(['helps', 'harms'], datum.verdict) < 0 ? 'normal' : 'bold'"},
        "fontStyle": {"expr": "datum.verdict === 'unknown' ? 'italic' : 'normal'"},
    }
    return [
        only("kind", MEASURED, {"mark": mark | verdict, "encoding": text | colour}),
        only("kind", SAME, {"mark": mark, "encoding": text}),
    ]
