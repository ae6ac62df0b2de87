"""Teacher outputs, kept beside the finished unit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from numpy.typing import NDArray

from mtlv.disk import cannot_write, write_atomically
from mtlv.store.checkpoints import read, write

FILE_NAME = ".teacher_outputs"  # hidden, because it is not a file of the unit itself


def has_teacher_outputs(folder: Path) -> bool:
    """Whether the teacher outputs of a unit are kept; they may be damaged."""
    return (folder / FILE_NAME).is_file()


def read_teacher_outputs(folder: Path) -> dict[str, NDArray] | None:
    """Return the teacher outputs of a unit by task; None if there are none, or they are damaged."""
    try:
        return {name: values.numpy() for name, values in read(folder / FILE_NAME).items()}
    except (OSError, ValueError):  # they are computed again
        return None


def write_teacher_outputs(folder: Path, teacher_outputs: Mapping[str, NDArray]) -> None:
    """Write the teacher outputs of a unit atomically; those of several processes are equal, and one is kept.

    Raises:
        TrackingError: they cannot be written.
    """
    import torch

    try:
        with write_atomically(folder / FILE_NAME) as part:
            write(part, {name: torch.from_numpy(values) for name, values in teacher_outputs.items()})
    except (OSError, RuntimeError) as error:  # RuntimeError: torch's error for a full disk
        size = sum(values.nbytes for values in teacher_outputs.values())
        raise cannot_write("a teacher's outputs", size, folder, error) from error
