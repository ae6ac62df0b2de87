"""Archives, folders and XML from untrusted sources, read with limits; nothing is unpacked."""

from __future__ import annotations

import lzma
import posixpath
import tarfile
import xml.etree.ElementTree as ElementTree  # nosec B405 # without a DOCTYPE, see parsed
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from mtlv.errors import DataError

MOST_MEMBERS = 500_000  # EBM-NLP has over 230,000
MOST_UNPACKED = 4_000_000_000  # maximum bytes of all members
LARGEST_DOCUMENT = 10_000_000  # maximum bytes of a member read as text
LARGEST_HEADER = 1_000_000  # maximum bytes of names and extended headers, which are read into memory
# Errors of the readers of tar, zip and their compression for damaged files, and for a password.
BROKEN = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    OSError,
    EOFError,
    ValueError,
    OverflowError,
    RuntimeError,
)


_Member = tuple[str, int, str, Callable[[], Any] | None]
"""Name, size, why a file must not be read (or empty), and what opens it (None for a folder)."""


class _TarInfo(tarfile.TarInfo):
    """A member whose header size is limited."""

    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo | None:
        if not self.isreg() and self.size > LARGEST_HEADER:
            raise tarfile.ReadError(f"a header of {self.size:,} bytes")
        return super()._proc_member(tar)  # type: ignore[misc]


def documents(
    place: Path, matches: Callable[[str], bool], *, largest: int = LARGEST_DOCUMENT
) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of the wanted files of a folder, or of a tar or zip archive; no file is written.

    A tar archive may be compressed (gzip, bzip2, xz). A document in an archive has at most `largest` bytes.
    Files of a folder are sorted, and their names begin with the folder's.

    Raises:
        DataError: an unreadable archive, too much content, a duplicate name, or a wanted member that is a
            link or too large.
    """
    if place.is_dir():
        for file in sorted(place.rglob("*")):
            name = file.relative_to(place.parent).as_posix()
            if matches(name) and file.is_file():
                yield name, file.read_bytes()
        return
    try:
        if zipfile.is_zipfile(place):
            with zipfile.ZipFile(place) as packed:
                yield from _wanted(place, _zip_members(packed), matches, largest)
        else:
            with tarfile.open(place, tarinfo=_TarInfo) as tar:
                yield from _wanted(place, _tar_members(tar), matches, largest)
    except BROKEN as error:
        then = "delete it and download it again"
        raise DataError(f"`{place}` cannot be read as an archive", got=str(error), then=then) from error


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


def _tar_members(tar: tarfile.TarFile) -> Iterator[_Member]:
    for one in tar:
        fault = "" if one.isfile() else "is a link or device"
        yield one.name, one.size, fault, None if one.isdir() else partial(tar.extractfile, one)


def _zip_members(packed: zipfile.ZipFile) -> Iterator[_Member]:
    for one in packed.infolist():
        is_usual = one.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        fault = "" if is_usual else "has an unusual compression"  # which may expand without limit
        yield one.filename, one.file_size, fault, None if one.is_dir() else partial(packed.open, one)


def _wanted(
    archive: Path, members: Iterable[_Member], matches: Callable[[str], bool], largest: int
) -> Iterator[tuple[str, bytes]]:
    """Yield the wanted members until there are too many; the rest is not decompressed."""
    names, total = set[str](), 0
    for count, (name, size, fault, open_member) in enumerate(members, start=1):
        total += size
        if count > MOST_MEMBERS or total > MOST_UNPACKED:
            raise DataError(
                f"`{archive.name}` is too large to unpack",
                got=f"{count:,} members, {total:,} bytes and more",
                allowed=f"up to {MOST_MEMBERS:,} members, {MOST_UNPACKED:,} bytes",
            )
        if open_member is None:
            continue
        plain = posixpath.normpath(name)  # `a`, `./a` and `b/../a` are one file
        is_repeated = plain in names
        names.add(plain)
        if not is_repeated and not matches(name):
            continue
        fault = f"is larger than {largest:,} bytes" if size > largest else fault
        if fault or is_repeated:
            fault = "is there twice" if is_repeated else fault
            raise DataError(f"`{archive.name}` has a member that {fault}", got=name)
        with open_member() as file:
            yield name, file.read(largest + 1)  # limits the size, also for a wrong header
