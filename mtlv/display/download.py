"""Progress of a download."""

from __future__ import annotations

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text

from mtlv.formatting import safe


class DownloadBar:
    """Progress of a download: a bar on a terminal, otherwise a line per tenth."""

    def __init__(self, console: Console, name: str) -> None:
        self.console = console
        self._name = safe(name)
        self._tenth = -1
        self._bar = Progress(
            TextColumn(self._name, markup=False),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task("", total=None)

    def __enter__(self) -> DownloadBar:
        if self.console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.console.is_terminal:
            self._bar.stop()

    def update(self, done: int, total: int | None) -> None:
        """Report that `done` of `total` bytes were downloaded; the total may be unknown."""
        if self.console.is_terminal:
            self._bar.update(self._task, completed=done, total=total)
            return
        tenth = 10 * done // total if total else done // 10_000_000
        if tenth != self._tenth:
            self._tenth = tenth
            of = f" of {total / 1e6:.1f}" if total else ""
            self.console.print(Text(f"{self._name}: {done / 1e6:.1f}{of} MB"), soft_wrap=True)
