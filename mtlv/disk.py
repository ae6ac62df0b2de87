"""Atomic writing and removal, digests of files, and errors of full disks."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from mtlv.errors import TrackingError

MAX_FILES_AT_ONCE = (
    3  # of one kind while one is written: two checkpoints are kept until the third is complete
)


@contextmanager
def write_atomically(path: Path) -> Iterator[Path]:
    """Let a block write a file atomically: to the path it gets, which is then moved to `path`.

    If the block fails, or writes no file, nothing changes. If the process ends meanwhile, the incomplete file
    has a hidden name, `.NAME-...`.

    Raises:
        OSError: the folder cannot be created, or the file cannot be moved.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}-{uuid.uuid4().hex}")
    try:
        yield part
        if part.exists():
            part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink()


def remove(path: Path) -> None:
    """Remove a file, or a folder, which is renamed first, so that no process ever sees an incomplete one.

    If the process ends meanwhile, the rest has a hidden name, `.NAME-...`, like incomplete files.
    """
    if os.path.isfile(path) or os.path.islink(path):
        path.unlink(missing_ok=True)
        return
    rest = path.with_name(f".{path.name}-{uuid.uuid4().hex[:8]}")
    try:
        path.replace(rest)
    except FileNotFoundError:
        return
    except OSError:  # a read-only parent folder, or an open file on systems where that prevents renaming
        rest = path
    shutil.rmtree(rest, ignore_errors=True)


def open_regular(path: Path) -> BinaryIO:
    """Open a file on disk for reading; a FIFO or a device, such as `/dev/zero`, would never end.

    Raises:
        OSError: it cannot be opened, or is no regular file.
    """
    file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        return os.fdopen(file, "rb")
    except OSError:
        os.close(file)
        raise


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type] # a buffered reader


def flush(path: Path) -> None:
    """Flush a file's content, or a folder's entries, to disk."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def cannot_write(what: str, size: int, folder: Path, error: Exception) -> TrackingError:
    """Return an error with the required and the free space."""
    free = shutil.disk_usage(folder if folder.exists() else folder.parent).free
    needed = MAX_FILES_AT_ONCE * size
    full = free < size
    reason = os.strerror(errno.ENOSPC) if full else getattr(error, "strerror", None) or error
    return TrackingError(
        f"{what} of {size / 1e6:.1f} MB cannot be written to {folder}",
        got=reason,
        then=f"{needed / 1e6:.1f} MB are needed there, and {free / 1e6:.1f} MB are free: make room and start "
        "again; what was written before is complete",
    )


def tensor_bytes(tree: Any) -> int:
    """Return the bytes of all tensors in a state."""
    if isinstance(tree, Mapping):
        return sum(tensor_bytes(value) for value in tree.values())
    if isinstance(tree, (list, tuple)):
        return sum(tensor_bytes(value) for value in tree)
    return int(getattr(tree, "nbytes", 0))
