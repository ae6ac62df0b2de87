"""Bars of F1, or the main metric, of each task, with the number of test documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mtlv.figures import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW = 0.26  # inches per task
WIDEST_NAME = 44  # letters per line of a name
MOST_ROWS = 200  # otherwise draw the first and last; report/per_task.csv has all


def draw_per_task(
    names: Sequence[str],
    f1: ArrayLike,
    support: ArrayLike,
    path: Path,
    *,
    title: str,
    spread: ArrayLike | None = None,
    figure: str = "F1",
) -> Path:
    """Draw F1 per task, largest support on top, and return `path`.

    Args:
        names: T task names.
        f1: [T] fractions.
        support: [T] numbers of positive documents.
        path: path of the PNG.
        title: title above the bars.
        spread: [T] standard deviations, drawn as thin lines; NaN for a single value.
        figure: name of the metric, if it is not F1 of yes/no tasks.
    """
    values, sizes = np.asarray(f1, float), np.asarray(support)
    sizes_first = np.lexsort((np.arange(len(names)), -sizes))
    if len(names) > MOST_ROWS:
        half = MOST_ROWS // 2
        sizes_first = np.concatenate([sizes_first[:half], sizes_first[-half:]])
        title = f"{title} (the first and last {half} of {len(names):,} tasks, by support)"
    errors = None if spread is None else np.asarray(spread, float)[sizes_first]
    labels = [f"{canvas.wrap_name(names[t], WIDEST_NAME)}  ({sizes[t]:g})" for t in sizes_first]
    lines = sum(label.count("\n") for label in labels)
    with canvas.style():
        page = canvas.new_figure(7.2, 1.1 + ROW * len(labels) + 0.1 * lines, title, 72)
        axes = page.add_subplot()
        _bars(axes, values[sizes_first], errors)
        counted = "positive test documents" if figure == "F1" else "test documents"
        axes.set_xlabel(f"{figure} (number of {counted} after each name)")
        axes.set_yticks(range(len(labels)), labels)
        _mean_line(axes, float(values.mean()), "macro F1" if figure == "F1" else "mean")
        return canvas.save(page, path)


def _bars(axes: Axes, values: NDArray[np.float64], errors: NDArray[np.float64] | None) -> None:
    rows = np.arange(values.size)
    axes.barh(rows, values, height=0.72, color=canvas.BLUE, zorder=2)
    if errors is not None:
        style = {"fmt": "none", "ecolor": "#202124", "elinewidth": 0.9, "capsize": 2, "zorder": 3}
        axes.errorbar(values, rows, xerr=errors, **style)  # type: ignore[arg-type]
    ends = values if errors is None else values + np.nan_to_num(errors)
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
    for row, (value, end) in enumerate(zip(values, ends, strict=True)):
        axes.text(end + 0.012, row, f"{value:.2f}", va="center", fontsize=8, zorder=4, bbox=box)
    least = float(values.min())  # correlations may be below 0
    axes.set_xlim(least - 0.05 if least < 0 else 0, max(1.08, float(ends.max()) + 0.09))
    axes.set_ylim(values.size - 0.4, -0.6)
    axes.set_xticks(np.linspace(0, 1, 6))
    axes.grid(axis="x", color="#dadce0", linewidth=0.7, zorder=0)
    axes.tick_params(length=0)
    canvas.bare(axes, "left")


def _mean_line(axes: Axes, mean: float, name: str) -> None:
    axes.axvline(mean, color=canvas.ORANGE, linewidth=1.2, linestyle=(0, (4, 3)), zorder=3)
    axes.annotate(
        f"{name} {mean:.3f}",
        (mean, 1),
        xycoords=("data", "axes fraction"),
        xytext=(0, 3),
        textcoords="offset points",
        ha="center" if 0.15 < mean < 0.85 else ("left" if mean < 0.5 else "right"),
        color=canvas.ORANGE,
        fontsize=8,
        annotation_clip=False,
    )
