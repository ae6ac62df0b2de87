"""Client for the objects of a shared store: retries temporary errors, and reports others clearly."""

from __future__ import annotations

import errno
import time
import uuid
from collections.abc import Callable, Container, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from mtlv.disk import digest_of, flush, written_whole
from mtlv.errors import DamagedError, TrackingError, masked
from mtlv.store.remote.connect import open_objects
from mtlv.store.remote.objects import Objects, ObjectStoreError, unsealed, with_checksum

T = TypeVar("T")

PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0)  # seconds between retries after temporary errors
MOMENT = 5.0  # seconds for which a listing is cached
PROBE = "probe"  # folder of the objects written by `prove`


class ObjectClient:
    """Reads and writes objects at an address, with `pauses` in seconds between attempts.

    Raises:
        TrackingError: it cannot be opened.
        ConfigError: a package for its address is not installed.
    """

    def __init__(self, uri: str, pauses: Sequence[float] = PAUSES) -> None:
        self.address = masked(uri.rstrip("/"))
        self.pauses = tuple(pauses)
        self.objects: Objects = self.ask("cannot be opened", lambda: open_objects(uri), pauses=())

    def prove(self) -> None:
        """Write, read, list and delete a small object, without retries.

        Raises:
            TrackingError: one of these fails.
        """
        self.ask("cannot be used", lambda: _prove(self.objects), pauses=())

    def at(self, name: str) -> str:
        """Return the address of an object."""
        return f"{self.address}/{name}"

    def put(self, name: str, content: bytes) -> None:
        """Write a small object with a checksum.

        Raises:
            TrackingError: it cannot be written; the same applies to all methods.
        """
        self.ask(f"cannot be written: `{name}`", lambda: self.objects.put(name, with_checksum(content)))

    def create(self, name: str, content: bytes) -> bool:
        """Write a small object with a checksum if it does not exist; return False if it does."""
        return self.ask(
            f"cannot be written: `{name}`", lambda: self.objects.create(name, with_checksum(content))
        )

    def get(self, name: str) -> bytes | None:
        """Return the content of a small object, without its checksum; None if it does not exist.

        Raises:
            DamagedError: it was changed.
            TrackingError: it cannot be read.
        """
        for pause in (*self.pauses[:1], None):
            content = self.ask(f"cannot be read: `{name}`", lambda: self.objects.get(name))
            try:
                return None if content is None else unsealed(content)
            except ValueError as error:
                if pause is None:
                    raise self.broken(name, str(error)) from error
                time.sleep(pause)  # it may be being written, if writes are not atomic
        return None

    def upload(self, name: str, path: Path) -> None:
        """Write an object from a file."""
        size = path.stat().st_size / 1e6
        self.ask(f"cannot be written: `{name}` of {size:.1f} MB", lambda: self.objects.upload(name, path))

    def download(self, name: str, path: Path, sha256: str | None = None) -> bool:
        """Write a file from an object, atomically and flushed; return False if the object does not exist.

        Raises:
            DamagedError: its checksum does not match.
            TrackingError: it cannot be read.
        """
        try:
            with written_whole(path) as part:
                if not self.ask(f"cannot be read: `{name}`", lambda: self._download(name, part)):
                    part.unlink(missing_ok=True)
                    return False
                if sha256 is not None and digest_of(part) != sha256:
                    raise self.broken(name, "its checksum does not match: it was changed")
                flush(part)  # otherwise a power failure could leave the name without the content
        except OSError as error:
            raise cannot_keep(path.parent, error) from error
        return True

    def _download(self, name: str, path: Path) -> bool:
        try:
            return self.objects.download(name, path)
        except ObjectStoreError as trouble:
            cause = trouble.__cause__
            if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT):
                raise cause from None  # the local disk is full, not the remote store
            raise

    def names(self, folder: str) -> dict[str, int]:
        """Return the size in bytes of each object below a folder, by name."""
        return self.ask(f"cannot be listed: `{folder}`", lambda: self.objects.names(folder))

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects; missing ones are ignored."""
        wanted = list(names)
        if wanted:
            what = f"cannot be deleted: `{wanted[0]}`"
            self.ask(what, lambda: self.objects.delete(wanted))

    def broken(self, name: str, why: str) -> DamagedError:
        """Return the error for a changed object."""
        error = DamagedError(
            f"`{self.at(name)}` cannot be used", why=why, then="delete it; its content will be created again"
        )
        error.why = f"`{name}`: {why}"
        return error

    def ask(self, what: str, call: Callable[[], T], pauses: Sequence[float] | None = None) -> T:
        """Return the result of `call`, which may raise `ObjectStoreError`.

        Args:
            what: description of a failure, such as `cannot be read: X`.
            call: accesses the objects.
            pauses: seconds between attempts; None uses those of the store.

        Raises:
            TrackingError: it fails, not only temporarily.
        """
        for pause in (*(self.pauses if pauses is None else pauses), None):
            try:
                return call()
            except ObjectStoreError as trouble:
                if pause is None or not trouble.passing:
                    message = f"`store.uri`: {self.address} {what}"
                    raise TrackingError(message, got=str(trouble), then=trouble.then) from trouble
                time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")


class Listing(Container[str]):
    """The existing keys, listed all at once by `ask` and cached for `moment` seconds, or 20 times as long as
    a listing takes.
    """

    def __init__(self, ask: Callable[[], Iterable[str]], moment: float = MOMENT) -> None:
        self._ask, self._moment = ask, moment
        self._keys: set[str] = set()
        self._until = 0.0

    def __contains__(self, key: object) -> bool:
        """Whether a key exists; missing keys are looked up again after a moment."""
        return key in self._keys or key in self.keys()

    def keys(self) -> set[str]:
        """Return all keys."""
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


def write_whole(path: Path, content: bytes) -> None:
    """Write a small local file atomically.

    Raises:
        TrackingError: it cannot be written.
    """
    try:
        with written_whole(path) as part:
            part.write_bytes(content)
    except OSError as error:
        raise cannot_keep(path.parent, error) from error


def cannot_keep(folder: Path, error: OSError) -> TrackingError:
    """Return the error for a local folder that cannot be written."""
    return TrackingError(
        f"{folder} on this machine cannot be written",
        got=error.strerror or error,
        then="free disk space, or set `store.cache` to another folder",
    )


def _prove(objects: Objects) -> None:
    name, content = f"{PROBE}/{uuid.uuid4().hex}", with_checksum(b"")
    then = "use another object store, or a folder that all nodes can reach"
    if objects.exclusive:
        objects.create(name, content)
        objects.exclusive = not objects.create(name, content)  # some servers ignore the condition
    else:
        objects.put(name, content)
    try:
        if objects.get(name) != content:
            raise ObjectStoreError("it does not return what was just written", then)
        if name not in objects.names(PROBE):
            raise ObjectStoreError("it does not list what was just written", then)
    finally:
        objects.delete([name])
