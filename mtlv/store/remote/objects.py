"""Interface of object stores: a few calls, and errors with a next step."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import ParamSpec, Protocol, TypeVar

from mtlv.errors import shorten

P = ParamSpec("P")
R = TypeVar("R")

SETTLE = 2.0  # seconds after which others that create the same name have written it
SEAL = b"\nmtlv object 1, SHA-256 "  # at the end of a small object, followed by the digest of the content


class ObjectStoreError(Exception):
    """A failed call, with the next step for the user (`then`); if it is `passing`, a retry may succeed."""

    def __init__(self, reason: object, then: str, *, passing: bool = False) -> None:
        super().__init__(shorten(str(reason), 300).rstrip("."))
        self.then, self.passing = then, passing


class Objects(Protocol):
    """Whole objects by name, a path below the store's address. All calls may raise `ObjectStoreError`.

    `exclusive` is whether only one of several processes that create the same name succeeds.
    """

    exclusive: bool

    def put(self, name: str, content: bytes) -> None:
        """Write an object atomically, replacing an existing one."""

    def create(self, name: str, content: bytes) -> bool:
        """Write an object if it does not exist; return False if it does."""

    def get(self, name: str) -> bytes | None:
        """Return the content; None if the object does not exist."""

    def upload(self, name: str, path: Path) -> None:
        """Write an object from a file."""

    def download(self, name: str, path: Path) -> bool:
        """Write a file from an object; return False if it does not exist."""

    def names(self, folder: str) -> dict[str, int]:
        """Return the size in bytes of each object below a folder, at any depth, by name."""

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects; missing ones are ignored."""


def told(by: Callable[[Exception], ObjectStoreError | None]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator that converts errors of a medium to `ObjectStoreError`; those that `by` maps to None stay."""

    def decorated(call: Callable[P, R]) -> Callable[P, R]:
        @wraps(call)
        def wrapped(*given: P.args, **named: P.kwargs) -> R:
            try:
                return call(*given, **named)
            except ObjectStoreError:
                raise
            except Exception as error:  # each medium has its own errors
                trouble = by(error)
                if trouble is None:
                    raise
                raise trouble from error

        return wrapped

    return decorated


def create_maybe(objects: Objects, name: str, content: bytes) -> bool:
    """Emulate `create` without exclusive creation: the last writer wins, if all have written by then."""
    if objects.get(name) is not None:
        return False
    objects.put(name, content)
    time.sleep(SETTLE)
    return objects.get(name) == content


def scheme(uri: str) -> str:
    """Return the scheme, e.g. `s3` of `s3://bucket/prefix`."""
    return uri.split("://", 1)[0].lower()


def with_checksum(content: bytes) -> bytes:
    """Append a checksum to content."""
    return content + SEAL + hashlib.sha256(content).hexdigest().encode()


def unsealed(content: bytes) -> bytes:
    """Check and remove the checksum of `with_checksum`.

    Raises:
        ValueError: it is truncated or was changed.
    """
    body, mark, digest = content.rpartition(SEAL)
    if not mark or hashlib.sha256(body).hexdigest().encode() != digest:
        raise ValueError("its checksum does not match: it is truncated or was changed")
    return body
