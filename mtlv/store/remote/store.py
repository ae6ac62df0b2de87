"""A store at an address that all nodes reach: everything is read from a local folder, and fetched into it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from mtlv.disk import flush, remove
from mtlv.errors import DamagedError, TrackingError
from mtlv.store.local import Store, UnitRecord, silent
from mtlv.store.location import StoreLocation
from mtlv.store.remote.client import Listing, ObjectClient, cannot_keep, write_whole
from mtlv.store.remote.eviction import make_room
from mtlv.store.remote.leases import FOLDER as LOCKS
from mtlv.store.remote.leases import Leases
from mtlv.store.remote.manifests import FILES, Manifest, Manifests
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

KEPT_MANIFEST = ".manifest.json"  # beside a unit's files: which of several trainings they are of
UNPUBLISHED = "unpublished"  # folder of marks, one for each unit that is finished here and not handed over
BEST_EFFORT = (
    "no exclusive creation there, so locks are best effort: two machines may train the same unit, of which "
    "one result is kept, whole"
)
WEIGHT_FILES = ".safetensors"


class SharedStore(Store):
    """Finished units, checkpoints, splits, first timestamps at an address; tokens, encoders on this node.

    The address says what is there; the folder on this node holds copies, and what was not handed over yet.
    A copy gets its name when it is whole, has the checksum that its manifest says, and is on the disk. What
    is damaged here later is found as in a folder, and fetched again.

    Args:
        place: the address, and this node's folder for it.
        client: what is there.

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
                then="set `store.cache` to a folder of this machine that can be",
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
        except DamagedError:  # found where the unit is read
            return True
        return manifest is not None and WEIGHTS in manifest.files

    def missing(self, key: str) -> str:
        return super().missing(key) if self._mark(key).exists() else ""  # else it is fetched

    def set_aside(self, key: str) -> str:
        if self._mark(key).exists():
            self._mark(key).unlink()
            return super().set_aside(key)
        remove(self.units / key)
        self._manifests.set_aside(key)
        self._done.discard(key)
        return (
            f"it is trained again, and its files stay in {self.client.at(f'{FILES}/{key}')} for `mtlv clean`"
        )

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
            warn(f"this machine's copy of the finished unit was damaged ({why}); it was fetched again")
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
        """As of a folder; then it is handed over to the address.

        Raises:
            TrackingError: it cannot be handed over; it stays in the folder, and the next run tries again.
        """
        remove(self.units / record.key)  # of a training before the address forgot it
        write_whole(self._mark(record.key), b"")
        super().save(record, weights)
        try:
            self._publish(record.key)
        except TrackingError as error:
            raise TrackingError(
                f"a finished unit stays in {self.units / record.key}: {error}",
                then="mend that and run the same command on this machine again: it is handed over first",
            ) from error

    def forget(self, key: str) -> None:
        super().forget(key)
        self._mark(key).unlink(missing_ok=True)
        self._manifests.forget(key)
        self._done.discard(key)
        self.client.delete(self.client.names(f"{CHECKPOINTS}/{key}"))

    def manifest(self, key: str) -> Manifest | None:
        """What a finished unit consists of, as it is now."""
        return self._manifests.look(key)

    def where(self, key: str) -> str:
        return self.client.at(f"done/{key}.json")

    def catch_up(self) -> Sequence[str]:
        """Hand over what an earlier run of this node could not.

        Raises:
            TrackingError: it cannot be done now either.
        """
        keys = [key for key in self._waiting() if self.here(key)]
        for key in keys:
            self._publish(key)
        lines = [] if self.client.objects.exclusive else [f"{self.client.address}: {BEST_EFFORT}"]
        if keys:
            lines.append(f"finished units of an earlier run, handed over to the store now: {len(keys)}")
        return lines

    def _publish(self, key: str) -> None:
        folder = self.units / key
        manifest, ours = self._manifests.publish(key, folder)
        if ours:
            write_whole(folder / KEPT_MANIFEST, manifest.as_json())
        else:
            remove(folder)  # another node was first, and all use its files
        self._done.add(key)
        self._mark(key).unlink(missing_ok=True)

    def _waiting(self) -> list[str]:
        """Keys of units that were not handed over."""
        return sorted(path.name for path in (self.root / UNPUBLISHED).glob("[!.]*"))

    def _only_here(self, key: str) -> bool:
        """Whether a unit is finished and was not handed over."""
        return self._mark(key).exists() and self.here(key)

    def _mark(self, key: str) -> Path:
        return self.root / UNPUBLISHED / key

    # ---- Fetching ------------------------------------------------------------------------------------------

    def _bring_scores(self, key: str) -> None:
        """Everything of a unit but its weights appears in the folder, whole or not at all."""
        manifest = self._manifest(key)
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
        """Another file of a unit, from the same training as those that are there; whether it is there now."""
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
        """Whether the files that are here are those of a manifest."""
        try:
            return Manifest.of((self.units / key / KEPT_MANIFEST).read_bytes()) == manifest
        except (OSError, ValueError):
            return False

    def _manifest(self, key: str) -> Manifest:
        found = self._manifests.of(key)
        if found is None:
            raise self.client.broken(f"done/{key}.json", "it is gone")
        return found

    # ---- Units that are not finished -----------------------------------------------------------------------

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
        """Whether nobody worked on a unit, on any node."""
        with super().held(key) as here:
            if not here:
                yield False
                return
            with self.leases.held(key) as mine:
                if mine:
                    self._look(key)
                yield mine

    def _look(self, key: str) -> None:
        """Other nodes may have ended a unit since the last listing, or set it aside."""
        try:
            there = self._manifests.look(key) is not None
        except DamagedError:  # found where the unit is read
            there = True
        (self._done.add if there else self._done.discard)(key)

    def holder(self, key: str) -> str:
        return self.leases.holder(key) or super().holder(key)

    def busy(self, key: str) -> bool:
        return super().busy(key) or (key in self._locked and self.leases.holder(key) is not None)

    def agreed(self, path: Path, make: Callable[[], None]) -> None:
        """A file that all nodes read alike: the first that is handed over counts."""
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


def open_shared(place: StoreLocation) -> SharedStore:
    """The store at an address.

    Raises:
        TrackingError: it cannot be reached or written.
        ConfigError: what its address needs is not installed.
    """
    client = ObjectClient(place.uri)
    client.prove()
    return SharedStore(place, client)


def _second(names: Iterable[str]) -> set[str]:
    """`KEY` of each `folder/KEY/...`."""
    return {name.split("/")[1] for name in names}
