"""Transfer graph of the page: an arrow from each source to each target, with its effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtlv.comparison.blocks import FigureBlock
from mtlv.comparison.parts.channels import GREY, dots, label, number
from mtlv.comparison.sections.transfer.matrix import tips
from mtlv.evaluation.transfer import TransferEffect, Transfers, Verdict, numbers
from mtlv.evaluation.transfer.words import RULE

RADIUS, SIDE, LETTER, TOP = 215, 30, 7.0, 34  # pixels: of the circle, and of the margin for names
PLACES = ("x0", "y0", "x1", "y1", "x2", "y2", "x", "y", "angle", "width")
HEAD = 40, 26  # size of an arrowhead at width 0, and its increase per pixel of width
DASH = 1.8  # pixels of a unit of the dash pattern
PALE = "neutral"
Places = Mapping[str, tuple[float, float]]
BEND = 0.16  # sideways shift of an edge's middle, as a share of its length; separates the two directions
INWARD = 0.28  # share by which it is shifted to the centre, away from other nodes
GAP = 0.072  # radii between a node's centre and the ends of its edges
HEAD_RADII = 0.072, 0.056  # radii: length and width of an arrow's head
THIN, THICK = 0.7, 4.6  # width of an edge without difference, and of the largest if there are few edges
CROWDED = 60  # with more edges, they get thinner and their heads smaller
ORDER: tuple[Verdict, ...] = ("neutral", "harms", "helps")  # from bottom to top
COLOURS: Mapping[Verdict, str] = {"helps": "#009E73", "harms": "#D55E00", "neutral": "#9AA0A6"}
"""Green, red and grey of Okabe and Ito's palette, which is safe for colour-blind readers."""
DASHES: Mapping[Verdict, tuple[float, ...]] = {"helps": (1, 0), "harms": (5, 2), "neutral": (1, 2)}
"""Solid, dashed and dotted lines, for print without colours."""

Points = NDArray[np.float64]


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


@dataclass(frozen=True)
class Edge:
    """An arrow from source to target."""

    effect: TransferEffect
    curve: Points  # [3, 2] control points of a quadratic Bézier curve, from the source to the arrow's head
    head: Points  # [3, 2] corners of the arrow's head, its tip first
    width: float  # width of the line, in pixels


def circle(names: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Return positions of names on the unit circle, clockwise from the top."""
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(names)) / max(1, len(names))
    return {name: (float(np.cos(a)), float(np.sin(a))) for name, a in zip(names, angles, strict=True)}


def edges(cells: Sequence[TransferEffect], places: Mapping[str, tuple[float, float]]) -> list[Edge]:
    """Return arrows of all effects with a verdict, in drawing order: grey ones first."""
    drawn = [cell for cell in cells if cell.verdict != "unknown"]
    largest = max((abs(cell.mean) for cell in drawn), default=0.0)
    ordered = sorted(drawn, key=lambda cell: (ORDER.index(cell.verdict), abs(cell.mean)))
    size = min(1.0, (CROWDED / max(1, len(drawn))) ** 0.5)
    return [_edge(cell, places, (abs(cell.mean) / (largest or 1)) ** 0.5, size) for cell in ordered]


def _edge(cell: TransferEffect, places: Mapping[str, tuple[float, float]], share: float, size: float) -> Edge:
    """Build an arrow: the curve ends at the base of the arrowhead, the tip in front of the target's node."""
    start, end = (np.array(places[name]) for name in (cell.source, cell.target))
    along = end - start
    aside = np.array([along[1], -along[0]])
    middle = (1 - INWARD) * (start + end) / 2 + BEND * aside
    first = start + GAP * _unit(middle - start)
    way = _unit(end - middle)
    tip = end - GAP * way
    grown = size * (0.7 + 0.5 * share)
    base = tip - HEAD_RADII[0] * grown * way
    across = np.array([-way[1], way[0]]) * HEAD_RADII[1] * grown / 2
    head = np.stack([tip, base + across, base - across])
    return Edge(cell, np.stack([first, middle, base]), head, THIN + (size * THICK - THIN) * share)


def _unit(vector: Points) -> Points:
    out: Points = vector / np.hypot(*vector)
    return out
