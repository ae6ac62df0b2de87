"""Archives and XML from untrusted sources, read with limits; nothing is unpacked."""

from __future__ import annotations

import lzma
import posixpath
import tarfile
import xml.etree.ElementTree as ElementTree  # nosec B405 # without a DOCTYPE, see parsed
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from mtlv.errors import DataError

MOST_MEMBERS = 200_000
MOST_UNPACKED = 4_000_000_000  # maximum bytes of all members
LARGEST_DOCUMENT = 10_000_000  # maximum bytes of a member read as text
LARGEST_HEADER = 1_000_000  # maximum bytes of names and extended headers, which are read into memory
# Errors of the readers of tar, zip and their compression for damaged files.
BROKEN = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    OSError,
    EOFError,
    ValueError,
    OverflowError,
)


class _Member(tarfile.TarInfo):
    """A member whose header size is limited."""

    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo | None:
        if not self.isreg() and self.size > LARGEST_HEADER:
            raise tarfile.ReadError(f"a header of {self.size:,} bytes")
        return super()._proc_member(tar)  # type: ignore[misc]


def documents(
    archive: Path, matches: Callable[[str], bool], *, largest: int = LARGEST_DOCUMENT
) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of the wanted files of a tar archive, in order, without writing files.

    It may be compressed (gzip, bzip2, xz); a document has at most `largest` bytes.

    Raises:
        DataError: an unreadable archive, too much content, a duplicate name, or a wanted member that is a
            link or too large.
    """
    with _open_tar(archive) as tar:
        for member in _within_limits(archive, tar):
            if not matches(member.name) or member.isdir():
                continue
            if not member.isfile():
                raise _bad(archive, member.name, "is a link or device")
            if member.size > largest:
                raise _bad(archive, member.name, f"is larger than {largest:,} bytes")
            file = tar.extractfile(member)
            if file is not None:
                yield member.name, file.read()


def read_zip_files(
    archive: Path, matches: Callable[[str], bool], *, largest: int = LARGEST_DOCUMENT
) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of the wanted files of a zip archive, in order, without writing files.

    Raises:
        DataError: an unreadable archive, too much content, a duplicate name, or a document that is too large.
    """
    try:
        with zipfile.ZipFile(archive) as packed:
            for member in _zip_members(archive, packed):
                if matches(member.filename) and not member.is_dir():
                    yield member.filename, _content(archive, packed, member, largest=largest)
    except (*BROKEN, RuntimeError) as error:  # RuntimeError: a password
        raise _damaged(archive, error) from error


def parse_xml(
    name: str, data: bytes, *, largest: int, what: str, then: str = "download the archive again"
) -> ElementTree.Element:
    """Return the root of an XML file; `then` is the next step if it is invalid.

    A DOCTYPE could declare entities that expand without end; none of the corpora has one. It could not be
    detected in UTF-16 or UTF-32, which contain NULs.

    Raises:
        DataError: a DOCTYPE, an entity, a NUL, too large, or invalid.
    """
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data or b"\0" in data or len(data) > largest:
        got = f"a DOCTYPE, an entity, a NUL or over {largest:,} bytes"
        raise DataError(f"`{name}` is not a plain {what}", got=got)
    try:
        return ElementTree.fromstring(data)  # nosec B314 # no DOCTYPE, so no entities
    # The declared encoding may be unknown or wrong.
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise DataError(f"`{name}` is invalid XML", got=str(error), then=then) from error


@contextmanager
def _open_tar(archive: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(archive, tarinfo=_Member) as tar:
            yield tar
    except BROKEN as error:
        raise _damaged(archive, error) from error


def _within_limits(archive: Path, tar: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Yield members until there are too many; the rest is not decompressed."""
    seen: set[str] = set()
    size = 0
    for count, member in enumerate(tar, 1):
        size += member.size
        _check_size(archive, count, size, " and more")
        if not member.isdir():
            _check_new(archive, member.name, seen)
        yield member


def _zip_members(archive: Path, packed: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the members, all of which the header names."""
    members, seen = packed.infolist(), set[str]()
    _check_size(archive, len(members), sum(member.file_size for member in members))
    for member in members:
        _check_new(archive, member.filename, seen)
    return members


def _check_size(archive: Path, members: int, size: int, more: str = "") -> None:
    if members > MOST_MEMBERS or size > MOST_UNPACKED:
        raise DataError(
            f"`{archive.name}` is too large to unpack",
            got=f"{members:,} members, {size:,} bytes{more}",
            allowed=f"up to {MOST_MEMBERS:,} members, {MOST_UNPACKED:,} bytes",
        )


def _check_new(archive: Path, name: str, seen: set[str]) -> None:
    place = posixpath.normpath(name)  # `a`, `./a` and `b/../a` are one file
    if place in seen:
        raise _bad(archive, name, "is there twice")
    seen.add(place)


def _content(archive: Path, packed: zipfile.ZipFile, member: zipfile.ZipInfo, *, largest: int) -> bytes:
    if member.file_size > largest:
        raise _bad(archive, member.filename, f"is larger than {largest:,} bytes")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _bad(archive, member.filename, "has an unusual compression")  # which may expand without limit
    with packed.open(member) as file:
        return file.read(largest + 1)  # limits the size, also for a wrong header


def _bad(archive: Path, name: str, fault: str) -> DataError:
    return DataError(f"`{archive.name}` has a member that {fault}", got=name)


def _damaged(archive: Path, error: Exception) -> DataError:
    then = "delete it and download it again"
    return DataError(f"`{archive}` cannot be read as an archive", got=str(error), then=then)
