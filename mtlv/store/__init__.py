"""Finished and unfinished units by content key, in a local folder, or at an address (`remote`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mtlv.store.local import Store
    from mtlv.store.location import StoreLocation


def open_store(place: StoreLocation) -> Store:
    """Open the store at a location, after checking that it is writable.

    Raises:
        TrackingError: it cannot be reached or written.
        ConfigError: a package for its address is not installed.
    """
    if not place.shared:
        from mtlv.store.local import Store

        return Store(Path(place.uri))
    from mtlv.store.remote.client import ObjectClient
    from mtlv.store.remote.store import SharedStore

    client = ObjectClient(place.uri)
    client.prove()
    return SharedStore(place, client)
