"""Placement of the labels of points, without overlaps and close to their own points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ANGLES = np.deg2rad(np.arange(0, 360, 15))
RINGS = 1.35  # ratio of the radii of successive rings of candidates
SWEEPS = 4  # rounds in which each label may move again while the others stay
SAMPLES = np.linspace(0.0, 1.0, 24)  # points of a leader line that are checked
NEAREST = 64  # number of free positions whose cost is computed
UNCLEAR = 25.0  # cost of a label that is closer to another point than to its own
CROSSING = 250.0  # cost of a leader line across a label or a point, in pixels of distance


@dataclass(frozen=True)
class Scene:
    """Geometry for the placement of labels, in pixels.

    Attributes:
        points: [T, 2] centres of the markers.
        sizes: [T, 2] width and height of each label.
        area: (x0, y0, x1, y1) that contains all labels.
        marker: half the width of a marker.
        gap: minimum distance between two labels, and from a label to the edge of the area.
    """

    points: Array
    sizes: Array
    area: tuple[float, float, float, float]
    marker: float
    gap: float


def place(scene: Scene) -> Array | None:
    """Return centres [T, 2] of all labels, or None if they do not all fit.

    Each label, that of the most crowded point first, gets the free position of lowest cost on rings around
    its point; a closer position is cheaper unless its leader line crosses another label. Then each label may
    move again in turn. The result is deterministic.
    """
    distances = np.linalg.norm(scene.points[:, None] - scene.points, axis=2)
    crowd = np.sort(distances, axis=1)[:, :6].sum(axis=1)
    centres = np.full(scene.points.shape, np.nan)
    for sweep in range(SWEEPS):
        before = centres.copy()
        for item in np.argsort(crowd, kind="stable"):
            centres[item] = np.nan
            best = _best(scene, item, centres)
            if best is None and sweep == 0:
                return None
            centres[item] = before[item] if best is None else best
        if np.array_equal(before, centres):
            break
    return centres


def boxes(centres: Array, sizes: Array) -> Array:
    """Return boxes [T, 4] (x0, y0, x1, y1) around centres."""
    return np.concatenate([centres - sizes / 2, centres + sizes / 2], axis=1)


def _sample(starts: Array, ends: Array) -> Array:
    """Return points [S, N, 2] on lines from `starts` to `ends`; one start may be shared by all."""
    return starts + SAMPLES[:, None, None] * (ends - starts)


def leader_ends(scene: Scene, centres: Array) -> Array:
    """Return the point [T, 2] of each label's box that is closest to its marker."""
    half = scene.sizes / 2
    return np.clip(scene.points, centres - half, centres + half)


def nearer_to_another(scene: Scene, centres: Array) -> NDArray[np.bool_]:
    """Return a mask [T] of the labels that are closer to another point than to their own."""
    away = _away(centres, scene.sizes[:, None], scene.points)  # [T, T]
    return away.min(axis=1) < np.diag(away)


def _away(tried: Array, size: Array, points: Array) -> Array:
    """Return distances [P, T] from label boxes, centred at [P, 2], to points [T, 2].

    `size` is [2] if it is that of all boxes, else [P, 1, 2].
    """
    gap = np.maximum(np.abs(tried[:, None] - points) - size / 2, 0.0)  # [P, T, 2]
    return np.hypot(gap[..., 0], gap[..., 1])


def _best(scene: Scene, item: int, centres: Array) -> Array | None:
    """Return the free centre [2] of lowest cost for one label; placed labels are not NaN."""
    tried = _candidates(scene, item)
    labels_at = boxes(tried, np.broadcast_to(scene.sizes[item], tried.shape))  # [P, 4]
    x0, y0, x1, y1 = scene.area
    edge = scene.gap
    inside = (labels_at[:, 0] >= x0 + edge) & (labels_at[:, 1] >= y0 + edge)
    inside &= (labels_at[:, 2] <= x1 - edge) & (labels_at[:, 3] <= y1 - edge)
    markers = boxes(scene.points, np.full(scene.points.shape, 2 * scene.marker))
    placed = np.flatnonzero(~np.isnan(centres[:, 0]))
    labels = boxes(centres[placed], scene.sizes[placed] + 2 * scene.gap)
    free = inside & ~_overlap(labels_at, np.concatenate([markers, labels])).any(axis=1)
    rows = np.flatnonzero(free)[:NEAREST]
    if not rows.size:
        return None
    others = np.delete(markers, item, axis=0)
    away = _away(tried[rows], scene.sizes[item], scene.points)  # [P, T]
    cost = away[:, item] + UNCLEAR * (away.min(axis=1) < away[:, item])
    cost += _crossings(scene, item, tried[rows], centres, np.concatenate([others, labels]))
    return np.asarray(tried[rows[cost.argmin()]])


def _candidates(scene: Scene, item: int) -> Array:
    """Return centres [P, 2] around a point, ring by ring."""
    x0, y0, x1, y1 = scene.area
    rings, radius = [], scene.marker + scene.gap
    while radius < np.hypot(x1 - x0, y1 - y0):
        rings.append(radius)
        radius *= RINGS
    radii = np.repeat(np.array(rings), len(ANGLES))
    turns = np.tile(ANGLES, len(rings))
    direction = np.stack([np.cos(turns), np.sin(turns)], axis=1)
    return scene.points[item] + direction * (radii[:, None] + scene.sizes[item] / 2)


def _overlap(left: Array, right: Array) -> NDArray[np.bool_]:
    """Return a mask [P, Q] of the boxes [P, 4] that overlap boxes [Q, 4]."""
    is_separate = (left[:, None, 2] <= right[None, :, 0]) | (right[None, :, 2] <= left[:, None, 0])
    is_separate |= (left[:, None, 3] <= right[None, :, 1]) | (right[None, :, 3] <= left[:, None, 1])
    return ~is_separate


def _crossings(scene: Scene, item: int, tried: Array, centres: Array, obstacles: Array) -> Array:
    """Return costs [P] of leader lines across labels and markers, and of covering another's leader line."""
    half = scene.sizes[item] / 2
    ends = np.clip(scene.points[item], tried - half, tried + half)  # [P, 2]
    over = _crossing(scene.points[item], ends, obstacles)  # [P, Q]
    placed = np.flatnonzero(~np.isnan(centres[:, 0]))
    labels = boxes(tried, np.broadcast_to(scene.sizes[item], tried.shape))
    under = _crossing(scene.points[placed], leader_ends(scene, centres)[placed], labels)  # [T, P]
    return CROSSING * over.sum(axis=1) + CROSSING * under.sum(axis=0)


def _crossing(starts: Array, ends: Array, areas: Array) -> NDArray[np.bool_]:
    """Return a mask [N, Q] of the lines from `starts` to `ends` [N, 2] that cross boxes [Q, 4]."""
    points = _sample(starts, ends)
    x, y = points[..., :1], points[..., 1:]
    inside = (x > areas[:, 0]) & (x < areas[:, 2]) & (y > areas[:, 1]) & (y < areas[:, 3])  # [S, N, Q]
    return np.asarray(inside.any(axis=0))
