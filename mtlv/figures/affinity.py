"""The affinities of a gradient probe as a figure: receivers by givers, hatched where a sign is uncertain."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mtlv.figures import canvas
from mtlv.figures.palette import DIVERGING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CELL = (0.62, 0.4)  # size of a cell in inches
NAME = 20  # letters per line of a name
HATCH = "#6B7075"  # colour of the hatching of uncertain signs
MOST = 60  # tasks; with more, names are not legible
WRITTEN = 25  # tasks; with more, numbers are not written into the cells


def draw_affinity(
    names: Sequence[str],
    affinity: NDArray[np.float64],
    reliable: NDArray[np.bool_],
    path: Path,
    *,
    title: str,
    probes: int,
) -> Path:
    """Draw affinities [T, T] (rows receive, columns give) of the first `MOST` tasks, without the diagonal.

    `reliable` [T, T] is whether odd and even probes agree on the sign.
    """
    count = min(len(names), MOST)
    same = np.eye(count, dtype=bool)
    values = np.where(same, np.nan, affinity[:count, :count])
    uncertain = ~reliable[:count, :count] & ~same
    with canvas.style():
        width = max(6.4, 3.2 + CELL[0] * count)
        letters = int(13 * width)
        page = canvas.new_figure(width, 2.4 + CELL[1] * count, title, letters)
        axes = page.add_subplot()
        _cells(axes, values, uncertain)
        labels = [name_lines(name) for name in names[:count]]
        axes.set_xticks(range(count), labels, rotation=35, ha="left", va="bottom", rotation_mode="anchor")
        axes.set_yticks(range(count), labels)
        axes.tick_params(length=0, labelsize=8, top=True, labeltop=True, bottom=False, labelbottom=False)
        axes.set(xlabel="gives (a step along its gradient)", ylabel="receives (falls by this share)")
        axes.xaxis.set_label_position("top")
        canvas.bare(axes)
        key = (
            f"Share of the receiver's loss per unit of learning rate, in the first order; mean of {probes} "
            f"probes. Hatched: odd and even probes disagree on the sign ({uncertain.sum()} of "
            f"{count * (count - 1)} cells)."
        )
        below = canvas.wrap_name(key, int(letters * 1.25), 4)
        page.supxlabel(below, size=7.5, color=canvas.GREY, x=0.01, ha="left")
        return canvas.save(page, path)


def name_lines(name: str) -> str:
    """Wrap a name to two lines, also at its underscores."""
    return canvas.wrap_name(name.replace("_", "_ "), NAME).replace("_ ", "_")


def _cells(axes: Axes, values: NDArray[np.float64], uncertain: NDArray[np.bool_]) -> None:
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    limit = float(np.nanmax(np.abs(values), initial=1e-12))
    colours = LinearSegmentedColormap.from_list("affinity", DIVERGING)
    image = axes.imshow(values, cmap=colours, vmin=-limit, vmax=limit, aspect="auto")
    axes.figure.colorbar(image, ax=axes, pad=0.02, aspect=24, fraction=0.06).outline.set_visible(False)
    for row, column in np.argwhere(np.isfinite(values)):
        value = values[row, column]
        if uncertain[row, column]:
            axes.add_patch(
                Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, hatch="////", linewidth=0,
                          edgecolor=HATCH, alpha=0.55)
            )  # fmt: skip
        if len(values) <= WRITTEN:
            ink = "white" if abs(value) > 0.6 * limit else "black"
            axes.text(column, row, f"{value:.2g}", ha="center", va="center", fontsize=8, color=ink)
