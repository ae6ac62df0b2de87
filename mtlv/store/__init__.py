"""Finished and unfinished units by content key, in a folder; `remote` has those at an address."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mtlv.store.local import Store
    from mtlv.store.location import StoreLocation


def open_store(place: StoreLocation) -> Store:
    """The store at a place, proven to be writable.

    Raises:
        TrackingError: it cannot be reached or written.
        ConfigError: what its address needs is not installed.
    """
    if not place.shared:
        from mtlv.store.local import Store

        return Store(Path(place.uri))
    from mtlv.store.remote.store import open_shared

    return open_shared(place)
