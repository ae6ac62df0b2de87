"""Display of objects in a notebook, and a progress bar for a terminal or a notebook."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

from mtlv.events import (
    BatchTrained,
    Callback,
    EpochEnded,
    Event,
    NoteGiven,
    SuiteStarted,
    UnitEnded,
    UnitResumed,
    UnitStarted,
    WarningGiven,
)

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
    """Yield the user's callback; without one, a progress bar that closes at the end."""
    if callback is not None:
        yield callback
        return
    with closing(ProgressBar()) as bar:
        yield bar


def in_notebook() -> bool:
    """Return whether this is the kernel of a notebook, whose outputs can be replaced."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return hasattr(shell, "kernel")


def _bar() -> type:
    """Return the class of a bar: of tqdm for a terminal, or one output of a notebook that is replaced.

    Without ipywidgets, tqdm would write each state to a notebook as another output; with it, a saved notebook
    has a bar that cannot be shown.
    """
    from tqdm.std import tqdm

    if not in_notebook():
        return tqdm

    from IPython.display import HTML, display

    class NotebookBar(tqdm):
        def __init__(self, **how: Any) -> None:
            self._output = display(HTML(""), display_id=True)
            super().__init__(**how, file=io.StringIO(), bar_format="{desc}{percentage:.0f}%{r_bar}")

        def display(self, msg: str | None = None, pos: int | None = None) -> None:
            text = (
                ""
                if msg == ""
                else f"<progress value={self.n} max={self.total}></progress> {escape(str(self))}"
            )
            self._output.update(HTML(text))

    return NotebookBar


class ProgressBar:
    """Callback that shows a progress bar of documents times epochs, using tqdm."""

    def __init__(self) -> None:
        self._bar: Any = _bar()(total=0, unit="documents", unit_scale=True, leave=False)
        self._done: dict[str, int] = {}

    def __call__(self, event: Event) -> None:
        """Show an event."""
        match event:
            case SuiteStarted(_, documents, stored):
                self._bar.reset(total=documents)
                self._done = dict(stored)
                self._bar.n = self._bar.initial = sum(stored.values())  # no part of the speed
            case UnitStarted(name):
                self._bar.set_description(name)
                self._count(name, -self._done.pop(name, 0))  # the unit starts again
            case UnitResumed(name, documents) | BatchTrained(name, documents):
                self._count(name, documents)
            case EpochEnded(name, epoch, epochs, loss):
                self._bar.set_postfix(epoch=f"{epoch}/{epochs}", loss=f"{loss:.4f}")
            case UnitEnded(name, _, documents):
                self._count(name, documents - self._done.get(name, 0))
            case NoteGiven(text) | WarningGiven(text):
                self._bar.write(text, file=sys.stderr)

    def close(self) -> None:
        """Remove the bar."""
        self._bar.close()

    def _count(self, name: str, documents: int) -> None:
        self._done[name] = self._done.get(name, 0) + documents
        self._bar.update(documents)
