"""Progress of a suite in a small file of the store, which `mtlv status` can read at any time."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from mtlv.events import (
    BatchTrained,
    EpochEnded,
    Event,
    UnitEnded,
    UnitFailed,
    UnitPlaced,
    UnitResumed,
    UnitStarted,
)
from mtlv.processes import alive, born
from mtlv.sealed import read_sealed, write_sealed
from mtlv.seeding import content_key

State = Literal["waiting", "running", "done", "failed", "stopped"]
FOLDER = "status"  # in the store
WRITE_INTERVAL_SECONDS = 1.0  # minimum seconds between two writes
WRITE_INTERVAL_FACTOR = (
    20  # and this many times the CPU time of a write: a file of 100,000 units takes a second
)
KEPT_FILES = 20  # number of files of ended suites to keep


@dataclass
class UnitState:
    """One unit of a suite."""

    key: str
    name: str
    member: str
    state: State = "waiting"
    cached: bool = False  # whether it was found in the store
    # finished epochs, and all; known once it runs
    epoch: int = 0
    epochs: int = 0
    documents_per_second: float = 0.0  # training speed in the last finished epoch
    # start and end, in seconds since 1970
    since: float | None = None
    until: float | None = None
    node: str = ""  # cluster node on which it was trained last


@dataclass
class SuiteState:
    """A suite: its process and its units."""

    experiment: str
    config: str  # absolute path of its config
    # host, pid, born: the process, and its start in ticks of its machine (None if unknown), because another
    # process may get the same pid later
    host: str = ""
    pid: int = 0
    born: int | None = None
    # began, seen: seconds since 1970: start and last write
    began: float = 0.0
    seen: float = 0.0
    state: State = "running"  # `running`, `done`, `failed` or `stopped`, as recorded by the process
    problem: str = ""  # reason for a failure
    units: list[UnitState] = field(default_factory=list)  # units in the order of execution


class SuiteProgress:
    """A callback that updates the file of a suite, at most once a second; its exit records the end."""

    def __init__(self, store: Path, state: SuiteState) -> None:
        self.state = state
        self._units = {unit.name: unit for unit in state.units}
        self._next = 0.0  # earliest time of the next write
        self._changed = False
        state.host, state.pid, state.born = socket.gethostname(), os.getpid(), born(os.getpid())
        state.began = time.time()
        self.path = _place(store / FOLDER, state)

    def __enter__(self) -> SuiteProgress:
        self._write()
        with suppress(OSError):  # such as a read-only folder, or files deleted by another suite
            files = self.path.parent.glob("*.json")
            for path in sorted(files, key=lambda path: path.stat().st_mtime, reverse=True)[KEPT_FILES:]:
                path.unlink(missing_ok=True)
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        stopped = isinstance(error, KeyboardInterrupt | SystemExit)
        self.state.state = "done" if error is None else "stopped" if stopped else "failed"
        self.state.problem = "" if error is None or stopped else f"{error}" or type(error).__name__
        for unit in self.state.units:
            if unit.state == "running":
                unit.state, unit.until = self.state.state, time.time()
        self._write()

    def __call__(self, event: Event) -> None:
        """Handle an event."""
        match event:
            case UnitStarted(name, _, epochs):
                self._set(name, state="running", epochs=epochs, epoch=0, since=time.time())
            case UnitResumed(name, _, epoch, speed):
                self._set(name, epoch=epoch, documents_per_second=speed)
            case UnitPlaced(name, node):
                self._units[name].node = node
            case BatchTrained():
                if self._changed:  # a change that came too soon after another one
                    self._change()
            case EpochEnded(name, epoch, epochs):
                speed = event.documents_per_second
                self._set(name, epoch=epoch, epochs=epochs, documents_per_second=speed)
            case UnitEnded(name, cached):
                self._set(name, state="done", cached=cached, until=time.time())
            case UnitFailed(name):
                self._set(name, state="failed", until=time.time())

    def _set(self, name: str, **changes: object) -> None:
        vars(self._units[name]).update(changes)
        self._change()

    def _change(self) -> None:
        self._changed = True
        if time.monotonic() >= self._next:
            self._write()

    def _write(self) -> None:
        """Write atomically: readers see the old file or the new one. A full disk must not stop training."""
        self._changed, begun = False, time.thread_time()
        self.state.seen = time.time()
        with suppress(OSError):
            write_sealed(self.path, asdict(self.state))
        self._next = time.monotonic() + max(
            WRITE_INTERVAL_SECONDS, WRITE_INTERVAL_FACTOR * (time.thread_time() - begun)
        )


def read_states(folder: Path, warn: Callable[[str], None] = lambda _: None) -> list[SuiteState]:
    """Return all suites in a store, newest first; `warn` is called for each damaged file."""
    states = []
    for path in sorted(folder.glob("*.json")):
        content = read_sealed(path, warn, "the progress of its suite is not known")
        if content is not None:
            with suppress(TypeError, ValueError):  # of another release
                units = [UnitState(**unit) for unit in content.pop("units")]
                state = SuiteState(**content, units=units)
                state.began = float(state.began)
                states.append(state)
    return sorted(states, key=lambda state: -state.began)


def _place(folder: Path, state: SuiteState) -> Path:
    """Return the file of a suite: its previous one, unless another process still uses it."""
    key = content_key([state.config, [unit.key for unit in state.units]])
    path = folder / f"{key}.json"
    for other in read_states(folder) if path.exists() else ():
        here = other.host == state.host and other.pid != state.pid
        same = other.config == state.config and [u.key for u in other.units] == [u.key for u in state.units]
        if here and same and other.state == "running" and alive(other.pid, other.born):
            return folder / f"{key}-{state.pid}.json"
    return path
