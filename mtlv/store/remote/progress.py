"""Progress of suites for other machines: copies the local status files to the store's address."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Self

from mtlv.errors import TrackingError
from mtlv.foreign import parse_json
from mtlv.store.progress import FOLDER, KEPT
from mtlv.store.remote.client import ObjectClient, write_whole
from mtlv.store.remote.objects import ObjectStoreError, with_checksum

PAUSE = 10.0  # seconds between two copies
PATIENCE = 15.0  # maximum seconds for the last copy
ELSEWHERE = "status-elsewhere"  # local folder for the files of other machines


class StatusUploader:
    """Copies this machine's status files periodically in a thread, and once more at the end.

    If the address is unreachable, only the status is outdated.
    """

    def __init__(self, root: Path, client: ObjectClient) -> None:
        self._folder, self._client = root / FOLDER, client
        self._told: dict[Path, bytes] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._copy_all, name="status", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(PATIENCE)

    def _copy_all(self) -> None:
        over = False
        while not over:
            over = self._over.wait(PAUSE)
            with suppress(ObjectStoreError):
                self._copy()
        with suppress(ObjectStoreError):
            self._forget_old()

    def _copy(self) -> None:
        for path in self._folder.glob("*.json"):
            try:
                content = path.read_bytes()
                host = parse_json(content)["host"]
            except (OSError, ValueError, KeyError, TypeError):
                continue
            if host == socket.gethostname() and self._told.get(path) != content:
                self._client.objects.put(f"{FOLDER}/{_own()}{path.name}", with_checksum(content))
                self._told[path] = content

    def _forget_old(self) -> None:
        """Delete remote files that no longer exist locally, once there are many."""
        names = [name for name in self._client.objects.names(FOLDER) if Path(name).name.startswith(_own())]
        here = {_own() + path.name for path in self._folder.glob("*.json")}
        if len(names) > KEPT:
            self._client.objects.delete(name for name in names if Path(name).name not in here)


def bring_status(root: Path, client: ObjectClient) -> Path:
    """Download the status files of other machines, and return their folder.

    Raises:
        TrackingError: they cannot be read.
    """
    folder = root / ELSEWHERE
    here = {_own() + path.name for path in (root / FOLDER).glob("*.json")}
    names = [name for name in client.names(FOLDER) if Path(name).name not in here]
    for name in names:
        with suppress(TrackingError):  # incomplete files are not shown
            content = client.get(name)
            if content is not None:
                write_whole(folder / Path(name).name, content)
    gone = {Path(name).name for name in names}
    for path in folder.glob("*.json"):
        if path.name not in gone:
            path.unlink(missing_ok=True)
    return folder


def _own() -> str:
    """Return the prefix of this machine's files at the address."""
    return f"{socket.gethostname()}@"
