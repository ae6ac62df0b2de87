"""Copies of finished units in another folder, or at an address that fsspec supports.

A finished unit never changes, so it is copied once. Copied to a folder, units make a store. At another
address, the files of a unit are in `units/KEY/DIGEST`, named by the SHA-256 of its `unit.json`, so that the
files of two trainings of a unit never mix. `unit.json`, which has the checksums of the others, is written
last: without it there is no unit. Nothing is deleted.
"""

from __future__ import annotations

import errno
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from mtlv.disk import digest_of
from mtlv.errors import DamagedError, TrackingError, mask_credentials, shorten
from mtlv.formatting import many
from mtlv.store.local import Store
from mtlv.store.unit_files import UNIT, check_files, read_unit, reading

# Protocols without folders. Creating one there is not needed, and may create a bucket.
WITHOUT_FOLDERS = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "memory"})

Copies = Mapping[str, Mapping[str, int]]
"""Copies of one unit: by folder, the size in bytes of each file."""


@dataclass
class CopyReport:
    """What was copied, and what was not."""

    copied: int = 0  # units
    present: int = 0  # units that were there, or that another process trains or copies at the moment
    bytes: int = 0  # that were copied
    damaged: list[str] = field(default_factory=list)  # place and damage of each unit that was left out

    def __str__(self) -> str:
        text = f"{many(self.copied, 'unit')} copied ({self.bytes / 1e6:,.1f} MB), {self.present} were there"
        return f"{text}, {len(self.damaged)} damaged and left out" if self.damaged else text

    def add(self, place: str, copy: Callable[[], int | None], tell: Callable[[str], None]) -> None:
        """Copy a unit; `copy` returns the number of bytes, or None if the unit was there."""
        try:
            size = copy()
        except DamagedError as error:
            self.damaged.append(f"{place}: {error.why}")
            return
        if size is None:
            self.present += 1
            return
        self.copied += 1
        self.bytes += size
        tell(f"{place}: {size / 1e6:,.1f} MB")


class RemoteUnits:
    """The units at an address.

    Raises:
        TrackingError: its protocol is not known or needs a package, or it cannot be opened.
    """

    def __init__(self, address: str) -> None:
        from fsspec.core import url_to_fs
        from fsspec.implementations.local import LocalFileSystem

        self.address = address
        with self._errors():
            self._files, path = url_to_fs(address)
        self.folder = Path(path) if isinstance(self._files, LocalFileSystem) else None
        self._root = f"{path.rstrip('/')}/units"

    def place(self, key: str) -> str:
        """Return the address of a unit, without a password."""
        return mask_credentials(f"{self.address.rstrip('/')}/units/{key}")

    def copies(self) -> dict[str, Copies]:
        """Return the copies of each unit by key, with incomplete ones."""
        with self._errors():
            self._files.invalidate_cache()
            try:
                files = self._files.find(self._root, detail=True)
            except FileNotFoundError:
                files = {}
        units: dict[str, dict[str, dict[str, int]]] = {}
        for path, info in sorted(files.items()):
            folder, _, name = path.removeprefix(f"{self._root}/").rpartition("/")
            if folder and not folder.startswith("."):
                units.setdefault(folder.split("/")[0], {}).setdefault(folder, {})[name] = info["size"]
        return dict(units)

    def put(self, file: Path, folder: str) -> None:
        """Write a file to a folder of a unit."""
        target = f"{self._root}/{folder}"
        with self._errors():
            if self.address.split("://")[0] not in WITHOUT_FOLDERS:
                self._files.makedirs(target, exist_ok=True)
            self._files.put_file(str(file), f"{target}/{file.name}")

    def get(self, folder: str, file: Path) -> None:
        """Read a file from a folder of a unit."""
        with self._errors():
            self._files.get_file(f"{self._root}/{folder}/{file.name}", str(file))

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Convert the errors of all backends, which have classes of their own."""
        try:
            yield
        except ImportError as error:  # fsspec's message names the package
            raise TrackingError(f"`{self.address}` needs a package", then=str(error)) from error
        except Exception as error:
            if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise  # the disk of this machine is full
            raise TrackingError(
                f"`{self.address}` cannot be used",
                got=shorten(str(error) or type(error).__name__),
                then="check the address, the credentials and the network, and repeat the command; it goes on "
                "where it stopped",
            ) from error


def push(
    store: Store,
    address: str,
    keys: Collection[str] | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> CopyReport:
    """Copy finished units from a store to an address.

    Args:
        store: source.
        address: destination: a folder, or an address such as `s3://bucket/study`.
        keys: units to copy; None copies all.
        tell: gets a line about each copied unit.

    Raises:
        TrackingError: the address or a file of the store cannot be used.
    """
    remote, report = RemoteUnits(address), CopyReport()
    if remote.folder is not None:
        return pull(Store(remote.folder), str(store.root.absolute()), keys, tell)
    existing = remote.copies()
    for folder in sorted(store.units.glob("[!.]*")):
        if keys is None or folder.name in keys:
            copy = partial(_push_unit, remote, folder, existing.get(folder.name, {}))
            report.add(str(folder), copy, tell)
    return report


def pull(
    store: Store,
    address: str,
    keys: Collection[str] | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> CopyReport:
    """Copy finished units from an address, which may be the folder of another store, to a store.

    The arguments are those of `push`.

    Raises:
        TrackingError: the address or the store cannot be used, or there are no units.
    """
    remote, report = RemoteUnits(address), CopyReport()
    units = {
        # A folder by digest without `unit.json` is not complete yet; one of a store is damaged.
        key: {folder: sizes for folder, sizes in copies.items() if UNIT in sizes or folder == key}
        for key, copies in remote.copies().items()
    }
    if not any(units.values()):
        then = "check the address; `mtlv store push` copies units there"
        raise TrackingError(f"`{address}` has no finished units", then=then)
    for key, copies in units.items():
        if copies and (keys is None or key in keys):
            report.add(remote.place(key), partial(_pull_unit, store, remote, key, copies), tell)
    return report


def _push_unit(remote: RemoteUnits, folder: Path, copies: Copies) -> int | None:
    """Write the files of a unit that are missing or incomplete; one copy of a unit is enough."""
    with reading(folder):
        names = [*read_unit(folder)[1], UNIT]
        target = f"{folder.name}/{digest_of(folder / UNIT)}"
        sizes = {name: (folder / name).stat().st_size for name in names}
    if any(UNIT in files for other, files in copies.items() if other != target):
        return None
    missing = [name for name in names if copies.get(target, {}).get(name) != sizes[name]]
    if not missing:
        return None
    with reading(folder):
        check_files(folder)
    for name in missing:
        remote.put(folder / name, target)
    return sum(sizes[name] for name in missing)


def _pull_unit(store: Store, remote: RemoteUnits, key: str, copies: Copies) -> int | None:
    """Read the first copy of a unit without damage."""
    with store.lock_unit(key) as is_free:
        if not is_free or store.has(key):
            return None
        for folder, sizes in copies.items():
            part = Path(tempfile.mkdtemp(dir=store.units, prefix=f".{key}-"))
            try:
                _download(remote, folder, sizes, part)
                size = sum(file.stat().st_size for file in part.iterdir())
                store.publish(key, part)
            except DamagedError as error:
                damage = error
            else:
                return size
            finally:
                shutil.rmtree(part, ignore_errors=True)  # already moved on success
    raise damage


def _download(remote: RemoteUnits, folder: str, sizes: Mapping[str, int], part: Path) -> None:
    """Read the files of a unit, and check them.

    Raises:
        DamagedError: a file is missing, or was changed.
    """
    if UNIT in sizes:
        remote.get(folder, part / UNIT)
    with reading(part):
        content, files = read_unit(part)
        if content.get("key") != folder.split("/")[0]:
            raise ValueError(f"`{UNIT}` is of another unit")
        if missing := sorted(files.keys() - sizes.keys()):
            raise ValueError(f"`{missing[0]}` is missing")
    for name in files:
        remote.get(folder, part / name)
    with reading(part):
        check_files(part)
