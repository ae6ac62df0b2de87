"""A store at an address reachable from all nodes; all files are read from a local folder after a download."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from mtlv.disk import flush, remove
from mtlv.errors import DamagedError, TrackingError
from mtlv.store.local import Store, silent
from mtlv.store.location import StoreLocation
from mtlv.store.records import UnitRecord
from mtlv.store.remote.client import Listing, ObjectClient, cannot_keep, write_whole
from mtlv.store.remote.eviction import make_room
from mtlv.store.remote.leases import FOLDER as LOCKS
from mtlv.store.remote.leases import Leases
from mtlv.store.remote.manifests import FILES, Manifest, Manifests, name_of
from mtlv.store.remote.progress import StatusUploader
from mtlv.store.remote.unfinished import (
    CHECKPOINTS,
    SharedCheckpoints,
    SharedEpochTimestamps,
    SharedRerunCounter,
)
from mtlv.store.unit_files import WEIGHTS

if TYPE_CHECKING:
    import torch

    from mtlv.store.checkpoints import Checkpoints

T = TypeVar("T")

KEPT_MANIFEST = ".manifest.json"  # in a unit's folder: identifies the training of its files
UNPUBLISHED = "unpublished"  # folder of markers, one per unit that is finished here but not uploaded yet
BEST_EFFORT = (
    "no exclusive creation there, so locks are best effort: two machines may train the same unit; only "
    "one complete result is kept"
)
WEIGHT_FILES = ".safetensors"


class SharedStore(Store):
    """Finished units, checkpoints, splits and first timestamps at an address; tokens and encoders locally.

    The address defines what exists; the local folder contains copies, and what was not uploaded yet.
    A copy gets its name when it is complete, matches the checksum of its manifest, and is flushed to disk.
    Later damage is detected as in a local store, and the file is downloaded again.

    Raises:
        TrackingError: the address or the folder cannot be written.
    """

    def __init__(self, place: StoreLocation, client: ObjectClient) -> None:
        folder = place.folder
        try:
            super().__init__(folder)
        except TrackingError as error:
            raise TrackingError(
                f"`store.cache`: {folder} cannot be written",
                got=error,
                then="set `store.cache` to a writable folder of this machine",
            ) from error
        self.place, self.client = place, client
        self.timestamps = SharedEpochTimestamps(folder / "ledger", client)
        self.reruns = SharedRerunCounter(folder / "attempts", client)
        self.leases = Leases(client)
        self._manifests = Manifests(client)
        self._done = Listing(self._manifests.keys)
        self._locked = Listing(lambda: _second(client.names(LOCKS)))
        self._begun = Listing(lambda: _second(client.names(CHECKPOINTS)))
        self._room = make_room(folder, int(place.cache_gb * 1e9), self._waiting)

    # ---- Finished units ------------------------------------------------------------------------------------

    def has(self, key: str) -> bool:
        return key in self._done or self._only_here(key)

    def has_weights(self, key: str) -> bool:
        if self._only_here(key):
            return super().has_weights(key)
        try:
            manifest = self._manifests.of(key)
        except DamagedError:  # detected when the unit is read
            return True
        return manifest is not None and WEIGHTS in manifest.files

    def missing(self, key: str) -> str:
        return super().missing(key) if self._mark(key).exists() else ""  # otherwise it is downloaded

    def set_aside(self, key: str) -> str:
        if self._mark(key).exists():
            self._mark(key).unlink()
            return super().set_aside(key)
        remove(self.units / key)
        self._manifests.set_aside(key)
        self._done.discard(key)
        return f"it is trained again; its files stay in {self.client.at(f'{FILES}/{key}')} for `mtlv clean`"

    def whole(self, key: str, read: Callable[[], T], warn: Callable[[str], None]) -> T | None:
        try:
            return read()
        except DamagedError as error:
            why = error.why
        if self._only_here(key):
            return super().whole(key, read, warn)
        remove(self.units / key)
        found = super().whole(key, read, warn)
        if found is not None:
            warn(f"this machine's copy of the finished unit was damaged ({why}); it was downloaded again")
        else:
            self._done.discard(key)  # another node trains it again
        return found

    def _kept(self, key: str, names: Collection[str]) -> bool:
        if not self._only_here(key) and not all(self._bring(key, name) for name in names):
            return False
        return super()._kept(key, names)

    def load(self, key: str) -> UnitRecord:
        if not self.here(key):
            self._bring_scores(key)
        return super().load(key)

    def save(self, record: UnitRecord, weights: Mapping[int, Mapping[str, torch.Tensor]] | None) -> None:
        """Save a unit as in a local store, and upload it.

        Raises:
            TrackingError: it cannot be uploaded; it stays in the folder, and the next run tries again.
        """
        remove(self.units / record.key)  # left by a training before the address forgot it
        write_whole(self._mark(record.key), b"")
        super().save(record, weights)
        try:
            self._publish(record.key)
        except TrackingError as error:
            raise TrackingError(
                f"a finished unit stays in {self.units / record.key}: {error}",
                then="fix this and run the same command on this machine again, which first uploads it",
            ) from error

    def forget(self, key: str) -> None:
        super().forget(key)
        self._mark(key).unlink(missing_ok=True)
        self._manifests.forget(key)
        self._done.discard(key)
        self.client.delete(self.client.names(f"{CHECKPOINTS}/{key}"))

    def manifest(self, key: str) -> Manifest | None:
        """Return the current manifest of a finished unit."""
        return self._manifests.look(key)

    def where(self, key: str) -> str:
        return self.client.at(name_of(key))

    def catch_up(self) -> Sequence[str]:
        """Upload what an earlier run of this node could not upload.

        Raises:
            TrackingError: it fails again.
        """
        keys = [key for key in self._waiting() if self.here(key)]
        for key in keys:
            self._publish(key)
        lines = [] if self.client.objects.exclusive else [f"{self.client.address}: {BEST_EFFORT}"]
        if keys:
            lines.append(f"finished units of an earlier run, uploaded to the store now: {len(keys)}")
        return lines

    def _publish(self, key: str) -> None:
        folder = self.units / key
        manifest, ours = self._manifests.publish(key, folder)
        if ours:
            write_whole(folder / KEPT_MANIFEST, manifest.as_json())
        else:
            remove(folder)  # another node was first; its files are used
        self._done.add(key)
        self._mark(key).unlink(missing_ok=True)

    def _waiting(self) -> list[str]:
        """Return the keys of units that were not uploaded."""
        return sorted(path.name for path in (self.root / UNPUBLISHED).glob("[!.]*"))

    def _only_here(self, key: str) -> bool:
        """Whether a unit is finished but not uploaded."""
        return self._mark(key).exists() and self.here(key)

    def _mark(self, key: str) -> Path:
        return self.root / UNPUBLISHED / key

    # ---- Downloads -----------------------------------------------------------------------------------------

    def _bring_scores(self, key: str) -> None:
        """Download all files of a unit except its weights, atomically."""
        manifest = self._manifests.of(key)
        if manifest is None:
            raise self.client.broken(name_of(key), "it does not exist any more")
        try:
            part = Path(tempfile.mkdtemp(dir=self.units, prefix=f".{key}-"))
        except OSError as error:
            raise cannot_keep(self.units, error) from error
        try:
            for name in manifest.files:
                if not name.endswith(WEIGHT_FILES):
                    self._manifests.bring(key, manifest, name, part)
            write_whole(part / KEPT_MANIFEST, manifest.as_json())
            part.chmod(0o755)
            flush(part)
            remove(self.units / key)
            with suppress(OSError):  # another process of this node was faster
                part.replace(self.units / key)
        finally:
            shutil.rmtree(part, ignore_errors=True)

    def _bring(self, key: str, name: str) -> bool:
        """Download another file of a unit, from the same training; return whether it exists now."""
        path = self.units / key / name
        manifest = self._manifests.of(key)
        if manifest is None or name not in manifest.files:
            return False
        if not self._is_of(key, manifest):
            self._bring_scores(key)
        if not path.is_file():
            self._manifests.bring(key, manifest, name, path.parent)
        return True

    def _is_of(self, key: str, manifest: Manifest) -> bool:
        """Whether the local files are those of a manifest."""
        try:
            return Manifest.of((self.units / key / KEPT_MANIFEST).read_bytes()) == manifest
        except (OSError, ValueError):
            return False

    # ---- Unfinished units ----------------------------------------------------------------------------------

    def checkpoints(self, key: str, warn: Callable[[str], None] = silent) -> Checkpoints:
        return SharedCheckpoints(self.root / "checkpoints" / key, self.client, key, warn)

    def last_step(self, key: str) -> int | None:
        here = super().last_step(key)
        if key not in self._begun:
            return here
        names = self.client.names(f"{CHECKPOINTS}/{key}")
        there = max((int(Path(name).stem) for name in names), default=None)
        return max((step for step in (here, there) if step is not None), default=None)

    @contextmanager
    def held(self, key: str) -> Iterator[bool]:
        """Lock a unit on all nodes; yield whether it was free."""
        with super().held(key) as here:
            if not here:
                yield False
                return
            with self.leases.held(key) as mine:
                if mine:
                    self._look(key)
                yield mine

    def _look(self, key: str) -> None:
        """Update the state of a unit, which other nodes may have finished or moved aside meanwhile."""
        try:
            there = self._manifests.look(key) is not None
        except DamagedError:  # detected when the unit is read
            there = True
        (self._done.add if there else self._done.discard)(key)

    def holder(self, key: str) -> str:
        return self.leases.holder(key) or super().holder(key)

    def busy(self, key: str) -> bool:
        return super().busy(key) or (key in self._locked and self.leases.holder(key) is not None)

    def agreed(self, path: Path, make: Callable[[], None]) -> None:
        """Ensure that a file is the same on all nodes: the first upload counts."""
        name = str(path.relative_to(self.root))
        content = self.client.get(name)
        if content is None:
            if not path.exists():
                make()
            if self.client.create(name, path.read_bytes()):
                return
            content = self.client.get(name)
        if content is not None:
            write_whole(path, content)

    def publishing_status(self) -> AbstractContextManager[object]:
        return StatusUploader(self.root, self.client)


def _second(names: Iterable[str]) -> set[str]:
    """Return `KEY` of each `folder/KEY/...`."""
    return {name.split("/")[1] for name in names}
