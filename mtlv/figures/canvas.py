"""Shared style, fonts and file output of the figures; the same figure gives the same bytes."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 200
BLUE = "#0072B2"  # Okabe and Ito's palette, safe for colour-blind readers
ORANGE = "#D55E00"
GREY = "#5f6368"
FONTS = ("DejaVu Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Zen Hei", "Microsoft YaHei")
STYLE: Mapping[str, object] = {
    "font.size": 9,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.edgecolor": GREY,
    "axes.linewidth": 0.8,
    "xtick.color": "#202124",
    "ytick.color": "#202124",
    "savefig.dpi": "figure",
    "text.parse_math": False,  # labels may contain dollar signs
}


@contextmanager
def style() -> Iterator[None]:
    """Apply the style of all figures, and ignore warnings about missing glyphs."""
    import matplotlib as mpl
    from matplotlib.font_manager import get_font_names

    there = set(get_font_names())
    family = [font for font in FONTS if font in there]  # the first is Latin, the others add scripts
    with mpl.rc_context({**STYLE, "font.family": family}), warnings.catch_warnings():  # type: ignore[dict-item]
        warnings.filterwarnings("ignore", message="Glyph")
        yield


def new_figure(width: float, height: float) -> Figure:
    """Create a figure of this size in inches on an Agg canvas, with a layout that cuts nothing off."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=DPI, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, path: Path) -> Path:
    """Write a PNG without date and version, so that the same figure gives the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Software": None})
    return path


def bare(axes: Axes, *keep: str) -> None:
    """Remove the frame except for the sides in `keep`."""
    for side, spine in axes.spines.items():
        spine.set_visible(side in keep)


def wrapped(name: str, width: int, lines: int = 2) -> str:
    """Wrap `name` to at most `lines` lines of `width` letters, with an ellipsis if it is longer."""
    plain = " ".join(name.split())
    rows = textwrap.wrap(plain, width, max_lines=lines, placeholder=" …", break_on_hyphens=False)
    return "\n".join(rows)
