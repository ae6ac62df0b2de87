"""Environment variables for libraries without corresponding arguments."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from mtlv.hardware import cores


@contextmanager
def variable(name: str, value: str) -> Iterator[None]:
    """Set a variable until the block ends, in all threads of this process."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before


SPIN_COUNT = "1000"  # a few microseconds
BUSY_SHARE = 0.5  # share of the cores, over the last minute


def let_waiting_threads_sleep() -> None:
    """On a busy machine, let waiting OpenMP threads sleep early, unless the user configured it.

    GNU OpenMP, which PyTorch uses on Linux, lets threads that wait for each other spin for milliseconds.
    On a busy machine, they block the core of the thread for which they wait, and training takes at least
    twice as long. On an idle machine, waking them costs up to a quarter of the speed
    (`benchmarks/waiting.py`). The variable is read when PyTorch is imported, here and in child processes;
    later changes in load have no effect.
    """
    if "OMP_WAIT_POLICY" not in os.environ and _load() >= BUSY_SHARE * cores():
        os.environ.setdefault("GOMP_SPINCOUNT", SPIN_COUNT)


def _load() -> float:
    """Return the average number of running processes in the last minute; 0 if not available."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):  # not available on Windows
        return 0.0
