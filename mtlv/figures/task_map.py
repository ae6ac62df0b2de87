"""Map of the tasks: their vectors in two dimensions, coloured by group, with readable names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mtlv.figures import canvas, label_placement
from mtlv.figures.palette import GROUPS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h")  # 10 and 11: pairs repeat only after 110
WIDTH, HEIGHT = 8.0, 5.8  # inches, for about 25 names
GROWTH = 1.2  # factor by which the figure grows until every name fits
MARKER, SMALL_MARKER = 7.0, 4.5  # points; the smaller one if not every task is named
NAME = 26  # letters per line of a name
MOST_NAMES = 120  # with more tasks, only the medoids are named, to keep the map readable


def project(vectors: ArrayLike) -> tuple[NDArray[np.float64], tuple[float, float]]:
    """Project vectors on two principal components: [T, D] -> [T, 2]; also return their shares of variance.

    The sign of a component is arbitrary; its largest loading is made positive.
    """
    from sklearn.decomposition import PCA

    matrix = np.asarray(vectors, dtype=float)
    matrix = matrix[:, None] if matrix.ndim == 1 else matrix
    points, shares = np.zeros((len(matrix), 2)), np.zeros(2)
    count = min(2, *matrix.shape)
    if np.ptp(matrix, axis=0).any():  # otherwise there is no variance to share
        model = PCA(count, svd_solver="full").fit(matrix)
        points[:, :count] = model.transform(matrix)
        shares[:count] = model.explained_variance_ratio_
    return points, (float(shares[0]), float(shares[1]))


def draw_map(
    vectors: ArrayLike,
    names: Sequence[str],
    labels: Sequence[int],
    path: Path,
    *,
    title: str,
    medoids: Sequence[int] | None = None,
) -> Path:
    """Draw the map and return `path`.

    Args:
        vectors: [T, D], vectors as used by the grouping (scaled); their principal components are drawn.
        names: T names.
        labels: group of each task, 0..k-1.
        path: path of the PNG.
        title: title above the map.
        medoids: most central task of each group, in bold, with lines from the tasks of its group.
    """
    figure, _ = map_figure(vectors, names, labels, title=title, medoids=medoids)
    with canvas.style():
        return canvas.save(figure, path)


def map_figure(
    vectors: ArrayLike,
    names: Sequence[str],
    labels: Sequence[int],
    *,
    title: str,
    medoids: Sequence[int] | None = None,
) -> tuple[Figure, list[Text]]:
    """Return the map as a figure, and the texts of the names in it; arguments as for `draw_map`.

    The figure grows until all names fit without overlaps. With more than `MOST_NAMES` tasks, only the medoids
    of the largest groups are named, but all tasks have a point.
    """
    points, shares = project(vectors)
    written = _items_to_label(labels, medoids or ())
    if len(written) < len(names):
        title = f"{title} (names of {len(written)} of {len(names):,} tasks)"
    size = max(1.0, (len(written) / 25) ** 0.5)
    while True:
        with canvas.style():
            figure = canvas.new_figure(WIDTH * size, HEIGHT * size, title, int(90 * size))
            axes = _axes(figure, points, shares)
            _points(axes, points, names, labels, medoids or ())
            texts = _names(figure, axes, points, names, written, bold=set(medoids or ()))
        if len(texts) == len(written):
            return figure, texts
        size *= GROWTH


def _items_to_label(labels: Sequence[int], medoids: Sequence[int]) -> list[int]:
    """Return the tasks whose names are written."""
    if len(labels) <= MOST_NAMES:
        return list(range(len(labels)))
    sizes = np.bincount(labels)
    largest = sorted(range(len(medoids)), key=lambda group: (-sizes[group], group))[:MOST_NAMES]
    return sorted(int(medoids[group]) for group in largest)


def _axes(figure: Figure, points: NDArray[np.float64], shares: tuple[float, float]) -> Axes:
    axes = figure.subplots()
    axes.set_xlabel(f"First principal component ({shares[0]:.0%} of the variance)")
    if shares[1] > 0:
        axes.set_ylabel(f"Second principal component ({shares[1]:.0%} of the variance)")
    for spread, limits in ((points[:, 0], axes.set_xlim), (points[:, 1], axes.set_ylim)):
        middle, half = (spread.max() + spread.min()) / 2, np.ptp(spread) / 2 or 1.0
        limits(middle - 1.25 * half, middle + 1.25 * half)
    axes.set_xticks([])  # the units of a component have no meaning; distances between points do
    axes.set_yticks([])
    return axes


def _points(
    axes: Axes,
    points: NDArray[np.float64],
    names: Sequence[str],
    labels: Sequence[int],
    medoids: Sequence[int],
) -> None:
    """Draw the points, and lines from medoids to them."""
    groups = np.asarray(labels)
    marker_size = MARKER if len(names) <= MOST_NAMES else SMALL_MARKER
    for group in range(int(groups.max()) + 1):
        members = np.flatnonzero(groups == group)
        colour, marker = GROUPS[group % len(GROUPS)], MARKERS[group % len(MARKERS)]
        centre = medoids[group] if group < len(medoids) else None
        if centre is not None:
            rays = np.full((len(members), 3, 2), np.nan)  # from the medoid to each point, one line
            rays[:, 0], rays[:, 1] = points[centre], points[members]
            axes.plot(*rays.reshape(-1, 2).T, color=colour, linewidth=0.9, alpha=0.3, zorder=1)
        title = f"Group {group + 1} ({len(members)})" + (f": {names[centre]}" if centre is not None else "")
        axes.plot(
            *points[members].T,
            linestyle="none",
            marker=marker,
            markersize=marker_size,
            color=colour,
            markeredgecolor="white",
            markeredgewidth=0.6 if marker_size == MARKER else 0.3,
            zorder=3,
            label=canvas.wrap_name(title, 34),
        )
    count = int(groups.max()) + 1
    heading = "Group (tasks): its medoid" if len(medoids) else "Group (tasks)"
    axes.figure.legend(
        loc="outside lower left", ncols=min(3, count), frameon=False, fontsize=8, title=heading,
        title_fontsize=8, alignment="left", borderaxespad=0.2,
    )  # fmt: skip


def _names(
    figure: Figure,
    axes: Axes,
    points: NDArray[np.float64],
    names: Sequence[str],
    written: Sequence[int],
    *,
    bold: set[int],
) -> list[Text]:
    """Write these names without overlaps, and return the texts; empty if some do not fit."""
    figure.dpi = canvas.DPI  # extents are measured at the resolution of the file
    texts = [_name(axes, points[item], names[item], bold=item in bold) for item in written]
    points = points[list(written)]
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # keep the axes at the measured position
    extents = [text.get_window_extent() for text in texts]
    if not texts:
        return []
    area = axes.get_window_extent()
    point = canvas.DPI / 72  # pixels
    scene = label_placement.Scene(
        points=axes.transData.transform(points),
        sizes=np.array([(box.width, box.height) for box in extents]),
        area=(area.x0, area.y0, area.x1, area.y1),
        marker=0.6 * MARKER * point,
        gap=1.5 * point,
    )
    centres = label_placement.place(scene)
    if centres is None:
        return []
    back = axes.transData.inverted()
    ends = label_placement.leader_ends(scene, centres)
    unclear = label_placement.nearer_to_another(scene, centres)
    for item, text in enumerate(texts):
        text.set_position(tuple(back.transform(centres[item])))
        if unclear[item] or np.hypot(*(ends[item] - scene.points[item])) > 9 * point:
            line = back.transform(np.stack([scene.points[item], ends[item]]))
            axes.plot(*line.T, color=canvas.GREY, linewidth=0.6, zorder=2)
    return texts


def _name(axes: Axes, point: NDArray[np.float64], name: str, *, bold: bool) -> Text:
    from matplotlib.patheffects import withStroke

    text = axes.text(
        point[0],
        point[1],
        canvas.wrap_name(name, NAME, lines=3),
        size=8,
        weight="bold" if bold else "normal",
        ha="center",
        va="center",
        zorder=5,
        linespacing=1.0,
        path_effects=[withStroke(linewidth=2, foreground="white")],
    )
    text.set_in_layout(False)
    return text
