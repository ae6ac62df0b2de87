"""Output of commands, the only place that prints; and their end on signals."""

from __future__ import annotations

import signal
import sys
import traceback
from types import FrameType
from typing import TYPE_CHECKING, Any

from mtlv.errors import masked
from mtlv.formatting import safe

if TYPE_CHECKING:
    from mtlv.display.suite import Display

OK, FAILED, USER_ERROR, INTERRUPTED, TERMINATED = 0, 1, 2, 130, 143


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
    print(masked(traceback.format_exc()), file=sys.stderr)
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
    """Handle SIGTERM, which a cluster's scheduler sends, like Ctrl-C, so that runs are closed."""
    signal.signal(signal.SIGTERM, _terminated)


def _terminated(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    raise KeyboardInterrupt("SIGTERM")
