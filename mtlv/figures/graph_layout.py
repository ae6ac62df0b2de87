"""Where the nodes and the curved arrows of a graph of helping stand: a circle, in plain numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mtlv.evaluation.transfer import TransferEffect, Verdict

BEND = 0.16  # of an edge's length: how far its bend is pushed aside, so that both directions show
INWARD = 0.28  # share of the way to the middle by which it is pulled there, away from other nodes
GAP = 0.072  # radii between a node's centre and the ends of its edges
HEAD = 0.072, 0.056  # radii: length and width of an arrow's head
THIN, THICK = 0.7, 4.6  # width of an edge without difference, and of the largest of few
CROWDED = 60  # edges; with more of them they become thinner and their heads smaller
ORDER: tuple[Verdict, ...] = ("neutral", "harms", "helps")  # from the lowest to the highest
COLOURS: Mapping[Verdict, str] = {"helps": "#009E73", "harms": "#D55E00", "neutral": "#9AA0A6"}
"""Green, red and grey of Okabe and Ito's palette, which colour-blind readers can tell apart."""
DASHES: Mapping[Verdict, tuple[float, ...]] = {"helps": (1, 0), "harms": (5, 2), "neutral": (1, 2)}
"""Solid, dashed, dotted, for print without colours."""

Points = NDArray[np.float64]


@dataclass(frozen=True)
class Edge:
    """An arrow from source to target.

    Args:
        effect: what it stands for.
        curve: [3, 2] control points of a quadratic Bézier curve, from the source to the arrow's head.
        head: [3, 2] corners of the arrow's head, its tip first.
        width: of the line, in points or pixels.
    """

    effect: TransferEffect
    curve: Points
    head: Points
    width: float


def circle(names: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Places of names on the circle with radius 1, clockwise from the top."""
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(names)) / max(1, len(names))
    return {name: (float(np.cos(a)), float(np.sin(a))) for name, a in zip(names, angles, strict=True)}


def edges(found: Sequence[TransferEffect], places: Mapping[str, tuple[float, float]]) -> list[Edge]:
    """Arrows of all effects that have a verdict, in the order in which they are drawn: grey ones lowest."""
    drawn = [cell for cell in found if cell.verdict != "unknown"]
    largest = max((abs(cell.mean) for cell in drawn), default=0.0)
    ordered = sorted(drawn, key=lambda cell: (ORDER.index(cell.verdict), abs(cell.mean)))
    size = min(1.0, (CROWDED / max(1, len(drawn))) ** 0.5)
    return [_edge(cell, places, (abs(cell.mean) / (largest or 1)) ** 0.5, size) for cell in ordered]


def bezier(curve: Points, steps: int = 24) -> Points:
    """Points [steps + 1, 2] of a quadratic curve with control points [3, 2]."""
    t = np.linspace(0, 1, steps + 1)[:, None]
    out: Points = (1 - t) ** 2 * curve[0] + 2 * t * (1 - t) * curve[1] + t**2 * curve[2]
    return out


def _edge(cell: TransferEffect, places: Mapping[str, tuple[float, float]], share: float, size: float) -> Edge:
    """The curve ends where its arrow's head begins; the head's tip stands before the target's node."""
    start, end = (np.array(places[name]) for name in (cell.source, cell.target))
    along = end - start
    aside = np.array([along[1], -along[0]])
    middle = (1 - INWARD) * (start + end) / 2 + BEND * aside
    first = start + GAP * _unit(middle - start)
    way = _unit(end - middle)
    tip = end - GAP * way
    grown = size * (0.7 + 0.5 * share)
    base = tip - HEAD[0] * grown * way
    across = np.array([-way[1], way[0]]) * HEAD[1] * grown / 2
    head = np.stack([tip, base + across, base - across])
    return Edge(cell, np.stack([first, middle, base]), head, THIN + (size * THICK - THIN) * share)


def _unit(vector: Points) -> Points:
    out: Points = vector / np.hypot(*vector)
    return out
