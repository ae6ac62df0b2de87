"""How much of a shared store a node keeps: what can be fetched or made again goes, longest unused first."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from mtlv.disk import remove
from mtlv.errors import TrackingError

IN_USE = "in-use.lock"  # every process that has the folder open holds it
KINDS = ("tokens", "encoders", "units")


@dataclass(frozen=True)
class _Entry:
    path: Path
    bytes: int
    used: float


def make_room(folder: Path, most: int, waiting: Callable[[], Collection[str]]) -> IO[bytes]:
    """Delete what is above `most` bytes, unless another process has the folder open.

    Args:
        folder: a node's copy of a shared store.
        most: bytes of tokens, encoders and units.
        waiting: keys of units that are nowhere else.

    Returns:
        What says, until it is closed or the process ends, that the folder is in use.

    Raises:
        TrackingError: the folder cannot be written.
    """
    try:
        file = (folder / IN_USE).open("ab")
    except OSError as error:
        raise TrackingError(f"{folder} cannot be written", got=error.strerror) from error
    try:
        import fcntl
    except ImportError:  # Windows: nobody is known not to use it
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # others use it
        pass
    else:
        _evict(folder, most, waiting())
    fcntl.flock(file, fcntl.LOCK_SH)
    return file


def _evict(folder: Path, most: int, waiting: Collection[str]) -> None:
    for kind in KINDS:
        for rest in (folder / kind).glob(".*-*"):  # of processes that ended while they wrote or deleted it
            _delete(rest)
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
        _delete(entry.path)
        left -= entry.bytes


def _entry(path: Path) -> _Entry:
    found = [each.stat() for each in [path, *path.rglob("*")] if each.is_file()]
    used = max((max(each.st_atime, each.st_mtime) for each in found), default=0.0)
    return _Entry(path, sum(each.st_size for each in found), used)


def _delete(path: Path) -> None:
    if path.is_dir():
        remove(path)
    else:
        path.unlink(missing_ok=True)
