"""Files with a document in each line, whose texts are read from the file when they are needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from numpy.typing import NDArray

from mtlv.data.tables.json_rows import read_json
from mtlv.data.texts.lazy import Lazy
from mtlv.errors import DataError

MARK = b"\xef\xbb\xbf"  # of byte order, which some editors write before the first line


@dataclass(frozen=True)
class Version:
    """A file as it was when its lines were counted."""

    path: Path
    size: int  # in bytes
    modified: int  # time of its last change, in nanoseconds

    @classmethod
    def of(cls, path: Path, file: BinaryIO) -> Version:
        """Return the version of an open file."""
        status = os.fstat(file.fileno())
        return cls(path, status.st_size, status.st_mtime_ns)

    def need(self, file: BinaryIO) -> None:
        """Raise an error if an open file is not of this version.

        Raises:
            DataError: it was changed.
        """
        now = Version.of(self.path, file)
        if now != self:
            raise self.change_error(f"{now.size:,} bytes")

    def change_error(self, now: str, where: str = "") -> DataError:
        """Return the error of a file that was changed, with what was found and where."""
        return DataError(
            f"`{self.path.name}` was changed while it was used{where}",
            got=now,
            allowed=f"the {self.size:,} bytes that it had when it was first read",
            then="leave it as it is until the run has ended, and run again",
        )


@contextmanager
def open_unchanged(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading.

    Raises:
        DataError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise DataError(f"`{path}` cannot be read", got=error.strerror) from error


def lines(file: BinaryIO, *, universal: bool) -> Iterator[tuple[int, int, bytes]]:
    """Yield number from 1, position and content of each line of an open file, without the mark of its byte
    order.

    If `universal`, a line also ends at a carriage return alone.
    """
    number = at = 0
    for block in file:
        if not at and block.startswith(MARK):
            block, at = block[len(MARK) :], len(MARK)
        for line in block.splitlines(keepends=True) if universal and b"\r" in block else (block,):
            number += 1
            yield number, at, line
            at += len(line)


class Lines(Lazy[str]):
    """A text for each of N lines of a file, by their positions; `text` must be picklable."""

    def __init__(self, version: Version, starts: NDArray, text: Callable[[bytes], str]) -> None:
        self.version, self.starts, self._text = version, starts, text

    def __len__(self) -> int:
        return len(self.starts)

    def read(self, rows: Iterable[int]) -> Iterator[str]:
        """Yield the texts of rows.

        Raises:
            DataError: the file cannot be read, or was changed.
        """
        with open_unchanged(self.version.path) as file:
            self.version.need(file)
            for row in rows:
                at = int(self.starts[row])
                file.seek(at)
                line = file.readline()
                try:
                    text = self._text(line)
                except (ValueError, AttributeError) as error:  # all lines were valid
                    raise self.version.change_error(repr(line[:20]), f", at offset {at:,}") from error
                yield text
            self.version.need(file)


def line_text(line: bytes) -> str:
    """Return the text of a line of a text file, which ends at a carriage return."""
    return line.decode().split("\r", 1)[0].strip()


class JsonText:
    """Reads a column of a line of JSON as text."""

    def __init__(self, column: str, *, stripped: bool = True) -> None:
        self._column, self._stripped = column, stripped

    def __call__(self, line: bytes) -> str:
        text = str(read_json(line.decode()).get(self._column))
        return text.strip() if self._stripped else text
