"""Output of commands, the only place that prints; and their end on signals."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from types import FrameType
from typing import TYPE_CHECKING, Any

from mtlv.errors import mask_credentials
from mtlv.formatting import safe

if TYPE_CHECKING:
    from mtlv.display.suite import Display

OK, FAILED, USER_ERROR, HUNG_UP, INTERRUPTED, TERMINATED = 0, 1, 2, 129, 130, 143
SIGNALS = {"SIGTERM": TERMINATED, "SIGHUP": HUNG_UP}
"""Signals that end a command like Ctrl-C, with its exit code."""


def show_anything() -> None:
    """Escape characters that the terminal cannot show."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def say(*lines: str) -> None:
    """Print results."""
    for line in lines:
        print(safe(line))


def complain(line: str, *, who: str = "mtlv: ") -> None:
    """Print an error or warning on stderr; `who` is empty if the line has its own prefix."""
    print(f"{who}{safe(line)}", file=sys.stderr)


def own_fault() -> int:
    """Print the traceback of an internal error, without passwords of addresses."""
    print(mask_credentials(traceback.format_exc()), file=sys.stderr)
    complain("this is a fault of mtlv itself, not of its input; please report the lines above")
    return FAILED


def console(*, stderr: bool = False) -> Any:
    """Return Rich's console, for tables and progress."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, emoji=False, markup=False)


def progress() -> Display:
    """Return the display of a suite's progress."""
    from mtlv.display.suite import Display

    return Display(console(stderr=True))


def end_in_order() -> None:
    """Handle SIGTERM, which a cluster's scheduler sends, and SIGHUP, of a closed terminal, like Ctrl-C.

    Then runs are closed. `nohup` ignores SIGHUP, which stays so.
    """
    terminals = [file for file in (1, 2) if os.isatty(file)]

    def end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        name = signal.Signals(number).name
        if name == "SIGHUP":
            for file in terminals:  # writing to a closed terminal is an error
                os.dup2(os.open(os.devnull, os.O_WRONLY), file)
        raise KeyboardInterrupt(name)

    for name in SIGNALS:
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, end)
