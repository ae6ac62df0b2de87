"""Tar archives from untrusted sources: read with limits, unpacked only inside their folder."""

from __future__ import annotations

import lzma
import shutil
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from mtlv.errors import DataError

MOST_MEMBERS = 200_000
MOST_UNPACKED = 4_000_000_000  # maximum bytes of all members
LARGEST_DOCUMENT = 10_000_000  # maximum bytes of a member read as text
LARGEST_HEADER = 1_000_000  # maximum bytes of names and extended headers, which are read into memory
# Errors of the readers of tar, gzip, bzip2 and xz for damaged files.
BROKEN = (tarfile.TarError, OSError, EOFError, zlib.error, lzma.LZMAError, ValueError, OverflowError)


class _Member(tarfile.TarInfo):
    """A member whose header size is limited."""

    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo | None:
        if not self.isreg() and self.size > LARGEST_HEADER:
            raise tarfile.ReadError(f"a header of {self.size:,} bytes")
        return super()._proc_member(tar)  # type: ignore[misc]


def documents(
    archive: Path, wanted: Callable[[str], bool], *, largest: int = LARGEST_DOCUMENT
) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of the wanted files of a tar archive, in order, without writing files.

    Args:
        archive: uncompressed or compressed (gzip, bzip2, xz).
        wanted: whether a name is that of a document.
        largest: maximum bytes of a document.

    Raises:
        DataError: an unreadable archive, too much content, a duplicate name, or a wanted member that is a
            link or too large.
    """
    with _opened(archive, "read as an archive") as tar:
        for member in _within_limits(archive, tar):
            if not wanted(member.name) or member.isdir():
                continue
            if not member.isfile():
                raise _bad(archive, member, "is a link or device")
            if member.size > largest:
                raise _bad(archive, member, f"is larger than {largest:,} bytes")
            file = tar.extractfile(member)
            if file is not None:
                yield member.name, file.read()


def unpack(archive: Path, folder: Path) -> int:
    """Unpack a tar archive into `folder`; return the number of files.

    All members are checked before the first is written.

    Raises:
        DataError: a member outside `folder`, a link or device, a duplicate name, too much content, or an
            unreadable archive.
    """
    with _opened(archive, "unpacked") as tar:
        members = list(_within_limits(archive, tar))
        for member in members:
            _check_place(archive, member)
        for member in members:
            _write(tar, member, folder)
    return sum(member.isfile() for member in members)


@contextmanager
def _opened(archive: Path, use: str) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(archive, tarinfo=_Member) as tar:
            yield tar
    except BROKEN as error:
        raise DataError(
            f"`{archive}` cannot be {use}", got=str(error), then="delete it and download it again"
        ) from error


def _within_limits(archive: Path, tar: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Yield members until there are too many; the rest is not decompressed."""
    seen: set[str] = set()
    size = 0
    for count, member in enumerate(tar, 1):
        size += member.size
        if count > MOST_MEMBERS or size > MOST_UNPACKED:
            raise DataError(
                f"`{archive.name}` is too large to unpack",
                got=f"{count:,} members, {size:,} bytes and more",
                allowed=f"up to {MOST_MEMBERS:,} members, {MOST_UNPACKED:,} bytes",
            )
        if not member.isdir():
            if member.name in seen:
                raise _bad(archive, member, "is there twice")
            seen.add(member.name)
        yield member


def _check_place(archive: Path, member: tarfile.TarInfo) -> None:
    place = PurePosixPath(member.name)
    strange = any(sign in member.name for sign in "\\:\0")
    if place.is_absolute() or ".." in place.parts or strange:
        raise _bad(archive, member, "would be outside the target folder")
    if not (member.isfile() or member.isdir()):
        raise _bad(archive, member, "is a link or device")


def _bad(archive: Path, member: tarfile.TarInfo, fault: str) -> DataError:
    return DataError(f"`{archive.name}` has a member that {fault}; nothing was unpacked", got=member.name)


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    target = folder / member.name
    # An existing link in the folder could still lead out of it.
    if not target.resolve().is_relative_to(folder.resolve()):
        raise DataError(f"`{target}` leads out of the target folder through a link", then="remove the link")
    if member.isdir():
        target.mkdir(parents=True, exist_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    source = tar.extractfile(member)
    if source is not None:
        with source, target.open("wb") as out:
            shutil.copyfileobj(source, out)
