"""Progress of a suite: live on a terminal, otherwise a line per epoch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from statistics import fmean

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from mtlv.events import (
    BatchTrained,
    EpochEnded,
    Event,
    NoteGiven,
    SuiteStarted,
    UnitEnded,
    UnitFailed,
    UnitResumed,
    UnitStarted,
    WarningGiven,
)
from mtlv.formatting import duration, safe
from mtlv.time_left import TimeLeft

BAR = 12  # characters
SHOWN = 8  # maximum number of running units shown, one per line


@dataclass
class WorkDone:
    """Progress of a suite. Work is counted in documents times epochs."""

    units: int = 0
    documents: int = 0  # total work
    index: int = 0  # number of the unit that started last, from 1
    done: int = 0  # finished work, including results from the store


@dataclass
class _Unit:
    """A running unit."""

    name: str
    index: int
    epochs: int
    documents: int
    started: float
    stack: int = 1
    done: int = 0
    epoch: int = 0
    figures: Mapping[str, float] = field(default_factory=dict)  # the last epoch's loss and validation
    speed: float | None = None


class Display:
    """A callback that shows the progress of a suite: live on a terminal, otherwise a line per epoch."""

    def __init__(
        self,
        console: Console,
        *,
        live: type[Live] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.console = console
        self.progress = WorkDone()
        self._clock = clock
        self._units: dict[str, _Unit] = {}  # running units by name
        self._stored: dict[str, int] = {}  # work counted as done of units that have had no event, by name
        self._time_left = TimeLeft(clock)
        live = live or (Live if console.is_terminal else None)
        self._live = (
            live(self, console=console, refresh_per_second=4, transient=True) if live is not None else None
        )

    def __enter__(self) -> Display:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def __call__(self, event: Event) -> None:
        """Handle an event."""
        self._time_left(event)
        match event:
            case SuiteStarted(units, documents, stored):
                self.progress = WorkDone(units, documents, done=sum(stored.values()))
                self._stored = dict(stored)
            case UnitStarted():
                self._start(event)
            case UnitResumed():
                self._resume(event)
            case BatchTrained(name, documents):
                self._count_in(self._units[name], documents)
            case EpochEnded():
                self._show_epoch(event)
            case UnitEnded():
                self._show_end(event)
            case UnitFailed(name):
                self._end(name)
            case NoteGiven(text):
                self._line(f"note: {safe(text)}")
            case WarningGiven(text):
                self._line(f"warning: {safe(text)}", style="yellow")

    def _start(self, event: UnitStarted) -> None:
        name = event.name
        self._forget(name)
        self.progress.index = event.index
        begun = self._clock()
        self._units[name] = _Unit(safe(name), event.index, event.epochs, event.documents, begun, event.stack)

    def _resume(self, event: UnitResumed) -> None:
        unit, documents = self._units[event.name], event.documents
        self.progress.done += documents
        unit.done += documents
        if event.documents_per_second:
            unit.epoch, unit.speed = event.epoch, event.documents_per_second
            if not self._live and (left := self._left()):
                at = f"epoch {unit.epoch + 1}/{unit.epochs} goes on"
                self._line(f"{self._count(unit.index)} {unit.name}: {at}, {left} left")

    def _show_epoch(self, event: EpochEnded) -> None:
        unit = self._units[event.name]
        unit.epoch, unit.speed = event.epoch, event.documents_per_second
        unit.figures = {"loss": event.loss, **event.validation}
        units = next(group for group in self._groups() if unit in group)
        if not self._live and all(other.epoch >= unit.epoch for other in units):
            left = self._left()
            parts = [f"epoch {event.epoch}/{event.epochs}", *_figures(units), *_speed(units)]
            parts += [f"{left} left"] if left else []
            name = unit.name if len(units) == 1 else f"{len(units)} models"
            self._line(f"{self._count(units[-1].index)} {name}: {', '.join(parts)}")

    def _show_end(self, event: UnitEnded) -> None:
        name, documents = event.name, event.documents
        progress, unit = self.progress, self._units.get(name)
        if event.cached:
            self._forget(name)
            progress.index = event.index
            progress.done += documents
            self._line(f"{self._count(event.index)} {safe(name)}: taken from the store", style="dim")
        elif unit is not None:
            # The count may differ by the documents of an incomplete last batch.
            self._count_in(unit, documents - unit.done)
            self._end(name)
            if self._live:
                parts = [*_figures([unit]), duration(self._clock() - unit.started)]
                self._line(f"{self._count(unit.index)} {unit.name}: {', '.join(parts)}")

    def _forget(self, name: str) -> None:
        """Discard the counted work of a unit that starts, perhaps again, or is taken from the store."""
        self.progress.done -= self._stored.pop(name, 0)
        if name in self._units:
            unit = self._units[name]
            self.progress.done -= unit.done
            self._end(name)

    def _count_in(self, unit: _Unit, documents: int) -> None:
        self.progress.done += documents
        unit.done += documents

    def _end(self, name: str) -> None:
        """Remove a unit that is no longer running."""
        self._units.pop(name, None)

    def _line(self, text: str, *, style: str = "") -> None:
        """Print one line; a terminal wraps it, a file does not."""
        self.console.print(Text(text, style=style), soft_wrap=not self.console.is_terminal)

    def _count(self, index: int) -> str:
        width = len(str(self.progress.units))
        return f"[{index:>{width}}/{self.progress.units}]"

    def _left(self) -> str:
        left = self._time_left.seconds()
        return "" if left is None else duration(left)

    def _groups(self) -> list[list[_Unit]]:
        """Return the running units, those of a stack as one group and each other one alone."""
        units = list(self._units.values())
        stack = [unit for unit in units if unit.stack > 1]
        return [*([stack] if stack else []), *([unit] for unit in units if unit.stack == 1)]

    def __rich__(self) -> Group:
        """Return the live lines at the bottom of a terminal.

        For one running unit or stack, they are its name, bar, time left, epoch, metrics and speed; for
        several units a line each, then bar, time left and total speed.
        """
        progress, groups = self.progress, self._groups()
        if not progress.units:
            return Group(Text("preparing ...", style="bright_black"))
        facts = self._overall()
        if len(groups) < 2:
            first = groups[0] if groups else []
            head = f"unit {max(progress.index, 1)} of {progress.units}"
            name = ", ".join(unit.name for unit in first) or "between units"
            head = head if len(first) < 2 else f"{len(first)} models at once"
            return Group(_line_of((head, "bold"), f"  {name}"), facts.append(_joined(_facts(first))))
        units = [unit for group in groups for unit in group]
        shown = [self._line_of_one(unit) for unit in units[:SHOWN]]
        more = [_line_of(f"and {len(units) - SHOWN} more")] if len(units) > SHOWN else []
        speeds = [unit.speed for unit in units if unit.speed is not None]
        speed = [f"{sum(speeds):.0f} documents/s"] if len(speeds) == len(units) else []
        return Group(*shown, *more, facts.append(_joined([f"{len(units)} units at once", *speed])))

    def _line_of_one(self, unit: _Unit) -> Text:
        head = f"unit {unit.index} of {self.progress.units}"
        return _line_of((head, "bold"), f"  {unit.name}", _joined(_facts([unit])))

    def _overall(self) -> Text:
        """Return bar, percentage and time left."""
        share = self.progress.done / self.progress.documents if self.progress.documents else 0.0
        left = self._left()
        known = f"  {left} left" if left else "  time left unknown"
        return _line_of(*self._bar(share), f"  {share:.0%}", known)

    def _bar(self, share: float) -> tuple[tuple[str, str], tuple[str, str]]:
        """Return a bar of `BAR` characters, with the finished part highlighted."""
        full, rest = ("━", "─") if self.console.encoding.lower().startswith("utf") else ("#", "-")
        done = round(min(share, 1.0) * BAR)
        return (full * done, "cyan"), (rest * (BAR - done), "bright_black")


class NotebookLive(Live):
    """Live lines in one output of a notebook, which is empty at the end.

    Rich's own need ipywidgets, whose outputs a saved notebook cannot show.
    """

    def start(self, refresh: bool = False) -> None:
        from IPython.display import HTML, display

        self._html, self._output = HTML, display(HTML(""), display_id=True)
        super().start(refresh)

    def refresh(self) -> None:
        with self.console.capture() as lines:
            self.console.print(self.get_renderable())
        self._output.update(self._html(f"<pre>{escape(lines.get())}</pre>"))

    def stop(self) -> None:
        super().stop()
        self._output.update(self._html(""))


def _facts(units: Sequence[_Unit]) -> list[str]:
    """Return epoch, loss, speed and validation metrics of a unit, or of a stack."""
    if not units:
        return []
    last, figures = min(units, key=lambda unit: unit.epoch), _figures(units)
    epoch = f"epoch {min(last.epoch + 1, last.epochs)}/{last.epochs}"
    return [epoch, *figures[:1], *_speed(units), *figures[1:]]


def _figures(units: Sequence[_Unit]) -> list[str]:
    """Return the loss and the validation metrics that all of some units have, as means over these."""
    names = [name for name in units[0].figures if all(name in unit.figures for unit in units)]
    means = {name: fmean(unit.figures[name] for unit in units) for name in names}
    return [f"{safe(name)} {mean:.{4 if name == 'loss' else 3}f}" for name, mean in means.items()]


def _speed(units: Sequence[_Unit]) -> list[str]:
    """Return the speed of a unit, or of a stack, each of whose units has its share of the seconds."""
    speeds = [unit.speed for unit in units if unit.speed is not None]
    return [f"{fmean(speeds):.0f} documents/s"] if len(speeds) == len(units) else []


def _joined(facts: Iterable[str]) -> str:
    return "".join(f"  {fact}" for fact in facts)


def _line_of(*parts: str | tuple[str, str]) -> Text:
    """Join parts to one line, cut at the width of the terminal."""
    return Text.assemble(*parts, no_wrap=True, overflow="ellipsis")
