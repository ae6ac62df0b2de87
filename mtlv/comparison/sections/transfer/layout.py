"""Layout of the transfer graph: positions of nodes on a circle, and of curved arrows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mtlv.evaluation.transfer import TransferEffect, Verdict

BEND = 0.16  # sideways shift of an edge's middle, as a share of its length; separates the two directions
INWARD = 0.28  # share by which it is shifted to the centre, away from other nodes
GAP = 0.072  # radii between a node's centre and the ends of its edges
HEAD = 0.072, 0.056  # radii: length and width of an arrow's head
THIN, THICK = 0.7, 4.6  # width of an edge without difference, and of the largest if there are few edges
CROWDED = 60  # with more edges, they get thinner and their heads smaller
ORDER: tuple[Verdict, ...] = ("neutral", "harms", "helps")  # from bottom to top
COLOURS: Mapping[Verdict, str] = {"helps": "#009E73", "harms": "#D55E00", "neutral": "#9AA0A6"}
"""Green, red and grey of Okabe and Ito's palette, which is safe for colour-blind readers."""
DASHES: Mapping[Verdict, tuple[float, ...]] = {"helps": (1, 0), "harms": (5, 2), "neutral": (1, 2)}
"""Solid, dashed and dotted lines, for print without colours."""

Points = NDArray[np.float64]


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
    base = tip - HEAD[0] * grown * way
    across = np.array([-way[1], way[0]]) * HEAD[1] * grown / 2
    head = np.stack([tip, base + across, base - across])
    return Edge(cell, np.stack([first, middle, base]), head, THIN + (size * THICK - THIN) * share)


def _unit(vector: Points) -> Points:
    out: Points = vector / np.hypot(*vector)
    return out
