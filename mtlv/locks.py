"""Locks among the processes of one machine or of one shared folder."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def hold(path: Path, *, wait: bool = False) -> int | None:
    """Take a lock until `release` or the end of the process.

    The file is created if missing, and kept on release: deleting one that another process is about to lock
    would let two processes have it.

    Returns:
        Argument of `release`; None if another process holds the lock.

    Raises:
        OSError: the file cannot be opened.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except ImportError:  # Windows: no other process is assumed
        pass
    except BlockingIOError:
        os.close(file)
        return None
    return file


def release(lock: int | None) -> None:
    """Release a lock of `hold`."""
    if lock is not None:
        os.close(lock)


@contextmanager
def hold_lock(path: Path, *, wait: bool = False) -> Iterator[bool]:
    """Hold a lock until the block ends, with the process's id in its file; yield whether it was free."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = hold(path, wait=wait)
    try:
        if lock is not None:
            os.ftruncate(lock, 0)
            os.write(lock, f"process {os.getpid()} on {socket.gethostname()}".encode())
        yield lock is not None
    finally:
        release(lock)


def holder(path: Path) -> str:
    """Return a description of the last holder of a lock."""
    try:
        return path.read_text(encoding="utf-8", errors="replace") or "another process"
    except OSError:
        return "another process"
