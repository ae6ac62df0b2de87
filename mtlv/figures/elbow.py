"""The elbow plot: inertia for k = 1..K, the recommended k, the silhouette, and the reason as a caption."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mtlv.figures import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mtlv.grouping import Elbow

WIDTH, HEIGHT = 7.4, 3.7  # inches: two columns of a paper
CAPTION = 128  # letters per line of the reason


def draw_elbow(curve: Elbow, path: Path, *, title: str, chosen: int) -> Path:
    """Draw the curve as the PNG `path` and return it; other arguments as `elbow_figure`."""
    with canvas.style():
        return canvas.save(elbow_figure(curve, title=title, chosen=chosen), path)


def elbow_figure(curve: Elbow, *, title: str, chosen: int) -> Figure:
    """The curve as a figure; `chosen`, the k that the run uses, is marked where it is not the recommended
    one.
    """
    with canvas.style():
        figure = canvas.new_figure(WIDTH, HEIGHT, title, 90)
        left, right = figure.subplots(1, 2, width_ratios=[1.15, 1])
        _inertia(left, curve, chosen)
        _silhouette(right, curve, chosen)
        for axes in (left, right):
            canvas.bare(axes, "left", "bottom")
            axes.set_xlabel("Number of groups k")
            axes.set_xticks(list(curve.k[:: 1 + (len(curve.k) - 1) // 12]))
            axes.set_xlim(curve.k[0] - 0.5, curve.k[-1] + 0.5)
        caption = canvas.wrap_name(curve.reason, CAPTION, lines=4)
        figure.supxlabel(caption, x=0.01, ha="left", size=7.5, color=canvas.GREY)
        return figure


def _inertia(axes: Axes, curve: Elbow, chosen: int) -> None:
    known = dict(zip(curve.k, curve.inertia, strict=True))
    axes.plot(curve.k, curve.inertia, color=canvas.BLUE, marker="o", markersize=4, linewidth=1.5, zorder=3)
    if len(curve.k) > 2:
        ends = [curve.k[0], curve.tried or curve.k[-1]]
        line = [known[k] for k in ends]
        label = f"straight line, k = {ends[0]} to {ends[1]}"
        axes.plot(ends, line, color=canvas.GREY, linestyle=(0, (4, 3)), linewidth=0.9, label=label)
    name = "recommended and used" if chosen == curve.recommended else "recommended"
    _mark(axes, curve.recommended, known, marker="o", label=f"{name}: k = {curve.recommended}")
    if chosen != curve.recommended:
        _mark(axes, chosen, known, marker="s", label=f"used: k = {chosen}")
    axes.set_ylabel("Sum of distances to the nearest medoid")
    axes.margins(y=0.1)
    axes.set_ylim(*axes.get_ylim())  # so that the vertical lines do not change the limits
    for k in {curve.recommended, chosen} & known.keys():
        axes.vlines(
            k, axes.get_ylim()[0], known[k], color=canvas.ORANGE, linewidth=0.8, linestyle=":", zorder=1
        )
    axes.legend(loc="upper right", frameon=False, fontsize=8)  # the curve decreases, so this corner is free


def _mark(axes: Axes, k: int, known: dict[int, float], *, marker: str, label: str) -> None:
    if k not in known:  # the chosen k is outside the curve
        axes.plot([], [], linestyle="none", marker=marker, color=canvas.ORANGE, label=label + " (not drawn)")
        return
    axes.plot([k], [known[k]], linestyle="none", marker=marker, markersize=11, markerfacecolor="none",
              markeredgecolor=canvas.ORANGE, markeredgewidth=1.8, zorder=4, label=label)  # fmt: skip


def _silhouette(axes: Axes, curve: Elbow, chosen: int) -> None:
    pairs = [(k, value) for k, value in zip(curve.k, curve.silhouette, strict=True) if value is not None]
    axes.set_ylabel("Mean silhouette")
    if not pairs:
        axes.set_yticks([])
        axes.text(0.5, 0.5, "undefined for this few tasks", transform=axes.transAxes, ha="center", size=8)
        return
    ks, values = zip(*pairs, strict=True)
    colours = [canvas.ORANGE if k == chosen else canvas.BLUE for k in ks]
    axes.bar(ks, values, width=0.62, color=colours, zorder=2)
    axes.axhline(0, color=canvas.GREY, linewidth=0.8)
    if len(ks) <= 12:
        span = max(*values, 0.0) - min(*values, 0.0) or 1.0
        for k, value in pairs:
            below = value < 0
            axes.text(k, value + (-0.02 if below else 0.02) * span, f"{value:.2f}", ha="center",
                      va="top" if below else "bottom", size=7)  # fmt: skip
    axes.margins(y=0.14)
