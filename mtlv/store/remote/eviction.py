"""Limits the size of a shared store's local folder: removes least recently used files."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from mtlv.disk import remove
from mtlv.errors import TrackingError

IN_USE = "in-use.lock"  # held by every process that uses the folder
KINDS = ("tokens", "encoders", "units")


@dataclass(frozen=True)
class _Entry:
    path: Path
    bytes: int
    used: float


def make_room(folder: Path, most: int, waiting: Callable[[], Collection[str]]) -> IO[bytes]:
    """Delete files above `most` bytes, unless another process uses the folder.

    Args:
        folder: local folder of a shared store.
        most: maximum bytes of tokens, encoders and units.
        waiting: returns the keys of units that exist only here.

    Returns:
        Open file that marks the folder as used until it is closed or the process ends.

    Raises:
        TrackingError: the folder cannot be written.
    """
    try:
        file = (folder / IN_USE).open("ab")
    except OSError as error:
        raise TrackingError(f"{folder} cannot be written", got=error.strerror) from error
    try:
        import fcntl
    except ImportError:  # Windows: other users cannot be detected
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # used by other processes
        pass
    else:
        _evict(folder, most, waiting())
    fcntl.flock(file, fcntl.LOCK_SH)
    return file


def _evict(folder: Path, most: int, waiting: Collection[str]) -> None:
    for kind in KINDS:
        for rest in (folder / kind).glob(".*-*"):  # left by processes that ended while writing or deleting
            remove(rest)
    entries = [
        _entry(path)
        for kind in KINDS
        for path in (folder / kind).glob("[!.]*")
        if kind != "units" or path.name not in waiting
    ]
    left = sum(entry.bytes for entry in entries)
    for entry in sorted(entries, key=lambda entry: entry.used):
        if left <= most:
            return
        remove(entry.path)
        left -= entry.bytes


def _entry(path: Path) -> _Entry:
    found = [each.stat() for each in [path, *path.rglob("*")] if each.is_file()]
    used = max((max(each.st_atime, each.st_mtime) for each in found), default=0.0)
    return _Entry(path, sum(each.st_size for each in found), used)
