"""Zip archives from untrusted sources: read with limits, never unpacked."""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from mtlv.data.archives import LARGEST_DOCUMENT, MOST_MEMBERS, MOST_UNPACKED
from mtlv.errors import DataError

# Errors of damaged archives by zip and its compression methods; RuntimeError: a password.
BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    OSError,
    EOFError,
    ValueError,
    OverflowError,
    RuntimeError,
)


def zipped(
    archive: Path, wanted: Callable[[str], bool], *, largest: int = LARGEST_DOCUMENT
) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of the wanted files of a zip archive, in order, without writing files.

    Args:
        archive: path of the file.
        wanted: whether a name is that of a document.
        largest: maximum bytes of a document.

    Raises:
        DataError: an unreadable archive, too much content, a duplicate name, or a document that is too large.
    """
    try:
        with zipfile.ZipFile(archive) as packed:
            for member in _within_limits(archive, packed.infolist()):
                if wanted(member.filename) and not member.is_dir():
                    yield member.filename, _content(archive, packed, member, largest=largest)
    except BROKEN as error:
        raise DataError(
            f"`{archive}` cannot be read as an archive",
            got=str(error),
            then="delete it and download it again",
        ) from error


def _content(archive: Path, packed: zipfile.ZipFile, member: zipfile.ZipInfo, *, largest: int) -> bytes:
    if member.file_size > largest:
        raise _bad(archive, member.filename, f"is larger than {largest:,} bytes")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _bad(archive, member.filename, "has an unusual compression")  # which may expand without limit
    with packed.open(member) as file:
        return file.read(largest + 1)  # limits the size, also for a wrong header


def _within_limits(archive: Path, members: list[zipfile.ZipInfo]) -> list[zipfile.ZipInfo]:
    size = sum(member.file_size for member in members)
    if len(members) > MOST_MEMBERS or size > MOST_UNPACKED:
        raise DataError(
            f"`{archive.name}` is too large to unpack",
            got=f"{len(members):,} members, {size:,} bytes",
            allowed=f"up to {MOST_MEMBERS:,} members, {MOST_UNPACKED:,} bytes",
        )
    seen: set[str] = set()
    for member in members:
        if member.filename in seen:
            raise _bad(archive, member.filename, "is there twice")
        seen.add(member.filename)
    return members


def _bad(archive: Path, name: str, fault: str) -> DataError:
    return DataError(f"`{archive.name}` has a member that {fault}; nothing was unpacked", got=name)
