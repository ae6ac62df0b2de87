"""Display of objects in a notebook, and of progress in a terminal or a notebook."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING

from rich.console import Console

from mtlv.display.suite import Display, NotebookLive
from mtlv.events import Callback

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = 12  # maximum rows of a table; more are cut
DPI = 100  # of a figure in a notebook


def html(title: str, header: Sequence[str], rows: Sequence[Iterable[object]], note: str = "") -> str:
    """Return a table with a title."""
    cells = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(_text(cell))}</td>' for cell in row)}</tr>" for row in rows[:ROWS]
    )
    more = f"<p>and {len(rows) - ROWS} more rows</p>" if len(rows) > ROWS else ""
    last = f"<p>{escape(note)}</p>" if note else ""
    head = f"<p><b>{escape(title)}</b></p>"
    return f"{head}<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>{more}{last}"


def display_figure(figure: Figure) -> Figure:
    """Let a notebook show a figure: of figures that were not made by pyplot it would print the type."""

    def png() -> bytes:
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=DPI)
        return file.getvalue()

    figure._repr_png_ = png  # type: ignore[attr-defined]
    return figure


def _text(cell: object) -> str:
    return f"{cell:.4f}" if isinstance(cell, float) else str(cell)


@contextmanager
def progress(callback: Callback | None) -> Iterator[Callback]:
    """Yield the user's callback; without one, the display of `mtlv run`, in a notebook as one output."""
    if callback is not None:
        yield callback
        return
    if in_notebook():
        display = Display(Console(stderr=True, force_jupyter=False, force_terminal=False), live=NotebookLive)
    else:
        display = Display(Console(stderr=True))
    with display:
        yield display


def in_notebook() -> bool:
    """Return whether this is the kernel of a notebook, whose outputs can be replaced."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return hasattr(shell, "kernel")
