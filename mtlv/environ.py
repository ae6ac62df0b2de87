"""Variables of the environment, by which libraries are told what they offer no argument for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from mtlv.hardware import cores


@contextmanager
def variable(name: str, value: str) -> Iterator[None]:
    """Another value for a variable until the block ends, in all threads of this process."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before


SPINS = "1000"  # some microseconds
BUSY = 0.5  # of the cores, in the last minute


def let_waiting_threads_sleep() -> None:
    """On a busy machine have OpenMP's threads sleep soon where they wait, unless the user says how they wait.

    GNU OpenMP, which PyTorch uses on Linux, lets threads that wait for each other spin for milliseconds.
    Beside other work they take the core from the thread that they wait for, and training takes twice as long
    or more; on a quiet machine waking them costs up to a quarter of the speed (`benchmarks/waiting.py`). The
    variable is read when PyTorch is imported, here and in processes started from here: other work that begins
    later changes nothing.
    """
    if "OMP_WAIT_POLICY" not in os.environ and _load() >= BUSY * cores():
        os.environ.setdefault("GOMP_SPINCOUNT", SPINS)


def _load() -> float:
    """Processes that wanted a core in the last minute, on average; 0 where the system does not say."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):  # Windows has none
        return 0.0
