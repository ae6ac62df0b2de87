"""The transfer graph: an arrow from each source to each target, with its effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtlv.evaluation.transfer import POINTS, Transfers, Verdict, effects
from mtlv.evaluation.transfer.words import RULE, pairs_text
from mtlv.figures import canvas
from mtlv.figures.graph_layout import COLOURS, DASHES, ORDER, Edge, bezier, circle, edges
from mtlv.figures.transfer_matrix import name_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, HEIGHT = 7.4, 6.6  # inches
NAME = 18  # letters per line of a name
SIDE, LETTER, TOP = 1.12, 0.032, 1.14  # radii from the centre to the edges, and width of a letter at the side
FAINT = 0.55  # opacity of neutral arrows


def draw_helping(transfers: Transfers, path: Path, *, title: str) -> Path:
    """Draw the graph and return `path`.

    Green and solid: the source helps; red and dashed: it harms; grey and dotted: neutral. The width is
    proportional to the square root of the difference. Cells without a verdict have no arrow.
    """
    found = effects(transfers)
    places = circle(transfers.names)
    drawn = edges(found, places)
    with canvas.style():
        page = canvas.new_figure(WIDTH, HEIGHT, title, 88)
        axes = page.add_subplot(aspect="equal")
        axes.set_axis_off()
        lines = [line for name in places for line in name_lines(name, NAME, 3).split("\n")]
        longest = max(map(len, lines), default=0)
        axes.set_xlim(-SIDE - LETTER * longest, SIDE + LETTER * longest)
        axes.set_ylim(-TOP, TOP)
        for edge in drawn:
            _arrow(axes, edge)
        _nodes(axes, places)
        told = f"Arrows point {transfers.wording.arrow}; {pairs_text(transfers, found)}. {RULE}"
        _key(axes, drawn, f"{told} {_widths(drawn)}", left=len(found) - len(drawn))
        return canvas.save(page, path)


def _arrow(axes: Axes, edge: Edge) -> None:
    from matplotlib.patches import Polygon
    from matplotlib.patheffects import Normal, Stroke

    verdict = edge.effect.verdict
    look: dict[str, Any] = {"color": COLOURS[verdict], "alpha": FAINT if verdict == "neutral" else 0.95}
    look["zorder"] = 1 + ORDER.index(verdict)
    line = bezier(edge.curve)
    axes.plot(*line.T, linewidth=edge.width, linestyle=_dashes(verdict), dash_capstyle="butt", **look)
    if verdict != "neutral":  # a white outline, so that crossings are readable
        axes.lines[-1].set_path_effects([Stroke(linewidth=edge.width + 1.4, foreground="white"), Normal()])
    axes.add_patch(Polygon(edge.head, linewidth=0, **look | {"zorder": look["zorder"] + 3}))


def _dashes(verdict: Verdict) -> Any:
    """Return Matplotlib's line style; dashes grow with the line width."""
    on, off = DASHES[verdict]
    return (0, (on, off)) if off else "solid"


def _nodes(axes: Axes, places: Mapping[str, tuple[float, float]]) -> None:
    for name, (x, y) in places.items():
        axes.plot(x, y, "o", markersize=7, color="#202124", zorder=8)
        axes.text(
            1.07 * x,
            1.07 * y,
            name_lines(name, NAME, 3),
            ha="center" if abs(x) < 0.2 else "left" if x > 0 else "right",
            va="center" if abs(x) >= 0.2 else "bottom" if y > 0 else "top",
            fontsize=9,
            zorder=9,
        )


def _widths(drawn: Sequence[Edge]) -> str:
    if not drawn:
        return ""
    largest = max(abs(edge.effect.mean) for edge in drawn)
    return f"The width shows the square root of the difference, up to {POINTS * largest:.1f} points."


def _key(axes: Axes, drawn: Sequence[Edge], rule: str, *, left: int) -> None:
    from matplotlib.lines import Line2D

    counts = {verdict: sum(edge.effect.verdict == verdict for edge in drawn) for verdict in reversed(ORDER)}
    key = [
        Line2D(
            [], [], color=COLOURS[verdict], linestyle=_dashes(verdict), linewidth=2.4,
            label=f"{verdict} ({count})",
        )
        for verdict, count in counts.items()
    ]  # fmt: skip
    if left:
        key.append(Line2D([], [], linestyle="none", label=f"no verdict, not drawn ({left})"))
    legend = axes.figure.legend(
        handles=key, loc="outside lower left", ncols=4, frameon=False, fontsize=8, borderaxespad=0.2,
        handlelength=3.2, title=canvas.wrapped(rule, 118, 5), title_fontsize=7.5, alignment="left",
    )  # fmt: skip
    legend.get_title().set_color(canvas.GREY)
