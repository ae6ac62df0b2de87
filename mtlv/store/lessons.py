"""Lessons of a finished unit, kept beside it: on a store at an address on each machine that needs them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from numpy.typing import NDArray

from mtlv.disk import cannot_write, written_whole
from mtlv.store.checkpoints import read, write

LESSONS = ".lessons"  # hidden, because it is not a file of the unit itself


def has_lessons(folder: Path) -> bool:
    """Whether the lessons of a unit are kept; they may be damaged."""
    return (folder / LESSONS).is_file()


def read_lessons(folder: Path) -> dict[str, NDArray] | None:
    """Return the lessons of a unit by task; None if there are none, or they are damaged."""
    try:
        return {name: values.numpy() for name, values in read(folder / LESSONS).items()}
    except (OSError, ValueError):  # they are computed again
        return None


def write_lessons(folder: Path, lessons: Mapping[str, NDArray]) -> None:
    """Write the lessons of a unit atomically; if several processes do, any of them is kept: they are equal.

    Raises:
        TrackingError: they cannot be written.
    """
    import torch

    try:
        with written_whole(folder / LESSONS) as part:
            write(part, {name: torch.from_numpy(values) for name, values in lessons.items()})
    except (OSError, RuntimeError) as error:  # RuntimeError: torch's error for a full disk
        size = sum(values.nbytes for values in lessons.values())
        raise cannot_write("a teacher's outputs", size, folder, error) from error
