"""What a store asks of an object store: a few calls, whatever it is; and what is said where one fails."""

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

SETTLE = 2.0  # seconds in which others that create the same name have surely written it
SEAL = b"\nmtlv object 1, SHA-256 "  # ends a small object, with the digest of what stands before it


class ObjectStoreError(Exception):
    """A call that failed, in words.

    Args:
        reason: what the medium answered.
        then: the next step for the user.
        passing: whether the same call may work a little later.
    """

    def __init__(self, reason: object, then: str, *, passing: bool = False) -> None:
        super().__init__(shorten(str(reason), 300).rstrip("."))
        self.then, self.passing = then, passing


class Objects(Protocol):
    """Whole objects by name, a path below the store's address. Any call may raise `ObjectStoreError`.

    `exclusive` says whether the medium itself lets one of several that create the same name succeed.
    """

    exclusive: bool

    def put(self, name: str, content: bytes) -> None:
        """Write an object: whole or not at all, over what was there."""
        ...

    def create(self, name: str, content: bytes) -> bool:
        """Write an object that is not there yet; False where it is."""
        ...

    def get(self, name: str) -> bytes | None:
        """The content; None where there is no such object."""
        ...

    def upload(self, name: str, path: Path) -> None:
        """Write an object from a file."""
        ...

    def download(self, name: str, path: Path) -> bool:
        """Write a file from an object; False where there is none."""
        ...

    def names(self, folder: str) -> dict[str, int]:
        """Bytes by the name of each object below a folder, at any depth."""
        ...

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects; what is gone already is fine."""
        ...


def told(by: Callable[[Exception], ObjectStoreError | None]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: what a call of a medium raises is told as `ObjectStoreError`.

    Args:
        by: the words for an error; None for one that is not the medium's, which goes on as it is.
    """

    def decorated(call: Callable[P, R]) -> Callable[P, R]:
        @wraps(call)
        def wrapped(*given: P.args, **named: P.kwargs) -> R:
            try:
                return call(*given, **named)
            except ObjectStoreError:
                raise
            except Exception as error:  # each medium has errors of its own
                trouble = by(error)
                if trouble is None:
                    raise
                raise trouble from error

        return wrapped

    return decorated


def create_maybe(objects: Objects, name: str, content: bytes) -> bool:
    """`create` where the medium only writes: of several the last has it, if all have written by then."""
    if objects.get(name) is not None:
        return False
    objects.put(name, content)
    time.sleep(SETTLE)
    return objects.get(name) == content


def scheme(uri: str) -> str:
    """`s3` of `s3://bucket/prefix`."""
    return uri.split("://", 1)[0].lower()


def with_checksum(content: bytes) -> bytes:
    """Content that shows by its end whether it is whole."""
    return content + SEAL + hashlib.sha256(content).hexdigest().encode()


def unsealed(content: bytes) -> bytes:
    """What `with_checksum` took.

    Raises:
        ValueError: it was cut short or changed.
    """
    body, mark, digest = content.rpartition(SEAL)
    if not mark or hashlib.sha256(body).hexdigest().encode() != digest:
        raise ValueError("its checksum is another: it was cut short or changed")
    return body
