"""Programs of ours that work in a process beside this one, and are asked and answer by pickles over pipes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

ROOT = Path(__file__).resolve().parents[1]


def begin(module: str, **environment: str) -> subprocess.Popen[bytes]:
    """Start a module of ours as a program.

    Args:
        module: such as `mtlv.compare.drawing`; it works in `asked_and_answers`.
        environment: variables besides this process's own.
    """
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
    return subprocess.Popen(  # nosec B603 # this Python, a module of ours
        [sys.executable, "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for this process to answer
        env=os.environ | environment | {"PYTHONPATH": path},
    )


@contextmanager
def asked_and_answers() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """In the other process: where it is asked, and where answers go; nothing printed comes between."""
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        yield sys.stdin.buffer, answers


def end(process: subprocess.Popen[bytes]) -> None:
    """Whatever it is at."""
    process.kill()
    process.communicate()
