"""The transfer matrix as a figure: differences to the baseline of each row, and their certainty.

All rows have the same scale, symmetric around 0, so that a colour has the same meaning everywhere; it uses
the square root of the difference, so that small differences are visible next to large ones. With a separate
scale per row, noise in one row would look as strong as real gains in another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mtlv.evaluation.transfer import POINTS, TransferEffect, Transfers, baseline_mean, effects, points
from mtlv.evaluation.transfer.words import RULE, pairs_text
from mtlv.figures import canvas
from mtlv.figures.palette import DIVERGING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable

CELL = (0.62, 0.4)  # size of a cell in inches
NAME = 20  # letters per line of a name
APART = 1.25  # columns from the baseline to the first source
LEAST = 0.01  # minimum range of the scale, so that tiny differences have pale colours
HATCHES = {"neutral": "////", "unknown": "...."}
MISSING, FRAME, HATCH = "#D5D8DC", "#FFFFFF", "#6B7075"
NUMBER: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8, "zorder": 4}


def reach(found: Sequence[TransferEffect]) -> float:
    """Return half the range of the colours: the largest difference of all cells, at least 1 point."""
    return max((LEAST, *(abs(cell.mean) for cell in found)))


def name_lines(name: str, width: int, lines: int = 2) -> str:
    """Wrap a name like `canvas.wrapped`, but also at its underscores."""
    return canvas.wrapped(name.replace("_", "_ "), width, lines).replace("_ ", "_")


def draw_transfer(transfers: Transfers, path: Path, *, title: str) -> Path:
    """Draw the matrix and return `path`.

    Rows are targets, columns sources; the first column, set apart, is the baseline. Numbers are differences
    in points (100 x fraction). Hatched: the interval contains 0. Dotted: no verdict by the rule. Grey:
    not measured. `–`: source and target are the same.
    """
    found = effects(transfers)
    width = max(6.4, 2.6 + CELL[0] * (len(transfers.sources) + APART))
    letters = int(13 * width)
    with canvas.style():
        page = canvas.new_figure(width, 2.5 + CELL[1] * len(transfers.targets), title, letters)
        axes = page.add_subplot()
        colours = _colours(reach(found))
        _cells(axes, transfers, {(cell.source, cell.target): cell for cell in found}, colours)
        _baselines(axes, transfers)
        _names(axes, transfers)
        _scale(axes, colours, reach(found))
        told = f"Differences to the row's baseline in points, {pairs_text(transfers, found)}. {RULE}"
        _key(
            axes,
            f"{told} Colours show the square root of the difference, on the same scale in all rows.",
            letters,
        )
        return canvas.save(page, path)


def _colours(limit: float) -> ScalarMappable:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import FuncNorm, LinearSegmentedColormap

    bent = (lambda x: np.sign(x) * np.sqrt(np.abs(x)), lambda y: np.sign(y) * np.square(y))
    return ScalarMappable(
        FuncNorm(bent, -limit, limit), LinearSegmentedColormap.from_list("difference", DIVERGING)
    )


def _cells(
    axes: Axes, transfers: Transfers, found: Mapping[tuple[str, str], TransferEffect], colours: ScalarMappable
) -> None:
    for row, target in enumerate(transfers.targets):
        for column, source in enumerate(transfers.sources):
            cell = found.get((source, target))
            if source == target:
                axes.text(column, row, "–", color=canvas.GREY, **NUMBER)
            elif cell is None:
                _box(axes, column, row, MISSING)
            else:
                _cell(axes, column, row, cell, colours)


def _cell(axes: Axes, column: int, row: int, cell: TransferEffect, colours: ScalarMappable) -> None:
    from matplotlib.colors import to_hex

    red, green, blue, _ = colours.to_rgba(np.array([cell.mean]))[0]
    light = 0.299 * red + 0.587 * green + 0.114 * blue > 0.5  # perceived lightness, ITU-R BT.601
    colour = to_hex((red, green, blue))
    _box(axes, column, row, colour)
    hatch = HATCHES.get(cell.verdict)
    if hatch:
        ink = HATCH if light else "#FFFFFF"
        _box(axes, column, row, "none", 0.96, hatch=hatch, edgecolor=ink, linewidth=0, alpha=0.55)
    ground = {"facecolor": colour, "edgecolor": "none", "boxstyle": "round,pad=0.15"}
    axes.text(column, row, points(cell.mean), color="black" if light else "white", bbox=ground, **NUMBER)


def _baselines(axes: Axes, transfers: Transfers) -> None:
    for row, target in enumerate(transfers.targets):
        mean = baseline_mean(transfers, target)
        if mean is None:
            _box(axes, -APART, row, MISSING)
        else:
            axes.text(-APART, row, f"{POINTS * mean:.1f}", weight="bold", **NUMBER)


def _box(axes: Axes, column: float, row: float, colour: str, size: float = 1.0, **changes: Any) -> None:
    from matplotlib.patches import Rectangle

    look: dict[str, Any] = {"facecolor": colour, "edgecolor": FRAME, "linewidth": 1.2} | changes
    axes.add_patch(Rectangle((column - size / 2, row - size / 2), size, size, **look))


def _names(axes: Axes, transfers: Transfers) -> None:
    columns, rows = len(transfers.sources), len(transfers.targets)
    labels = [name_lines(name, NAME) for name in transfers.sources]
    axes.set_xticks([-APART, *range(columns)], ["baseline", *labels])
    axes.set_yticks(range(rows), [name_lines(name, NAME) for name in transfers.targets])
    axes.tick_params(length=0, labelsize=8, top=True, labeltop=True, bottom=False, labelbottom=False, pad=3)
    for label in axes.get_xticklabels():
        label.set(rotation=35, ha="left", va="bottom", rotation_mode="anchor")
    axes.get_xticklabels()[0].set_fontweight("bold")
    axes.set_ylabel("target", labelpad=6)
    axes.set_xlabel(transfers.wording.columns, labelpad=6)
    axes.xaxis.set_label_position("top")
    axes.set_xlim(-APART - 0.5, columns - 0.5)
    axes.set_ylim(rows - 0.5, -0.5)
    canvas.bare(axes)


def _scale(axes: Axes, colours: ScalarMappable, limit: float) -> None:
    """Draw the colour bar, with as many ticks as fit; the scale is compressed at its ends."""
    ticks = [-limit, -limit / 4, 0.0, limit / 4, limit]
    bar = axes.figure.colorbar(colours, ax=axes, pad=0.02, ticks=ticks, aspect=24, fraction=0.06)
    bar.ax.set_yticklabels([points(tick) for tick in ticks], fontsize=8)
    bar.ax.minorticks_off()
    bar.set_label("difference in points", fontsize=8)
    bar.outline.set_visible(False)


def _key(axes: Axes, rule: str, letters: int) -> None:
    from matplotlib.patches import Patch

    key = [
        Patch(facecolor="white", edgecolor=HATCH, hatch=HATCHES["neutral"], label="interval contains 0"),
        Patch(facecolor="white", edgecolor=HATCH, hatch=HATCHES["unknown"], label="no verdict"),
        Patch(facecolor=MISSING, label="not measured"),
    ]
    for patch in key:
        patch.set_linewidth(0.5)
    legend = axes.figure.legend(
        handles=key, loc="outside lower left", ncols=3, frameon=False, fontsize=8, borderaxespad=0.2,
        title=canvas.wrapped(rule, int(letters * 1.25), 4), title_fontsize=7.5, alignment="left",
    )  # fmt: skip
    legend.get_title().set_color(canvas.GREY)
