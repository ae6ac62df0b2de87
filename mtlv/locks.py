"""Who works on what, among the processes of one machine or of one shared folder."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def hold(path: Path, *, wait: bool = False) -> int | None:
    """Take a lock until `release` or the process's end, however it ends.

    The file stays when the lock is given back: to delete one that another process is about to take would let
    two have it.

    Args:
        path: of the lock's file, made where it is not there.
        wait: until the lock is free.

    Returns:
        What `release` takes; nothing where another process holds the lock.

    Raises:
        OSError: the file cannot be opened.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except ImportError:  # Windows: nobody else is assumed
        pass
    except BlockingIOError:
        os.close(file)
        return None
    return file


def release(lock: int | None) -> None:
    """Give back what `hold` gave."""
    if lock is not None:
        os.close(lock)


@contextmanager
def held(path: Path) -> Iterator[bool]:
    """Whether the lock was free, and so is this process's until the block ends; it then says whose it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = hold(path)
    try:
        if lock is not None:
            os.ftruncate(lock, 0)
            os.write(lock, f"process {os.getpid()} on {socket.gethostname()}".encode())
        yield lock is not None
    finally:
        release(lock)


def holder(path: Path) -> str:
    """Who took the lock of `held` last, in words."""
    try:
        return path.read_text(encoding="utf-8") or "another process"
    except OSError:
        return "another process"
