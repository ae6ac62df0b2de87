"""What the figures share: their style, fonts that hold, and files that are the same bytes each time."""

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
    "text.parse_math": False,  # a label may hold dollar signs
}


@contextmanager
def style() -> Iterator[None]:
    """Draw in the house style; quiet about signs that no font here has."""
    import matplotlib as mpl
    from matplotlib.font_manager import get_font_names

    there = set(get_font_names())
    family = [font for font in FONTS if font in there]  # the first has Latin, the others what it lacks
    with mpl.rc_context({**STYLE, "font.family": family}), warnings.catch_warnings():  # type: ignore[dict-item]
        warnings.filterwarnings("ignore", message="Glyph")
        yield


def new_figure(width: float, height: float) -> Figure:
    """A figure of that many inches on an Agg canvas, laid out so that nothing is cut off."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=DPI, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, path: Path) -> Path:
    """Write a PNG without a date or version in it, so that the same figure is the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Software": None})
    return path


def bare(axes: Axes, *keep: str) -> None:
    """Take the frame away but for the sides in `keep`."""
    for side, spine in axes.spines.items():
        spine.set_visible(side in keep)


def wrapped(name: str, width: int, lines: int = 2) -> str:
    """`name` on at most `lines` lines of `width` letters, cut with an ellipsis where it is longer."""
    plain = " ".join(name.split())
    rows = textwrap.wrap(plain, width, max_lines=lines, placeholder=" …", break_on_hyphens=False)
    return "\n".join(rows)
