"""Shared style, fonts and file output of the figures; the same figure gives the same bytes."""

from __future__ import annotations

import logging
import re
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mtlv.errors import shorten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOG = logging.getLogger(__name__)
GLYPH = re.compile(r"Glyph (\d+) ")  # how Matplotlib names a letter that no font has
REPORTED: set[str] = set()  # letters that no font has
DPI = 200
BLUE = "#0072B2"  # Okabe and Ito's palette, safe for colour-blind readers
ORANGE = "#D55E00"
GREY = "#5f6368"
# First the font of a comparison's figures (Arial has the same widths), then what comes with Matplotlib; the
# others add scripts, as they are called on Linux, macOS and Windows.
FONTS = (
    "Liberation Sans", "Arial", "DejaVu Sans",
    "Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Zen Hei", "PingFang SC", "Hiragino Sans",
    "Microsoft YaHei", "Yu Gothic", "Malgun Gothic", "Apple SD Gothic Neo", "Noto Sans Devanagari",
    "Nirmala UI",
    "Noto Sans Bengali", "Noto Sans Tamil", "Noto Sans Thai", "Noto Sans Ethiopic", "Noto Sans Hebrew",
    "Noto Sans Arabic", "Segoe UI", "Arial Unicode MS", "Noto Sans Symbols2", "Noto Emoji",
)  # fmt: skip
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
    """Apply the style of all figures; log letters that no font has, once, instead of a warning for each."""
    import matplotlib as mpl
    from matplotlib.font_manager import get_font_names

    there = set(get_font_names())
    family = [font for font in FONTS if font in there]  # the first is Latin, the others add scripts
    with mpl.rc_context({**STYLE, "font.family": family}), warnings.catch_warnings(record=True) as caught:  # type: ignore[dict-item]
        warnings.filterwarnings("always", message="Glyph")
        yield
    missing = []
    for warning in caught:
        glyph = GLYPH.match(str(warning.message))
        if glyph:
            missing.append(chr(int(glyph[1])))
        else:  # not about letters: as if it had not been caught
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    _report(missing)


def _report(letters: Sequence[str]) -> None:
    """Log the letters that no font has, if they were not logged before."""
    new = [letter for letter in dict.fromkeys(letters) if letter not in REPORTED]
    REPORTED.update(new)
    if new:
        LOG.warning(
            "mtlv: no font of this machine has %s: pictures show boxes; install one that has, e.g. Noto Sans",
            shorten("".join(new)),
        )


def new_figure(width: float, height: float, title: str, letters: int) -> Figure:
    """Create a figure of this size in inches on an Agg canvas, with a layout that cuts nothing off.

    Its title has lines of so many `letters`.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=DPI, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    figure.suptitle(wrap_name(title, letters), x=0.01, ha="left", weight="bold", size=11)
    return figure


def save(figure: Figure, path: Path) -> Path:
    """Write a PNG; the same figure gives the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Software": None})
    return path


def bare(axes: Axes, *keep: str) -> None:
    """Remove the frame except for the sides in `keep`."""
    for side, spine in axes.spines.items():
        spine.set_visible(side in keep)


def wrap_name(name: str, width: int, lines: int = 2) -> str:
    """Wrap `name` to at most `lines` lines of `width` letters, with an ellipsis if it is longer."""
    plain = " ".join(name.split())
    rows = textwrap.wrap(plain, width, max_lines=lines, placeholder=" …", break_on_hyphens=False)
    return "\n".join(rows)
