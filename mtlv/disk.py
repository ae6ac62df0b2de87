"""How folders are removed, and what is said when a disk is full."""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mtlv.errors import TrackingError


def remove(folder: Path) -> None:
    """Remove a folder as far as it can be: it loses its name first, so that nobody ever meets half of it.

    What is left where the process ends meanwhile has a hidden name, `.NAME-...`, as what is half written has.
    """
    rest = folder.with_name(f".{folder.name}-{uuid.uuid4().hex[:8]}")
    try:
        folder.replace(rest)
    except FileNotFoundError:
        return
    except OSError:  # a folder above that may not be written, or somebody reads in it where that forbids it
        rest = folder
    shutil.rmtree(rest, ignore_errors=True)


def flush(path: Path) -> None:
    """Force a file's content, or a folder's names, to the disk."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def cannot_write(what: str, size: int, folder: Path, error: Exception) -> TrackingError:
    """An error that says how much room is needed.

    Args:
        what: such as `a checkpoint`.
        size: of it in bytes.
        folder: where it was to go.
        error: what was raised; libraries have their own words, and types, for a full disk.
    """
    full = shutil.disk_usage(folder if folder.exists() else folder.parent).free < size
    reason = os.strerror(errno.ENOSPC) if full else getattr(error, "strerror", None) or error
    return TrackingError(
        f"{what} of {size / 1e6:.1f} MB cannot be written to {folder}",
        got=reason,
        then=f"free {3 * size / 1e6:.1f} MB there and start again: what was written before is whole",
    )


def tensor_bytes(tree: Any) -> int:
    """Bytes of all tensors in a state."""
    if isinstance(tree, Mapping):
        return sum(tensor_bytes(value) for value in tree.values())
    if isinstance(tree, (list, tuple)):
        return sum(tensor_bytes(value) for value in tree)
    return int(getattr(tree, "nbytes", 0))
