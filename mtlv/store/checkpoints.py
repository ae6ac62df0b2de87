"""Checkpoints of a unit on disk: whole or not there, with a checksum, the last two of each unit."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from mtlv.disk import cannot_write, flush, tensor_bytes
from mtlv.errors import shorten

MARK = b"\nmtlv checkpoint 1, SHA-256 "  # ends a file, with the digest of what stands before it
END = len(MARK) + 64
KEPT = 2  # where the last is broken the one before it is used
ENDING, BROKEN, PART = ".ckpt", ".broken", ".part"


class Checkpoints:
    """The checkpoints of one unit, in a folder of their own.

    Args:
        folder: made when the first is written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._writer = ThreadPoolExecutor(1, "checkpoint")
        self._writing: Future[None] | None = None

    def newest(self, warn: Callable[[str], None]) -> dict[str, Any] | None:
        """The newest state that is whole; what is broken is set aside, and `warn` hears of it."""
        for path in sorted(self.folder.glob(f"*{ENDING}"), reverse=True):
            try:
                return read(path)
            except (OSError, ValueError) as error:
                aside = path.with_suffix(BROKEN)
                path.replace(aside)
                warn(f"the checkpoint {path} cannot be used ({error}); it is set aside as `{aside.name}`")
        return None

    def write(self, step: int, state: Mapping[str, Any]) -> None:
        """Write a state that nobody changes any more, beside other work; waits for the one before it.

        Raises:
            TrackingError: the one before it could not be written.
        """
        self.wait()
        self._writing = self._writer.submit(self._write, step, state)

    def wait(self) -> None:
        """Until all is on disk.

        Raises:
            TrackingError: it could not be written.
        """
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.result()

    def close(self) -> None:
        """Wait for what is being written, whatever becomes of it."""
        self._writer.shutdown()

    def remove(self) -> None:
        """The unit is done."""
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _write(self, step: int, state: Mapping[str, Any]) -> None:
        path = self.folder / f"{step:09d}{ENDING}"
        part = path.with_suffix(PART)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            _write_whole(part, state)
            part.replace(path)
            flush(self.folder)
        except (OSError, RuntimeError) as error:  # the latter is torch's word for a disk that is full
            with contextlib.suppress(OSError):
                part.unlink()
            raise cannot_write("a checkpoint", tensor_bytes(state), self.folder, error) from error
        for old in sorted(self.folder.glob(f"*{ENDING}"))[:-KEPT]:
            old.unlink(missing_ok=True)


def read(path: Path) -> dict[str, Any]:
    """The state in a file; tensors and plain values only, no code.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no checkpoint, of another format, or not what was written.
    """
    import torch

    body, end = _parts(path)
    if hashlib.sha256(body).hexdigest().encode() != end[len(MARK) :]:
        raise ValueError("its checksum is another: it was changed")
    try:
        found = torch.load(io.BytesIO(body), weights_only=True)
    except Exception as error:  # whatever torch raises of content that is not what it wrote
        raise ValueError(f"it cannot be unpacked: {shorten(str(error))}") from error
    if not isinstance(found, dict):
        raise ValueError("it holds no state")
    return found


def _parts(path: Path) -> tuple[memoryview, bytes]:
    """What a file holds, and its end; what has not the right end is not read, however large it is."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - END))
        end = file.read(END)
        if not end.startswith(MARK):
            raise ValueError("it was cut short, or is of another format")
        file.seek(0)
        try:
            return memoryview(file.read(size - END)), end
        except MemoryError as error:
            raise ValueError(f"its {size:,} bytes do not fit into memory") from error


def _write_whole(path: Path, state: Mapping[str, Any]) -> None:
    import torch

    with path.open("w+b") as file:
        torch.save(dict(state), file)
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0, os.SEEK_END)
        file.write(MARK + digest.encode())
        file.flush()
        os.fsync(file.fileno())
