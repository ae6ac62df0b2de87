"""A unit as a Ray task, run on a node of a cluster."""

from __future__ import annotations

import functools
import io
import pickle  # nosec B403 # between the processes of one cluster
import socket
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mtlv.data.folds import Fold
from mtlv.environment import versions
from mtlv.errors import ClusterError, MtlvError, TrackingError
from mtlv.events import Event, UnitPlaced
from mtlv.execution.helper import fewer_batches
from mtlv.execution.local import LocalExecutor
from mtlv.execution.runner import UnitRunner
from mtlv.plan import Scores
from mtlv.settings.schema import Settings
from mtlv.store.local import Store
from mtlv.store.records import EpochRecord
from mtlv.units.job import Job


@dataclass(frozen=True)
class EpochScored:
    """A message of a task: an epoch of its unit ended, with its validation scores."""

    key: str
    record: EpochRecord
    scores: Scores


class Mailbox:
    """Actor on the driver's node that keeps the messages of tasks until the driver takes them."""

    def __init__(self) -> None:
        self._messages: list[Event | EpochScored] = []

    def put(self, message: Event | EpochScored) -> None:
        """Add a message."""
        self._messages.append(message)

    def flush(self) -> None:
        """Return once all earlier messages of the calling process have come."""

    def take(self) -> list[Event | EpochScored]:
        """Return all messages and forget them."""
        messages, self._messages = self._messages, []
        return messages


def start_mailbox() -> Any:
    """Start a mailbox on this node, and return a reference to it."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    return ray.remote(Mailbox).options(num_cpus=0, scheduling_strategy=here).remote()


def keep(inputs: object) -> Any:
    """Put an object into Ray's object store, with one copy per node, and return a reference.

    Raises:
        ClusterError: the object store is full.
    """
    import ray

    with _room():
        return ray.put(inputs)


@contextmanager
def _room() -> Iterator[None]:
    """Convert errors of a full object store."""
    from ray.exceptions import ObjectStoreFullError, OutOfDiskError

    try:
        yield
    except (ObjectStoreFullError, OutOfDiskError) as error:
        raise ClusterError(
            "the object store of Ray is full",
            got=type(error).__name__,
            then="increase it (ray start --object-store-memory=BYTES), or free space on the disk of "
            "Ray's own folder, to which it moves objects that do not fit",
        ) from error


class ObjectCache:
    """The last `most` objects that this process read from the object store, with arrays once per node."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._objects: OrderedDict[str, Any] = OrderedDict()

    def take(self, reference: Any) -> Any:
        """Return the object of a reference."""
        import ray

        key = reference.hex()
        if key not in self._objects:
            with _room():
                self._objects[key] = ray.get(reference)
            while len(self._objects) > self._most:
                self._objects.popitem(last=False)
        self._objects.move_to_end(key)
        return self._objects[key]


INPUT_CACHE = ObjectCache(2)  # inputs of alternating stages or members
SETTINGS_CACHE = ObjectCache(64)  # settings and folds


def where() -> tuple[str, str]:
    """Return Ray's id of this node, and its readable name."""
    import ray

    node = ray.get_runtime_context().get_node_id()
    return node, f"{socket.gethostname()}/{node[:6]}"


@dataclass(frozen=True)
class NodeRequirements:
    """Requirements for a node to train units of a suite."""

    store: Path  # folder of finished units, shared by all nodes
    mark: str  # name of a file that the driver wrote there
    releases: tuple[tuple[str, str], ...]  # name and version of each package that affects results


@functools.cache
def open_store(terms: NodeRequirements) -> Store:
    """Return the suite's store, if this node may train for it; checked once per process.

    Raises:
        ClusterError: it has other releases than the driver.
        TrackingError: it cannot use the store.
    """
    _, node = where()
    other = [(name, release) for name, release in terms.releases if versions()[name] != release]
    if other:
        raise ClusterError(
            f"node {node} of the cluster has other releases",
            got=", ".join(f"{name} {versions()[name]}" for name, _ in other),
            allowed=", ".join(f"{name} {release}" for name, release in other),
            then="install the same on all nodes: results depend on them",
        )
    trouble = ""
    if (terms.store / terms.mark).is_file():
        try:
            return Store(terms.store)
        except MtlvError as error:
            trouble = str(error)
    raise TrackingError(
        f"`store.uri`: node {node} of the cluster cannot use `{terms.store}`",
        got=trouble or "the file written by the driver does not exist",
        then="give a folder that all nodes share and can write",
    )


def look(terms: NodeRequirements) -> MtlvError | None:
    """Return the reason why this node cannot train, or None; called by the driver for each node."""
    try:
        open_store(terms)
    except MtlvError as error:
        return error
    return None


@dataclass(frozen=True)
class RayTask:
    """A unit for a node."""

    jobs: tuple[Job, ...]  # those that it needs, then the unit itself
    needed_keys: frozenset[str]  # keys of those that others start or learn from
    terms: NodeRequirements  # requirements, because nodes that join later are not checked yet
    threads: int


class SharedObjects:
    """Objects shared by a driver's units: put into the object store once, referenced by their tasks."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[object, Any]] = {}  # with the object, so that its id is not reused

    def reference(self, thing: object) -> Any:
        """Return a reference to an object, valid on any node."""
        if id(thing) not in self._kept:
            self._kept[id(thing)] = thing, keep(thing)
        return self._kept[id(thing)][1]

    def pack(self, task: RayTask) -> tuple[bytes, list[Any]]:
        """Serialize a task; return it with references to the objects left out.

        Settings and a fold's rows, 8 MB for a million documents, are left out. Ray's own pickling
        would take five times as long for the rest, and a driver has many tasks.
        """
        file, used = io.BytesIO(), list[Any]()

        def left_out(thing: object) -> int | None:
            if not isinstance(thing, Settings | Fold):
                return None
            reference = self.reference(thing)
            if reference not in used:
                used.append(reference)
            return used.index(reference)

        _Packer(file, left_out).dump(task)
        return file.getvalue(), used


class _Packer(pickle.Pickler):
    def __init__(self, file: io.BytesIO, left_out: Callable[[object], int | None]) -> None:
        super().__init__(file, protocol=5)
        self._left_out = left_out

    def persistent_id(self, thing: object) -> int | None:
        return self._left_out(thing)


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, references: Sequence[Any]) -> None:
        super().__init__(file)
        self._references = references

    def persistent_load(self, number: int) -> Any:
        return SETTINGS_CACHE.take(self._references[number])


def unpack(packed: bytes, references: Sequence[Any]) -> RayTask:
    """Deserialize a task."""
    task = _Unpacker(io.BytesIO(packed), references).load()  # the driver's own
    assert isinstance(task, RayTask)
    return task


def train(packed: bytes, references: Sequence[Any], mailbox: Any, *needs: None) -> None:  # noqa: ARG001
    """Train a unit; send its events and epochs to the mailbox.

    Args:
        packed: a packed `RayTask`.
        references: to the inputs of the unit, then to the objects left out of the task; in a list, so that
            Ray does not resolve them.
        mailbox: reference to a `Mailbox`.
        needs: results of the units that it needs, for which Ray waits.

    Raises:
        MtlvError: it failed.
    """
    import ray

    inputs, *others = references
    task = unpack(packed, others)
    job, store = task.jobs[-1], open_store(task.terms)

    def send(message: Event | EpochScored) -> None:
        mailbox.put.remote(message)

    def on_epoch(record: EpochRecord, scores: Scores) -> None:
        send(EpochScored(job.unit.key, record, scores))

    send(UnitPlaced(job.name, where()[1]))
    runner = UnitRunner(lambda _: INPUT_CACHE.take(inputs), store, fewer_batches(send), task.needed_keys)
    try:
        with LocalExecutor(runner, task.jobs, threads=task.threads) as executor:
            executor.run(job, on_epoch)
    finally:
        ray.get(mailbox.flush.remote())
