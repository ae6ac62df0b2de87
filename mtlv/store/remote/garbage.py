"""Objects at a shared store's address that can be deleted."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mtlv.store.remote.client import ObjectClient
from mtlv.store.remote.manifests import FILES, name_of
from mtlv.store.remote.store import SharedStore
from mtlv.store.remote.unfinished import CHECKPOINTS


@dataclass(frozen=True)
class RemoteLeftover:
    """Objects that nothing needs."""

    path: str  # address of their folder
    why: str
    bytes: int
    names: tuple[str, ...] = field(repr=False)  # names of the objects, in the order of deletion
    client: ObjectClient = field(repr=False)

    def delete(self) -> None:
        """Delete them; missing objects are ignored."""
        for name in self.names[:1]:  # a manifest is deleted before its files
            self.client.delete([name])
        self.client.delete(self.names[1:])


def far_leftovers(store: SharedStore, needed: Collection[str] | None = None) -> list[RemoteLeftover]:
    """Return everything at the address that can be deleted, except for units that a process works on and
    those of the keys `needed`; None keeps all.

    Raises:
        TrackingError: the address cannot be read.
    """
    units, checkpoints = (_by_key(store.client.names(kind)) for kind in (FILES, CHECKPOINTS))
    found: list[RemoteLeftover] = []
    for key in sorted(units.keys() | checkpoints.keys()):
        unit, steps = units.get(key, {}), checkpoints.get(key, {})
        if (parts := list(_leftover(store, key, unit, steps, needed))) and not store.busy(key):
            found += parts
    return found


def _leftover(
    store: SharedStore,
    key: str,
    unit: Mapping[str, int],
    steps: Mapping[str, int],
    needed: Collection[str] | None,
) -> Iterator[RemoteLeftover]:
    done = store.has(key)
    if needed is not None and key not in needed:
        if done:
            names = {name_of(key): 0, **unit}
            yield _all(store, f"{FILES}/{key}", "a finished unit that none of the configs needs", names)
        if steps:
            why = "checkpoints of a unit that none of the configs needs"
            yield _all(store, f"{CHECKPOINTS}/{key}", why, steps)
        return
    if done and steps:
        yield _all(store, f"{CHECKPOINTS}/{key}", "checkpoints of a finished unit", steps)
    folders = {str(Path(name).parent) for name in unit}
    if done and len(folders) == 1:
        return
    manifest = store.manifest(key)
    for folder in sorted(folders - ({manifest.at} if manifest is not None else set())):
        names = {name: size for name, size in unit.items() if str(Path(name).parent) == folder}
        yield _all(store, folder, "an incomplete unit: its process ended while uploading it", names)


def _all(store: SharedStore, folder: str, why: str, names: Mapping[str, int]) -> RemoteLeftover:
    return RemoteLeftover(store.client.at(folder), why, sum(names.values()), tuple(names), store.client)


def _by_key(names: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Group names `folder/KEY/...` by key."""
    found: dict[str, dict[str, int]] = {}
    for name, size in names.items():
        found.setdefault(name.split("/")[1], {})[name] = size
    return found
