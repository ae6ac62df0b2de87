"""Figure of a suite: F1 of every task under every member, and each member's macro and micro F1."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mtlv.figures import canvas
from mtlv.figures.palette import SEQUENTIAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

ROW = 0.25  # inches per task
COLUMN = 0.95  # inches per member
MOST_NUMBERED = 30  # maximum number of members with numbers in the cells
NUMBER: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8}


def draw_suite(
    members: Sequence[str],
    tasks: Sequence[str],
    f1: ArrayLike,
    support: ArrayLike,
    macro: ArrayLike,
    path: Path,
    *,
    title: str,
    micro: ArrayLike | None = None,
    macro_spread: ArrayLike | None = None,
    figure: str = "F1",
) -> Path:
    """Draw the suite and return `path`. Rows are tasks, sorted by positive documents, most on top.

    Args:
        members: M names of the suite's members.
        tasks: T task names.
        f1: [M, T] fractions; NaN if a member does not have the task.
        support: [T] numbers of positive documents.
        macro: [M], macro F1.
        path: path of the PNG.
        title: title of the figure.
        micro: [M] micro F1, as a second row of dots.
        macro_spread: [M], standard deviations of `macro`; NaN for a single value.
        figure: name of the metric, if it is not F1 of yes/no tasks; `macro` is then the plan's score.
    """
    values, sizes = np.asarray(f1, float), np.asarray(support)
    order = np.lexsort((np.arange(len(tasks)), -sizes))
    height = 2.6 + ROW * len(tasks)
    with canvas.style():
        width = 3.9 + COLUMN * max(2, len(members))
        page = canvas.new_figure(width, height, title, 30 + 9 * len(members))
        above, below = page.subplots(2, 1, sharex=True, height_ratios=[1.25, ROW * len(tasks)])
        name = "macro F1" if figure == "F1" else "score"
        _dots(above, name, np.asarray(macro, float), micro=micro, spread=macro_spread)
        image = _heat(below, values[:, order].T)
        below.set_yticks(
            range(len(tasks)), [f"{canvas.wrap_name(tasks[t], 40, 1)}  ({sizes[t]:g})" for t in order]
        )
        _member_names(below, members)
        _scale(below, image, len(tasks), figure)
        return canvas.save(page, path)


def _dots(
    axes: Axes, name: str, macro: NDArray[np.float64], *, micro: ArrayLike | None, spread: ArrayLike | None
) -> None:
    """Draw macro (and micro) F1 of each member, or its score, on an axis limited to these values."""
    rows = [(name, macro, canvas.BLUE, "o")]
    if micro is not None:
        rows.append(("micro F1", np.asarray(micro, float), canvas.ORANGE, "D"))
    columns = np.arange(macro.size)
    if spread is not None:
        axes.errorbar(columns, macro, yerr=spread, fmt="none", ecolor=canvas.BLUE, elinewidth=1, capsize=3)
    for label, values, colour, marker in rows:
        axes.plot(columns, values, marker, color=colour, markersize=6, label=label, zorder=3)
    shown = np.concatenate([values for _, values, _, _ in rows])
    low, high = np.nanmin(shown), np.nanmax(shown)
    room = max(0.02, 0.25 * (high - low))
    axes.set_ylim(low - room, high + room)
    _dot_numbers(axes, np.stack([values for _, values, _, _ in rows]), close=0.16 * (high - low + 2 * room))
    axes.grid(axis="y", color="#dadce0", linewidth=0.7)
    axes.tick_params(which="both", length=0, labelbottom=False)
    axes.locator_params(axis="y", nbins=4)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, handletextpad=0.2)
    canvas.bare(axes)


def _dot_numbers(axes: Axes, values: NDArray[np.float64], *, close: float) -> None:
    """Write a number next to each dot of `values` [1 or 2, M]; numbers of close dots move apart."""
    for column, pair in enumerate(values.T):
        near = pair.size > 1 and abs(pair[0] - pair[1]) < close
        for value in pair:
            shift = (5 if value == pair.max() else -5) if near else 0
            axes.annotate(
                f"{value:.3f}",
                (column, value),
                (8, shift),
                textcoords="offset points",
                va="center",
                fontsize=8,
            )


def _heat(axes: Axes, values: NDArray[np.float64]) -> AxesImage:
    """Draw the cells [T, M], with dark numbers on light cells and light numbers on dark cells."""
    lowest = min(0.9, np.floor(10 * np.nanmin(values)) / 10) if np.isfinite(values).any() else 0.0
    image = axes.imshow(values, cmap=SEQUENTIAL, vmin=lowest, vmax=1, aspect="auto", interpolation="nearest")
    axes.set_xticks(np.arange(-0.5, values.shape[1]), minor=True)
    axes.set_yticks(np.arange(-0.5, values.shape[0]), minor=True)
    axes.grid(which="minor", color="white", linewidth=1)
    axes.tick_params(which="both", length=0)
    canvas.bare(axes)
    if values.shape[1] > MOST_NUMBERED:
        return image
    colours = image.to_rgba(values)
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)[..., :3]
    light = linear @ (0.2126, 0.7152, 0.0722) > 0.179  # luminance of WCAG 2: black is clearer from here on
    for (row, column), value in np.ndenumerate(values):
        known = not np.isnan(value)
        colour = "black" if light[row, column] or not known else "white"
        axes.text(column, row, f"{value:.2f}" if known else "–", color=colour, **NUMBER)
    return image


def _member_names(axes: Axes, members: Sequence[str]) -> None:
    """Write the names below the columns, on several lines; slanted if one is long."""
    long = max(map(len, members)) > 26
    labels = [canvas.wrap_name(name, 30 if long else 13, 2 if long else 3) for name in members]
    axes.set_xticks(range(len(members)), labels, fontsize=8)
    if long:
        for label in axes.get_xticklabels():
            label.set(rotation=35, ha="right", rotation_mode="anchor")


def _scale(axes: Axes, image: AxesImage, tasks: int, figure: str) -> None:
    bar = axes.figure.colorbar(image, ax=axes, shrink=min(1.0, 2.2 / (ROW * tasks)), pad=0.02)
    bar.set_label(f"{figure} on the test set" if tasks > 6 else figure)
    bar.outline.set_visible(False)
