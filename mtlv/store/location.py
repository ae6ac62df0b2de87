"""Where a store is: a folder, or an address that all nodes reach, with a folder on each."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from mtlv.errors import masked

ADDRESS = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://")
CACHE = Path(".cache", "mtlv", "stores")  # in the user's home
CACHE_GB = 20.0


class StoreOptions(Protocol):
    """The `store` section of settings."""

    @property
    def uri(self) -> str: ...

    @property
    def cache(self) -> str | None: ...

    @property
    def cache_gb(self) -> float: ...


@dataclass(frozen=True)
class StoreLocation:
    """Where a store is; small, so that a worker opens the same store by it.

    Args:
        uri: a folder, or an address such as `s3://bucket/prefix`.
        cache: of an address, the folder on this node in which its own lies; None is the user's cache.
        cache_gb: of an address, how much of what can be fetched again is kept on this node.
    """

    uri: str
    cache: str | None = None
    cache_gb: float = CACHE_GB

    @property
    def shared(self) -> bool:
        """Whether it is an address, and no folder."""
        return ADDRESS.match(self.uri) is not None

    @property
    def folder(self) -> Path:
        """The store's folder on this node. Nothing is made."""
        if not self.shared:
            return Path(self.uri)
        root = Path.home() / CACHE if self.cache is None else Path(_filled(self.cache))
        address = self.uri.rstrip("/")
        name = re.sub(r"[^A-Za-z0-9]+", "-", masked(address))[:60].strip("-")
        return root / f"{name}-{hashlib.sha256(address.encode()).hexdigest()[:12]}"

    @property
    def absolute(self) -> StoreLocation:
        """The same, wherever a process works."""
        return self if self.shared else replace(self, uri=str(self.folder.absolute()))

    @property
    def words(self) -> str:
        """For a person, without a password."""
        if not self.shared:
            return f"`{self.uri}`"
        return f"`{masked(self.uri)}`, by way of `{self.folder}` on this machine"


def location_of(section: StoreOptions) -> StoreLocation:
    """The place that the `store` section of settings names."""
    return StoreLocation(section.uri, section.cache, section.cache_gb)


def _filled(path: str) -> str:
    """`~` and variables such as `$TMPDIR`, which nodes have of their own."""
    return os.path.expandvars(os.path.expanduser(path))
