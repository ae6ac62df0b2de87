"""Files of a finished unit with their SHA-256, so that damage is detected before use."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from mtlv.disk import digest_of, open_regular
from mtlv.errors import DamagedError, TrackingError
from mtlv.foreign import MAX_BYTES
from mtlv.sealed import CHANGED, seal, unseal

UNIT, WEIGHTS, CURVE = "unit.json", "model.safetensors", "curve.parquet"
VALIDATION, TEST = "validation.parquet", "test.parquet"
CHECKSUMS_KEY = "files"  # in `unit.json`: SHA-256 of the other files, by name
LOST_ERRNOS = (
    None,
    errno.EINVAL,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.EIO,
)  # None: raised by a reader of the format


def write_unit(folder: Path, content: Mapping[str, Any]) -> None:
    """Write `unit.json` next to the other files of a unit, which must be complete.

    Raises:
        OSError: it cannot be written.
    """
    files = {path.name: digest_of(path) for path in sorted(folder.iterdir())}
    (folder / UNIT).write_text(seal({**content, CHECKSUMS_KEY: files}, indent=1), encoding="utf-8")


def read_unit(folder: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the content of `write_unit`, and the SHA-256 of each other file.

    Raises:
        OSError, ValueError: it cannot be read, or was changed.
    """
    try:
        with open_regular(folder / UNIT) as file:
            content = unseal(file.read(MAX_BYTES + 1))
        if CHECKSUMS_KEY not in content:
            raise ValueError(CHANGED)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"`{UNIT}`: {error}") from error
    return content, content.pop(CHECKSUMS_KEY)


def read_checked(path: Path, files: Mapping[str, str]) -> BytesIO:
    """Read a small file once; `files` is from `read_unit`.

    Raises:
        OSError, ValueError: it cannot be read, or was changed.
    """
    with open_regular(path) as file:
        content = file.read()
    _compare(path, files, hashlib.sha256(content).hexdigest)
    return BytesIO(content)


def check_file(path: Path, files: Mapping[str, str]) -> None:
    """Check that a large file is unchanged; afterwards it is in the page cache.

    Raises:
        OSError, ValueError: it cannot be read, or was changed.
    """
    _compare(path, files, lambda: digest_of(path))


def check_files(folder: Path) -> None:
    """Check that no file of a folder has changed since `write_unit`.

    Raises:
        OSError, ValueError: one cannot be read, or was changed.
    """
    _, files = read_unit(folder)
    for name in files:
        check_file(folder / name, files)


def digest_kept(path: Path) -> str:
    """Return the SHA-256 of a unit's file as written.

    Raises:
        OSError, ValueError: `unit.json` cannot be read, or was changed.
    """
    _, files = read_unit(path.parent)
    return files[path.name]


def missing(folder: Path) -> str:
    """Describe a missing file of a unit; empty if none is missing, or there is no folder."""
    if not folder.is_dir():
        return ""
    try:
        _, files = read_unit(folder)
    except (OSError, ValueError):  # invalid content is detected when it is read
        files = {}
    lost = [name for name in (UNIT, CURVE, *files) if not (folder / name).is_file()]
    return f"`{lost[0]}` is missing" if lost else ""


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """Convert any error in reading a file of a unit.

    Raises:
        DamagedError: a file is damaged.
        TrackingError: missing permissions, or a limit of this process.
    """
    thing = f"the finished unit in {folder}"
    try:
        yield
    except (OSError, ValueError, LookupError, TypeError) as error:  # the last two: of other keys
        if not isinstance(error, OSError) or error.errno in LOST_ERRNOS:
            raise DamagedError(f"{thing} is damaged", why=_describe_error(error)) from error
        then = "fix this, or delete the folder to train it again"
        raise TrackingError(f"{thing} cannot be read", got=error, then=then) from error


def _describe_error(error: Exception) -> str:
    """Describe the error of a file, with its name."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"`{Path(os.fsdecode(error.filename)).name}`: {error.strerror}"
    return str(error) or type(error).__name__


def _compare(path: Path, files: Mapping[str, str], digest: Callable[[], str]) -> None:
    if digest() != files.get(path.name):
        raise ValueError(f"`{path.name}`: {CHANGED}")
