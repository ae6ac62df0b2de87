"""Files of an unfinished unit in a shared store, from which any node can continue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from mtlv.errors import TrackingError
from mtlv.store.checkpoints import ENDING, KEPT, Checkpoints
from mtlv.store.remote.client import Listing, ObjectClient, write_whole
from mtlv.store.remote.objects import ObjectStoreError, with_checksum
from mtlv.store.reruns import RerunCounter
from mtlv.store.timestamps import EpochTimestamps

CHECKPOINTS, LEDGER, ATTEMPTS = "checkpoints", "ledger", "attempts"


class SharedCheckpoints(Checkpoints):
    """Checkpoints from which any node can continue; the thread that writes them also uploads them.

    A failed upload does not stop training, because the finished unit may be uploaded later; `warn` is called
    in the training thread.
    """

    def __init__(self, folder: Path, client: ObjectClient, key: str, warn: Callable[[str], None]) -> None:
        super().__init__(folder)
        self._client, self._at, self._warn = client, f"{CHECKPOINTS}/{key}", warn
        self._trouble: ObjectStoreError | None = None
        self._told = False

    def newest(self, warn: Callable[[str], None]) -> dict[str, Any] | None:
        """Return the newest valid state; a newer remote checkpoint is downloaded first."""
        names = (name for name in self._client.names(self._at) if name.endswith(ENDING))
        for name in sorted((Path(name).name for name in names), reverse=True):
            here = sorted(path.name for path in self.folder.glob(f"*{ENDING}"))
            if not here or name > here[-1]:
                self._client.download(f"{self._at}/{name}", self.folder / name)
            found = super().newest(warn)
            if found is not None:
                return found
        return super().newest(warn)

    def wait(self) -> None:
        super().wait()
        trouble, self._trouble = self._trouble, None
        if trouble is not None and not self._told:
            self._told = True
            self._warn(
                f"checkpoints stay in {self.folder} on this machine, because {self._client.address} "
                f"does not accept them: {trouble}; {trouble.then}"
            )

    def remove(self) -> None:
        super().remove()
        with suppress(TrackingError):  # `mtlv clean` finds the rest
            self._client.delete(self._client.names(self._at))

    def _write(self, step: int, state: Mapping[str, Any]) -> None:
        super()._write(step, state)
        path = self.folder / f"{step:09d}{ENDING}"
        objects = self._client.objects
        try:
            objects.upload(f"{self._at}/{path.name}", path)
            objects.delete(sorted(objects.names(self._at))[:-KEPT])
        except ObjectStoreError as trouble:
            self._trouble = trouble


class SharedEpochTimestamps(EpochTimestamps):
    """First timestamps shared by all nodes: downloaded before a unit's first epoch, uploaded after each."""

    def __init__(self, folder: Path, client: ObjectClient) -> None:
        super().__init__(folder)
        self._client = client
        self._brought: set[str] = set()

    def timestamp_ms(self, key: str, epoch: int, *, warn: Callable[[str], None] = lambda _: None) -> int:
        self._bring(key)
        before = self._content(key)
        found = super().timestamp_ms(key, epoch, warn=warn)
        content = self._content(key)
        if content != before:
            with suppress(ObjectStoreError):  # the next epoch uploads both
                self._client.objects.put(_ledger(key), with_checksum(content))
        return found

    def forget(self, key: str) -> None:
        super().forget(key)
        self._brought.discard(key)
        self._client.delete([_ledger(key)])

    def _bring(self, key: str) -> None:
        if key in self._brought:
            return
        self._brought.add(key)
        content = self._client.get(_ledger(key))
        if content is not None:
            write_whole(self._path(key), content)

    def _content(self, key: str) -> bytes:
        path = self._path(key)
        return path.read_bytes() if path.is_file() else b""


class SharedRerunCounter(RerunCounter):
    """Counts shared by all nodes."""

    def __init__(self, folder: Path, client: ObjectClient) -> None:
        super().__init__(folder)
        self._client = client
        self._listing = Listing(lambda: (Path(name).name for name in client.names(ATTEMPTS)))

    def count(self, uid: str, warn: Callable[[str], None] = lambda _: None) -> int:
        content = self._client.get(f"{ATTEMPTS}/{uid}") if uid in self._listing else None
        try:
            return int(content or 0)
        except ValueError as error:
            raise self._client.broken(f"{ATTEMPTS}/{uid}", "it contains no number") from error

    def more(self, uid: str, warn: Callable[[str], None] = lambda _: None) -> None:
        self._client.put(f"{ATTEMPTS}/{uid}", str(self.count(uid) + 1).encode())
        self._listing.add(uid)


def _ledger(key: str) -> str:
    return f"{LEDGER}/{key}.jsonl"
