"""Where commands print, and nothing else does; and how they end."""

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
    """Names may hold what the terminal has no letters for."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def say(*lines: str) -> None:
    """What was asked for."""
    for line in lines:
        print(safe(line))


def complain(line: str, *, who: str = "mtlv: ") -> None:
    """What is wrong, or worth knowing beside what was asked for; `who` is empty where a line says it."""
    print(f"{who}{safe(line)}", file=sys.stderr)


def own_fault() -> int:
    """Show the traceback, which may quote an address: without its password."""
    print(masked(traceback.format_exc()), file=sys.stderr)
    complain("this is a fault of mtlv itself, not of what it was given; please report the lines above")
    return FAILED


def console(*, stderr: bool = False) -> Any:
    """Rich's, for tables and progress."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, emoji=False, markup=False)


def progress() -> Display:
    """Shows how far a suite is."""
    from mtlv.display.suite import Display

    return Display(console(stderr=True))


def end_in_order() -> None:
    """Answer SIGTERM, by which a cluster's scheduler asks for the end, as Ctrl-C: the run is closed."""
    signal.signal(signal.SIGTERM, _terminated)


def _terminated(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    raise KeyboardInterrupt("SIGTERM")
