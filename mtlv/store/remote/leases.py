"""Leases of units among nodes that share an object store; they are renewed, and expire.

An object `locks/KEY/NUMBER.json` is a lease. To acquire one, a process creates the number above the
highest, whose lease has expired, and then checks that there is no other one. If the medium supports
exclusive creation, at most one process has the lease, even if clocks differ and listings are outdated.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mtlv.foreign import parse_json
from mtlv.processes import born
from mtlv.store.remote.client import ObjectClient
from mtlv.store.remote.objects import ObjectStoreError

FOLDER = "locks"
TTL = 60.0  # seconds without renewal after which a lease expires
AGAIN = 5.0  # seconds for which a lease of another process is not checked again


@dataclass
class _Mine:
    """A lease of this process."""

    name: str
    content: dict[str, Any]
    lock: threading.Lock = field(default_factory=threading.Lock)
    over: bool = False


class Leases:
    """The leases of a store.

    The expiry is determined only with the local clock: the lease was seen unchanged for this time. A lease of
    an ended process of the same machine expires immediately.
    """

    def __init__(self, client: ObjectClient, ttl: float = TTL) -> None:
        self._client, self._objects, self._ttl = client, client.objects, ttl
        self._seen: dict[str, tuple[bytes, float]] = {}
        self._busy: dict[str, float] = {}
        self._mine: dict[str, _Mine] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    @contextmanager
    def held(self, key: str) -> Iterator[bool]:
        """Acquire the lease until the block ends; yield whether it was free.

        Raises:
            TrackingError: it cannot be accessed.
        """
        what = f"cannot be locked: `{FOLDER}/{key}`"
        mine = self._client.ask(what, lambda: self._take(key))
        try:
            yield mine is not None
        finally:
            if mine is not None:
                self._give_back(key, mine)

    def holder(self, key: str) -> str | None:
        """Return a description of the holder, or None if the lease is free.

        Raises:
            TrackingError: it cannot be accessed.
        """
        live = self._client.ask(f"cannot be read: `{FOLDER}/{key}`", lambda: self._live(self._there(key)))
        return str(_read(live[max(live)]).get("holder", "another process")) if live else None

    def _take(self, key: str) -> _Mine | None:
        if time.monotonic() - self._busy.get(key, -AGAIN) < min(AGAIN, self._ttl / 4):
            return None
        others = self._there(key)
        if self._live(others):
            self._busy[key] = time.monotonic()
            return None
        mine = _Mine(f"{FOLDER}/{key}/{_next(others):06d}.json", _who())
        if not self._objects.create(mine.name, json.dumps(mine.content).encode()):
            return None
        if set(self._objects.names(f"{FOLDER}/{key}")) - {mine.name, *others}:
            self._objects.delete([mine.name])  # another process tries too: neither or the other gets it
            return None
        self._objects.delete(others)
        with self._changed:
            self._mine[key] = mine
            if self._thread is None:
                self._thread = threading.Thread(target=self._renew_all, name="leases", daemon=True)
                self._thread.start()
        return mine

    def _give_back(self, key: str, mine: _Mine) -> None:
        with self._changed:
            self._mine.pop(key, None)
            self._changed.notify_all()
        with mine.lock, suppress(ObjectStoreError):  # a lease that cannot be deleted expires
            over, mine.over = mine.over, True
            if not over:
                self._objects.delete([mine.name])

    def _there(self, key: str) -> dict[str, bytes]:
        found = {name: self._objects.get(name) for name in self._objects.names(f"{FOLDER}/{key}")}
        return {name: content for name, content in found.items() if content is not None}

    def _live(self, found: Mapping[str, bytes]) -> dict[str, bytes]:
        return {name: content for name, content in found.items() if not self._ran_out(name, content)}

    def _ran_out(self, name: str, content: bytes) -> bool:
        now = time.monotonic()
        before, since = self._seen.get(name, (b"", now))
        if before != content:
            self._seen[name] = content, now
            since = now
        return now - since > self._ttl or _dead(content)

    def _renew_all(self) -> None:
        """Renew leases until the process ends; sleep while there are none."""
        while True:
            with self._changed:
                while not self._mine:
                    self._changed.wait()
                due = list(self._mine.values())
            for mine in due:
                with suppress(ObjectStoreError):  # retry next time
                    self._renew(mine)
            time.sleep(self._ttl / 4)

    def _renew(self, mine: _Mine) -> None:
        with mine.lock:
            if mine.over:
                return
            if self._objects.get(mine.name) is None:
                mine.over = True  # it was not renewed in time: another process has it
                return
            mine.content["count"] += 1
            self._objects.put(mine.name, json.dumps(mine.content).encode())


def _next(found: Mapping[str, bytes]) -> int:
    numbers = [Path(name).stem for name in found]
    return 1 + max((int(number) for number in numbers if number.isdecimal()), default=0)


def _who() -> dict[str, Any]:
    return {
        "holder": f"process {os.getpid()} on {socket.gethostname()}",
        "machine": _machine(),
        "pid": os.getpid(),
        "born": born(os.getpid()),
        "token": uuid.uuid4().hex,
        "count": 0,
    }


def _machine() -> str:
    """Return an id shared by processes that see each other's pids; empty if not available."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return ""


def _dead(content: bytes) -> bool:
    """Whether the holder is a process of this machine that has ended."""
    found = _read(content)
    here, pid = _machine(), found.get("pid")
    if not here or found.get("machine") != here or not isinstance(pid, int):
        return False
    return born(pid) != found.get("born")


def _read(content: bytes) -> dict[str, Any]:
    try:
        found = parse_json(content)
    except ValueError:  # incomplete, if writes are not atomic
        return {}
    return found if isinstance(found, dict) else {}
