"""Checkpoints of a unit, and its outputs as a teacher, on disk: written atomically, with a checksum.

The last two checkpoints of each unit are kept.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from mtlv.disk import cannot_write, flush, open_regular, tensor_bytes, write_atomically
from mtlv.errors import shorten
from mtlv.sealed import CHANGED, set_aside

MARK = b"\nmtlv checkpoint 1, SHA-256 "  # at the end of a file, followed by the digest of the content
END_BYTES = len(MARK) + 64
TEACHER_OUTPUTS = ".teacher_outputs"  # hidden, because it is not a file of the unit itself
KEPT_CHECKPOINTS = 2  # if the last one is damaged, the previous one is used
ENDING = ".ckpt"


class Checkpoints:
    """The checkpoints of one unit, in a folder of their own, which the first of them creates."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._writer = ThreadPoolExecutor(1, "checkpoint")
        self._writing: Future[None] | None = None

    def newest(self, warn: Callable[[str], None]) -> dict[str, Any] | None:
        """Return the newest valid state; damaged files are moved aside, with a message to `warn`."""
        for path in sorted(self.folder.glob(f"*{ENDING}"), reverse=True):
            try:
                return read(path)
            except (OSError, ValueError) as error:
                warn(f"the checkpoint {path} cannot be used ({error}); {set_aside(path)}")
        return None

    def write(self, step: int, state: Mapping[str, Any]) -> None:
        """Write a state, which must not change any more, in a thread, after the previous write has finished.

        Raises:
            TrackingError: the previous state could not be written.
        """
        self.wait()
        self._writing = self._writer.submit(self._write, step, state)

    def wait(self) -> None:
        """Wait until everything is on disk.

        Raises:
            TrackingError: a state could not be written.
        """
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.result()

    def close(self) -> None:
        """Wait for the current write, and ignore its result."""
        self._writer.shutdown()

    def remove(self) -> None:
        """Remove the checkpoints of a finished unit."""
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _write(self, step: int, state: Mapping[str, Any]) -> None:
        try:
            with write_atomically(self.folder / f"{step:09d}{ENDING}") as part:
                write(part, state)
            flush(self.folder)
        except (OSError, RuntimeError) as error:  # RuntimeError: torch's error for a full disk
            raise cannot_write("a checkpoint", tensor_bytes(state), self.folder, error) from error
        for old in sorted(self.folder.glob(f"*{ENDING}"))[:-KEPT_CHECKPOINTS]:
            old.unlink(missing_ok=True)


def read(path: Path) -> dict[str, Any]:
    """Read the state in a file: only tensors and plain values, no code.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not a checkpoint, has another format, or was changed.
    """
    import torch

    body, end = _parts(path)
    if hashlib.sha256(body).hexdigest().encode() != end[len(MARK) :]:
        raise ValueError(CHANGED)
    try:
        state = torch.load(io.BytesIO(body), weights_only=True)
    except Exception as error:  # torch raises various errors for content that it did not write
        raise ValueError(f"it cannot be loaded: {shorten(str(error))}") from error
    if not isinstance(state, dict):
        raise ValueError("it contains no state")
    return state


def _parts(path: Path) -> tuple[memoryview, bytes]:
    """Return content and end of a file; a file with an invalid end is not read."""
    with open_regular(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - END_BYTES))
        end = file.read(END_BYTES)
        if not end.startswith(MARK):
            raise ValueError("it is truncated, or has another format")
        file.seek(0)
        try:
            return memoryview(file.read(size - END_BYTES)), end
        except MemoryError as error:
            raise ValueError(f"its {size:,} bytes do not fit into memory") from error


def write(path: Path, state: Mapping[str, Any]) -> None:
    """Write a state, with a checksum and flushed to disk.

    Raises:
        OSError, RuntimeError: it cannot be written.
    """
    import torch

    with path.open("w+b") as file:
        torch.save(dict(state), file)
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0, os.SEEK_END)
        file.write(MARK + digest.encode())
        file.flush()
        os.fsync(file.fileno())


# ---- Teacher outputs, beside a finished unit ---------------------------------------------------------------


def has_teacher_outputs(folder: Path) -> bool:
    """Whether the teacher outputs of a unit are kept; they may be damaged."""
    return (folder / TEACHER_OUTPUTS).is_file()


def read_teacher_outputs(folder: Path) -> dict[str, NDArray] | None:
    """Return the teacher outputs of a unit by task; None if there are none, or they are damaged."""
    try:
        return {name: values.numpy() for name, values in read(folder / TEACHER_OUTPUTS).items()}
    except (OSError, ValueError):  # they are computed again
        return None


def write_teacher_outputs(folder: Path, teacher_outputs: Mapping[str, NDArray]) -> None:
    """Write the teacher outputs of a unit atomically; those of several processes are equal, and one is kept.

    Raises:
        TrackingError: they cannot be written.
    """
    import torch

    try:
        with write_atomically(folder / TEACHER_OUTPUTS) as part:
            write(part, {name: torch.from_numpy(values) for name, values in teacher_outputs.items()})
    except (OSError, RuntimeError) as error:  # RuntimeError: torch's error for a full disk
        size = sum(values.nbytes for values in teacher_outputs.values())
        raise cannot_write("a teacher's outputs", size, folder, error) from error
