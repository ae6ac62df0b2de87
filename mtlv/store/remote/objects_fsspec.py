"""Objects in any file system of fsspec: Google Cloud Storage, Azure, WebDAV, a folder, memory."""

from __future__ import annotations

import errno
import os
import threading
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from mtlv.store.remote.objects import ObjectStoreError, create_maybe, scheme, told

WHOLE = {"gs", "gcs", "az", "abfs", "abfss", "memory"}  # atomic writes without folders
CREATES = {"gs", "gcs", "az", "abfs", "abfss", "memory", "file", "local"}  # exclusive creation
FOLDERS = {"file", "local"}
PART = ".part"
ONE_AT_A_TIME = threading.Lock()  # for creation in memory
FULL = {errno.ENOSPC, errno.EDQUOT, 507}
DENIED = {errno.EACCES, errno.EPERM, errno.EROFS, 401, 403}
BUSY = {
    errno.ECONNREFUSED,
    errno.ECONNRESET,
    errno.ETIMEDOUT,
    errno.EHOSTUNREACH,
    408,
    429,
    500,
    502,
    503,
    504,
}
THERE = {409, 412}


def _number(error: BaseException) -> int | None:
    """Return the HTTP status or the errno of an error."""
    for name in ("status", "code", "status_code", "errno"):
        found = getattr(error, name, None)
        if isinstance(found, int) or (isinstance(found, str) and found.isdecimal()):
            return int(found)
    return None


def trouble(error: Exception) -> ObjectStoreError:
    """Convert an error of a file system."""
    number = _number(error)
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    if number in FULL:
        return ObjectStoreError(f"it is full: {text}", "free space there or raise its quota")
    if isinstance(error, PermissionError) or number in DENIED:
        return ObjectStoreError(f"access is denied: {text}", "check the credentials and permissions there")
    if isinstance(error, (ConnectionError, TimeoutError)) or number in BUSY:
        return ObjectStoreError(
            f"it does not respond: {text}", "check the network and the address", passing=True
        )
    if isinstance(error, (FileNotFoundError, NotADirectoryError, FileExistsError)) or number == 404:
        return ObjectStoreError(f"it does not exist: {text}", "create it, or correct the name in `store.uri`")
    if isinstance(error, ImportError):
        return ObjectStoreError(text, "install the package")
    return ObjectStoreError(text, "check the address, the credentials and the network")


class FsspecObjects:
    """Object store at any address that fsspec supports; see `Objects`.

    Options come from its configuration and the environment.
    """

    @told(by=trouble)
    def __init__(self, uri: str) -> None:
        from fsspec.core import url_to_fs

        self._scheme = scheme(uri)
        options: dict[str, Any] = {"auto_mkdir": True} if self._scheme in FOLDERS else {}
        self._fs, base = url_to_fs(uri, skip_instance_cache=True, **options)
        self._base = base.rstrip("/")
        self.exclusive = self._scheme in CREATES

    @told(by=trouble)
    def put(self, name: str, content: bytes) -> None:
        self._write(self._path(name), lambda path: self._fs.pipe_file(path, content))

    @told(by=trouble)
    def create(self, name: str, content: bytes) -> bool:
        path = self._path(name)
        if self._scheme in FOLDERS:
            return self._create_file(path, content)
        if not self.exclusive:
            return create_maybe(self, name, content)
        with ONE_AT_A_TIME:
            try:
                self._fs.pipe_file(path, content, mode="create")
            except FileExistsError:
                return False
            except Exception as error:
                if _number(error) in THERE:
                    return False
                raise
        return True

    @told(by=trouble)
    def get(self, name: str) -> bytes | None:
        try:
            return bytes(self._fs.cat_file(self._path(name)))
        except FileNotFoundError:
            return None

    @told(by=trouble)
    def upload(self, name: str, path: Path) -> None:
        self._write(self._path(name), lambda target: self._fs.put_file(str(path), target))

    @told(by=trouble)
    def download(self, name: str, path: Path) -> bool:
        try:
            self._fs.get_file(self._path(name), str(path))
        except FileNotFoundError:
            return False
        return True

    @told(by=trouble)
    def names(self, folder: str) -> dict[str, int]:
        self._fs.invalidate_cache()
        try:
            found = self._fs.find(self._path(folder), detail=True)
        except FileNotFoundError:
            return {}
        start = len(self._base) + 1
        return {path[start:]: int(each["size"]) for path, each in found.items() if not path.endswith(PART)}

    @told(by=trouble)
    def delete(self, names: Iterable[str]) -> None:
        for name in names:
            with suppress(FileNotFoundError):
                self._fs.rm_file(self._path(name))

    def _path(self, name: str) -> str:
        return f"{self._base}/{name}"

    def _write(self, path: str, write: Callable[[str], object]) -> None:
        """Write a file atomically in a folder: written to a temporary file and moved."""
        if self._scheme not in FOLDERS:
            if self._scheme not in WHOLE:
                self._fs.makedirs(self._fs._parent(path), exist_ok=True)
            write(path)
            return
        part = f"{path}.{uuid.uuid4().hex}{PART}"
        try:
            write(part)
            os.replace(part, path)
        finally:
            Path(part).unlink(missing_ok=True)

    def _create_file(self, path: str, content: bytes) -> bool:
        """Create a file by linking a complete one, which succeeds for only one process."""
        part = f"{path}.{uuid.uuid4().hex}{PART}"
        try:
            self._fs.pipe_file(part, content)
            os.link(part, path)
        except FileExistsError:
            return False
        finally:
            Path(part).unlink(missing_ok=True)
        return True
