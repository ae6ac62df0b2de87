"""Who works on what, among the processes of one machine or of one shared folder."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def held(path: Path) -> Iterator[bool]:
    """Whether the lock was free, and so is this process's until the block ends.

    The system gives it back when a process dies, however it dies. The file stays: to delete a lock that
    another process is about to take would let two have it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        os.ftruncate(handle, 0)
        os.write(handle, f"process {os.getpid()} on {socket.gethostname()}".encode())
        yield True
    finally:
        os.close(handle)


def holder(path: Path) -> str:
    """Who took the lock last, in words."""
    try:
        return path.read_text(encoding="utf-8") or "another process"
    except OSError:
        return "another process"
