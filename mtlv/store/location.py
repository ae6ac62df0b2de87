"""Location of a store: a local folder, or an address reachable from all nodes, with a folder on each."""

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

    uri: str
    cache: str | None
    cache_gb: float


@dataclass(frozen=True)
class StoreLocation:
    """Location of a store; small, so that workers can open the same store."""

    uri: str  # a folder, or an address such as `s3://bucket/prefix`
    # for an address, the folder on this node for its local folder; None is the user's
    cache: str | None = None
    cache_gb: float = CACHE_GB  # for an address, at most so many gigabytes of downloaded files on this node

    @property
    def shared(self) -> bool:
        """Whether it is an address, not a folder."""
        return ADDRESS.match(self.uri) is not None

    @property
    def folder(self) -> Path:
        """The store's folder on this node, which may not exist."""
        if not self.shared:
            return Path(self.uri)
        root = Path.home() / CACHE
        if self.cache is not None:  # it may have variables that differ between nodes, such as `$TMPDIR`
            root = Path(os.path.expandvars(os.path.expanduser(self.cache)))
        address = self.uri.rstrip("/")
        name = re.sub(r"[^A-Za-z0-9]+", "-", masked(address))[:60].strip("-")
        return root / f"{name}-{hashlib.sha256(address.encode()).hexdigest()[:12]}"

    @property
    def absolute(self) -> StoreLocation:
        """The same location with an absolute path."""
        return self if self.shared else replace(self, uri=str(self.folder.absolute()))

    @property
    def words(self) -> str:
        """Description for users, without a password."""
        if not self.shared:
            return f"`{self.uri}`"
        return f"`{masked(self.uri)}`, with the local folder `{self.folder}`"


def location_of(section: StoreOptions) -> StoreLocation:
    """Return the location from the `store` section of settings."""
    return StoreLocation(section.uri, section.cache, section.cache_gb)
