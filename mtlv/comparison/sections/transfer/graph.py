"""Transfer graph of the page: an arrow from each source to each target, with its effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mtlv.comparison.blocks import FigureBlock
from mtlv.comparison.parts.channels import GREY, dots, label, number
from mtlv.comparison.sections.transfer.layout import COLOURS, DASHES, ORDER, Edge, circle, edges
from mtlv.comparison.sections.transfer.matrix import tips
from mtlv.evaluation.transfer import TransferEffect, Transfers, numbers
from mtlv.evaluation.transfer.words import RULE

RADIUS, SIDE, LETTER, TOP = 215, 30, 7.0, 34  # pixels: of the circle, and of the margin for names
PLACES = ("x0", "y0", "x1", "y1", "x2", "y2", "x", "y", "angle", "width")
HEAD = 40, 26  # size of an arrowhead at width 0, and its increase per pixel of width
DASH = 1.8  # pixels of a unit of the dash pattern
PALE = "neutral"
Places = Mapping[str, tuple[float, float]]


def graph(transfers: Transfers, cells: Sequence[TransferEffect], id: str) -> FigureBlock | None:
    """Build the figure; None if no cell has enough pairs for the rule."""
    places = circle(transfers.names)
    drawn = edges(cells, places)
    if not drawn:
        return None
    left = len(cells) - len(drawn)
    caption = (
        f"Arrows point {transfers.wording.arrow}. Green and solid: the source helps; red and dashed: it "
        "harms; grey and dotted: neutral. The width is proportional to the square root of the "
        f"difference. {RULE}"
        + (f" {left} of {len(cells)} cells have no verdict and therefore no arrow." if left else "")
    )
    rows = [
        {"edge": _name(edge), "source": edge.effect.source, "target": edge.effect.target}
        | numbers(edge.effect)
        for edge in drawn
    ]
    spec = _spec(transfers, drawn, places)
    return FigureBlock(f"{id}_graph", "Which task helps which", caption, spec, rows, wide=True)


def _name(edge: Edge) -> str:
    return f"{edge.effect.source} → {edge.effect.target}"


def _place(edge: Edge) -> dict[str, Any]:
    """Return the position of an arrow, in radii, and the angle of its head in degrees, clockwise from up."""
    middle = edge.head.mean(axis=0)
    way = edge.head[0] - edge.head[1:].mean(axis=0)
    angle = np.degrees(np.arctan2(way[0], way[1]))
    values = (*edge.curve.ravel(), *middle, angle, edge.width)
    return {"edge": _name(edge)} | {
        field: round(float(value), 4) for field, value in zip(PLACES, values, strict=True)
    }


def _spec(transfers: Transfers, drawn: Sequence[Edge], places: Places) -> dict[str, Any]:
    longest = max(map(len, places))
    x_room, y_room = (1 + room / RADIUS for room in (SIDE + LETTER * longest, TOP))
    x = number("x", scale={"domain": [-x_room, x_room], "nice": False}, axis=None)
    y = number("y", scale={"domain": [-y_room, y_room], "nice": False}, axis=None)
    ends = {"data": {"values": [_place(edge) for edge in drawn]}, "key": "edge", "fields": list(PLACES)}
    arrows = {
        "transform": [{"lookup": "edge", "from": ends}],
        "layer": [_lines(x, y, transfers), _heads(x, y, transfers)],
    }
    return {
        "width": round(2 * RADIUS * x_room),
        "height": round(2 * RADIUS * y_room),
        "layer": [arrows, *_nodes(x, y, places)],
    }


def _verdicts() -> dict[str, Any]:
    """Return the channels that distinguish verdicts, with one legend."""
    names = list(reversed(ORDER))
    legend = {"orient": "top", "title": None, "symbolSize": 900, "symbolStrokeWidth": 2.5}
    field = label("verdict", legend=legend)
    dashes = [[DASH * length for length in DASHES[name]] for name in names]
    return {
        "color": field | {"scale": {"domain": names, "range": [COLOURS[name] for name in names]}},
        "strokeDash": field | {"scale": {"domain": names, "range": dashes}},
    }


def _opacity() -> dict[str, Any]:
    return {"condition": {"test": f"datum.verdict === '{PALE}'", "value": 0.6}, "value": 0.95}


def _lines(x: dict[str, Any], y: dict[str, Any], transfers: Transfers) -> dict[str, Any]:
    """Return points along each curve, enough to look smooth."""
    curve = (
        "pow(1 - datum.t, 2) * datum.{0}0 + 2 * datum.t * (1 - datum.t) * datum.{0}1 "
        "+ pow(datum.t, 2) * datum.{0}2"
    )
    return {
        "transform": [
            {"calculate": "sequence(0, 1.01, 0.05)", "as": "t"},
            {"flatten": ["t"]},
            *({"calculate": curve.format(name), "as": f"at_{name}"} for name in "xy"),
        ],
        "mark": {"type": "line", "interpolate": "linear"},
        "encoding": {
            "x": x | {"field": "at_x"},
            "y": y | {"field": "at_y"},
            "order": number("t"),
            "detail": label("edge"),
            "strokeWidth": number("width", scale=None, legend=None),
            "opacity": _opacity(),
            "tooltip": tips(transfers),
        }
        | _verdicts(),
    }


def _heads(x: dict[str, Any], y: dict[str, Any], transfers: Transfers) -> dict[str, Any]:
    size = {"expr": f"{HEAD[0]} + {HEAD[1]} * datum.width"}
    return {
        "mark": {"type": "point", "shape": "triangle-up", "filled": True, "size": size, "strokeWidth": 0},
        "encoding": {
            "x": x,
            "y": y,
            "angle": number("angle", scale=None),
            "color": _verdicts()["color"],
            "opacity": _opacity(),
            "tooltip": tips(transfers),
        },
    }


def _nodes(x: dict[str, Any], y: dict[str, Any], places: Places) -> list[dict[str, Any]]:
    values = [{"name": name, "x": at[0], "y": at[1]} for name, at in places.items()]
    data = {"data": {"values": values}}
    at = {"x": x, "y": y, "tooltip": {"field": "name", "title": "task"}}
    side = "abs(datum.x) < 0.2 ? 'center' : datum.x > 0 ? 'left' : 'right'"
    above = "abs(datum.x) >= 0.2 ? 0 : datum.y > 0 ? -16 : 16"
    name = {
        "type": "text",
        "fontSize": 12,
        "align": {"expr": side},
        "dx": {"expr": "abs(datum.x) < 0.2 ? 0 : datum.x > 0 ? 12 : -12"},
        "dy": {"expr": above},
    }
    return [
        data | {"mark": dots(90, color=GREY), "encoding": at},
        data | {"mark": name, "encoding": at | {"text": label("name")}},
    ]
