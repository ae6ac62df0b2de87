"""Files of text as lines: packed or not, in UTF-8 or in another encoding that is recognised."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from mtlv.errors import DataError

PACKED = (".gz", ".bz2", ".xz", ".zip")
MOST_BYTES = 4_000_000_000  # maximum bytes of a table; it needs several times this in memory
FREE_BYTES = 1_000_000_000  # what any file may unpack to; larger ones at most `MOST_TIMES` their size
MOST_TIMES = 50
MOST_LINE = 100_000_000  # characters of a line
CHUNK = 1_000_000
SAMPLE = 50_000  # bytes whose encoding is guessed
MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before that of UTF-16, with which it begins
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
ONE_BYTE = ("cp1252", "cp1250", "cp1251", "koi8_r", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257")
SEVERAL_BYTES = ("gb18030", "big5", "cp932", "euc_jp", "cp949")
ENCODING = "`data.columns.encoding`"


@dataclass(frozen=True)
class TextFile:
    """A file of text, whose bytes are valid in its encoding."""

    path: Path
    encoding: str
    note: str = ""  # about an encoding that was guessed

    @contextmanager
    def lines(self) -> Iterator[Iterator[str]]:
        """Open it, and yield its lines with their ends.

        Raises:
            DataError: it cannot be opened or unpacked, or a line is too long.
        """
        with open_unpacked(self.path) as file:
            yield self._lines(io.TextIOWrapper(cast("IO[bytes]", file), encoding=self.encoding, newline=""))

    def _lines(self, file: IO[str]) -> Iterator[str]:
        number = 0
        while line := file.readline(MOST_LINE):
            number += 1
            if len(line) == MOST_LINE:
                raise DataError(
                    f"`{self.path.name}` has a line of {MOST_LINE:,} characters or more, line {number}",
                    allowed=f"less than {MOST_LINE:,}",
                    then="leave out or divide its longest texts",
                )
            yield line

    def text(self) -> str:
        """Return all of it."""
        with open_unpacked(self.path) as file:
            return io.TextIOWrapper(cast("IO[bytes]", file), encoding=self.encoding, newline="").read()


def most_unpacked(path: Path) -> int:
    """Return the bytes that a file may unpack to."""
    return min(MOST_BYTES, max(FREE_BYTES, MOST_TIMES * path.stat().st_size))


def need_size(path: Path, size: int, most: int) -> None:
    """Raise an error for a file of more than `most` bytes."""
    if size > most:
        then = "divide it, or leave out columns and rows that are not needed"
        raise DataError(
            f"`{path.name}` is too large", got=f"{size:,} bytes", allowed=f"up to {most:,} bytes", then=then
        )


@contextmanager
def open_unpacked(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, and unpack it by its suffix as it is read.

    Raises:
        DataError: it cannot be opened or unpacked.
    """
    unpack = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".zip": _member}
    try:
        with unpack.get(path.suffix.lower(), open)(path, "rb") as file:  # type: ignore[operator]
            yield file
    except OSError as error:
        raise DataError(f"`{path}` cannot be read", got=error.strerror or error) from error
    except (
        EOFError,
        lzma.LZMAError,
        zlib.error,
        zipfile.BadZipFile,
        NotImplementedError,
        RuntimeError,
    ) as error:
        raise DataError(
            f"`{path}` cannot be unpacked", got=error, then="check that it is complete"
        ) from error


@contextmanager
def _member(path: Path, mode: str) -> Iterator[IO[bytes]]:  # noqa: ARG001
    with zipfile.ZipFile(path) as archive, archive.open(member_of(archive, path)) as file:
        yield file


def member_of(archive: zipfile.ZipFile, path: Path) -> zipfile.ZipInfo:
    """Return the only file in an archive.

    Raises:
        DataError: there are several, or none.
    """
    files = [
        one for one in archive.infolist() if not one.is_dir() and not one.filename.startswith("__MACOSX")
    ]
    if len(files) != 1:
        names = ", ".join(one.filename for one in files)
        raise DataError(
            f"`{path.name}` does not have one file",
            got=names or "none",
            then="unpack it, and set `data.path`",
        )
    return files[0]


def text_file(path: Path, encoding: str | None = None) -> TextFile:
    """Find the encoding of a file, reading it once in pieces.

    Raises:
        DataError: it cannot be read, is too large, or has bytes that are no text, or text of an uncertain
            encoding.
    """
    most, guessed, note = most_unpacked(path), encoding, ""
    if encoding is None:
        with open_unpacked(path) as file:
            guessed, note = _by_start(file.read(SAMPLE), path)
    try:
        _need_valid(path, guessed or "utf-8", most)
    except _Invalid as error:
        if encoding is not None or guessed is not None:
            raise error.as_error(path, guessed or "") from None
        guessed = _guess_encoding(path, error)
        note = f"`{path.name}` is not UTF-8, and is read as {guessed}; {ENCODING} sets another encoding"
        try:
            _need_valid(path, guessed, most)
        except _Invalid as other:
            raise other.as_error(path, guessed) from None
    return TextFile(path, guessed or "utf-8", note)


def _by_start(start: bytes, path: Path) -> tuple[str | None, str]:
    """Return the encoding that the first bytes name, or that has a NUL in most characters, and a note."""
    for mark, name in MARKS.items():
        if start.startswith(mark):
            return name, ""
    for name, place in (("utf-16-le", 1), ("utf-16-be", 0)):
        places, others = start[place::2], start[1 - place :: 2]
        if places.count(0) > len(places) / 2 and others.count(0) < len(others) / 20:
            return name, f"`{path.name}` is read as {name}; {ENCODING} sets another encoding"
    return None, ""


class _Invalid(Exception):
    """Bytes that are not valid in an encoding; some of them, and their place."""

    def __init__(self, error: UnicodeError, line: int, size: int) -> None:
        self.line, self.offset, self.sample = line, size, b""
        self.byte = "a character that is cut"
        if isinstance(error, UnicodeDecodeError):
            self.offset, self.sample = size - len(error.object) + error.start, error.object
            self.line += error.object[: error.start].count(b"\n")
            self.byte = f"0x{error.object[error.start]:02x}"

    def as_error(self, path: Path, encoding: str, then: str = "") -> DataError:
        return DataError(
            f"`{path.name}` has unreadable bytes at line {self.line}, offset {self.offset}",
            got=self.byte,
            allowed="UTF-8" if encoding in ("", "utf-8", "utf-8-sig") else encoding,
            then=then or f"save the file as UTF-8, or name its encoding with {ENCODING}",
        )


def _need_valid(path: Path, encoding: str, most: int) -> None:
    """Decode a file in pieces.

    Raises:
        DataError: the encoding is unknown, or the file too large.
        _Invalid: it has other bytes.
    """
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
        decoder.decode(b"")
    except (LookupError, AttributeError):
        allowed = "utf-8, utf-16, cp1252, latin-1, cp1251, gb18030, shift_jis and others of Python"
        raise DataError(f"{ENCODING} is unknown", got=encoding, allowed=allowed) from None
    size, line = 0, 1
    with open_unpacked(path) as file:
        while True:
            piece = file.read(CHUNK)
            size += len(piece)
            need_size(path, size, most)
            try:
                decoder.decode(piece, final=not piece)
            except UnicodeError as error:
                raise _Invalid(error, line, size) from None
            line += piece.count(b"\n")
            if not piece:
                return


def _guess_encoding(path: Path, error: _Invalid) -> str:
    """Return the encoding of bytes that are not UTF-8.

    Raises:
        DataError: they may be of several encodings, or of none.
    """
    from charset_normalizer import from_bytes

    lines = [line for line in error.sample.split(b"\n") if not line.isascii()]
    sample = b"\n".join(lines)[:SAMPLE]
    if len(lines) > 1 and b"\n" in sample:
        sample = sample[: sample.rindex(b"\n")]  # no character is cut
    guesses = [] if b"\0" in sample else list(from_bytes(sample, cp_isolation=[*ONE_BYTE, *SEVERAL_BYTES]))
    if not guesses:
        raise error.as_error(path, "")
    first = guesses[0]
    wide = first.encoding in SEVERAL_BYTES
    near = {
        "cp1252" if "cp1252" in one.could_be_from_charset else one.encoding: str(one)
        for one in guesses
        if one.chaos - first.chaos < (0.1 if wide else 0.02)
        and (first.coherence - one.coherence < 0.05 or wide)
        and (one.encoding in SEVERAL_BYTES) == wide
    }
    if "cp1252" in near:  # by far the most frequent one in Western Europe and America
        return "cp1252"
    if len(set(near.values())) > 1:
        names = ", ".join(one.encoding for one in guesses if (one.encoding in SEVERAL_BYTES) == wide)
        then = f"save the file as UTF-8, or set {ENCODING}: it may be {names}"
        raise error.as_error(path, "", then)
    return first.encoding


def decode(data: bytes, name: str) -> str:
    """Decode `data` as UTF-8; `name` is used in messages."""
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        start = error.start
        line = error.object[:start].count(b"\n") + 1
        raise DataError(
            f"`{name}` has unreadable bytes at line {line}, offset {start}",
            got=f"0x{error.object[start]:02x}",
            allowed="UTF-8",
            then="save the file as UTF-8",
        ) from error
