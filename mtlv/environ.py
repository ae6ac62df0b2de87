"""Variables of the environment, by which libraries are told what they offer no argument for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


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


def let_waiting_threads_sleep() -> None:
    """Have OpenMP's threads sleep soon where they wait for each other, unless the user says how they wait.

    GNU OpenMP, which PyTorch uses on Linux, lets them spin for milliseconds: beside other work they take the
    core from the thread that they wait for, and two threads then train several times slower than one
    (`benchmarks/waiting.py`). It is read when PyTorch is imported, here and in processes started from here.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPINS)
