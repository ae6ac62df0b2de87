"""The objects of a shared store with patience: what passes is waited out, the rest is told in our words."""

from __future__ import annotations

import errno
import hashlib
import time
import uuid
from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from mtlv.disk import flush
from mtlv.errors import DamagedError, TrackingError, masked
from mtlv.store.remote.connect import open_objects
from mtlv.store.remote.objects import Objects, ObjectStoreError, unsealed, with_checksum

T = TypeVar("T")

PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0)  # seconds between calls that fail for a time
MOMENT = 5.0  # seconds for which a listing is believed
PROBE = "probe"  # folder of what `prove` writes


class ObjectClient:
    """What a store writes to and reads from its address.

    Args:
        uri: the address.
        pauses: between attempts, in seconds.

    Raises:
        TrackingError: it cannot be opened.
        ConfigError: what its address needs is not installed.
    """

    def __init__(self, uri: str, pauses: Sequence[float] = PAUSES) -> None:
        self.address = masked(uri.rstrip("/"))
        self.pauses = tuple(pauses)
        self.objects: Objects = self.ask("cannot be opened", lambda: open_objects(uri), pauses=())

    def prove(self) -> None:
        """Write, read, list and delete a small object, at once and without patience.

        Raises:
            TrackingError: one of them cannot be done.
        """
        self.ask("cannot be used", lambda: _prove(self.objects), pauses=())

    def at(self, name: str) -> str:
        """The address of an object."""
        return f"{self.address}/{name}"

    def put(self, name: str, content: bytes) -> None:
        """Write a small object, sealed.

        Raises:
            TrackingError: it cannot be written; so for all of these.
        """
        self.ask(f"cannot be written: `{name}`", lambda: self.objects.put(name, with_checksum(content)))

    def create(self, name: str, content: bytes) -> bool:
        """Write a small object that is not there yet, sealed; False where it is."""
        return self.ask(
            f"cannot be written: `{name}`", lambda: self.objects.create(name, with_checksum(content))
        )

    def get(self, name: str) -> bytes | None:
        """A small object, unsealed; None where there is none.

        Raises:
            DamagedError: it is not what was written.
            TrackingError: it cannot be read.
        """
        for pause in (*self.pauses[:1], None):
            content = self.ask(f"cannot be read: `{name}`", lambda: self.objects.get(name))
            try:
                return None if content is None else unsealed(content)
            except ValueError as error:
                if pause is None:
                    raise self.broken(name, str(error)) from error
                time.sleep(pause)  # it may be written just now, where a medium does not write whole
        return None

    def upload(self, name: str, path: Path) -> None:
        """Write an object from a file."""
        size = path.stat().st_size / 1e6
        self.ask(f"cannot be written: `{name}` of {size:.1f} MB", lambda: self.objects.upload(name, path))

    def download(self, name: str, path: Path, sha256: str | None = None) -> bool:
        """Write a file from an object, whole and on the disk, or not at all; False where there is none.

        Raises:
            DamagedError: its checksum is another.
            TrackingError: it cannot be read.
        """
        part = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not self.ask(f"cannot be read: `{name}`", lambda: self._download(name, part)):
                return False
            if sha256 is not None and digest_of(part) != sha256:
                raise self.broken(name, "its checksum is another: it was changed")
            flush(part)  # else the name may outlive the content where the power fails
            part.replace(path)
        except OSError as error:
            raise cannot_keep(path.parent, error) from error
        finally:
            with suppress(OSError):
                part.unlink()
        return True

    def _download(self, name: str, path: Path) -> bool:
        try:
            return self.objects.download(name, path)
        except ObjectStoreError as trouble:
            cause = trouble.__cause__
            if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT):
                raise cause from None  # this machine is full, not the address
            raise

    def names(self, folder: str) -> dict[str, int]:
        """Bytes by the name of each object below a folder."""
        return self.ask(f"cannot be listed: `{folder}`", lambda: self.objects.names(folder))

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects; what is gone already is fine."""
        wanted = list(names)
        if wanted:
            what = f"cannot be deleted: `{wanted[0]}`"
            self.ask(what, lambda: self.objects.delete(wanted))

    def broken(self, name: str, why: str) -> DamagedError:
        """An error: an object is not what was written."""
        error = DamagedError(
            f"`{self.at(name)}` cannot be used", why=why, then="delete it, and what it holds is made again"
        )
        error.why = f"`{name}`: {why}"
        return error

    def ask(self, what: str, call: Callable[[], T], pauses: Sequence[float] | None = None) -> T:
        """What `call` gives, which may raise `ObjectStoreError`.

        Args:
            what: cannot be done where it fails, such as `cannot be read: X`.
            call: asks the objects.
            pauses: between attempts; None is the store's own.

        Raises:
            TrackingError: it fails, and not only for a time.
        """
        for pause in (*(self.pauses if pauses is None else pauses), None):
            try:
                return call()
            except ObjectStoreError as trouble:
                if pause is None or not trouble.passing:
                    raise self._error(what, trouble) from trouble
                time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def _error(self, what: str, trouble: ObjectStoreError) -> TrackingError:
        return TrackingError(f"`store.uri`: {self.address} {what}", got=str(trouble), then=trouble.then)


class Listing(Container[str]):
    """Which keys there are, asked for all at once and believed for a moment.

    Args:
        ask: gives them.
        moment: seconds, or 20 times what it takes to ask where that is longer.
    """

    def __init__(self, ask: Callable[[], Iterable[str]], moment: float = MOMENT) -> None:
        self._ask, self._moment = ask, moment
        self._keys: set[str] = set()
        self._until = 0.0

    def __contains__(self, key: object) -> bool:
        """What was there is; what was not is looked for again, after a moment."""
        return key in self._keys or key in self.keys()

    def keys(self) -> set[str]:
        """All of them."""
        begun = time.monotonic()
        if begun >= self._until:
            self._keys = set(self._ask())
            now = time.monotonic()
            self._until = now + max(self._moment, 20 * (now - begun))
        return self._keys

    def add(self, key: str) -> None:
        self._keys.add(key)

    def discard(self, key: str) -> None:
        self._keys.discard(key)


def digest_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_whole(path: Path, content: bytes) -> None:
    """Write a small file of this machine whole or not at all.

    Raises:
        TrackingError: it cannot be written.
    """
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        raise cannot_keep(path.parent, error) from error
    finally:
        with suppress(OSError):
            part.unlink()


def cannot_keep(folder: Path, error: OSError) -> TrackingError:
    """An error: what an address has cannot be kept on this machine."""
    return TrackingError(
        f"{folder} on this machine cannot be written",
        got=error.strerror or error,
        then="free room there, or set `store.cache` to another folder",
    )


def _prove(objects: Objects) -> None:
    name, content = f"{PROBE}/{uuid.uuid4().hex}", with_checksum(b"")
    then = "use a server of objects that does, or a folder that all nodes reach"
    if objects.exclusive:
        objects.create(name, content)
        objects.exclusive = not objects.create(name, content)  # some servers do not look
    else:
        objects.put(name, content)
    try:
        if objects.get(name) != content:
            raise ObjectStoreError("it does not give back what was just written", then)
        if name not in objects.names(PROBE):
            raise ObjectStoreError("it does not list what was just written", then)
    finally:
        objects.delete([name])
