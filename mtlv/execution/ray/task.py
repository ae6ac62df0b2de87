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
from queue import SimpleQueue
from threading import Thread
from typing import Any

from mtlv.data.folds import Fold
from mtlv.environment import versions
from mtlv.errors import ClusterError, MtlvError, TrackingError
from mtlv.execution.messages import Ending, Message
from mtlv.execution.worker import TrainRequest, UnitTrainer, answer
from mtlv.settings.schema import Settings
from mtlv.store.local import Store

BATCH_INTERVAL = 0.5  # seconds between messages about batches; a driver receives those of a thousand units


@dataclass(frozen=True)
class OnNode:
    """The first message of a task."""

    unit: str  # its name
    node: str  # Ray's id of the node
    name: str  # readable name of the node


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
        self._held: OrderedDict[str, Any] = OrderedDict()

    def take(self, reference: Any) -> Any:
        """Return the object of a reference."""
        import ray

        key = reference.hex()
        if key not in self._held:
            with _room():
                self._held[key] = ray.get(reference)
            while len(self._held) > self._most:
                self._held.popitem(last=False)
        self._held.move_to_end(key)
        return self._held[key]


INPUTS = ObjectCache(2)  # inputs of alternating stages or members
SMALL = ObjectCache(64)  # settings and folds


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
def admitted(terms: NodeRequirements) -> Store:
    """Return the suite's store, if this node may train for it; checked once per process.

    Raises:
        ClusterError: it has other releases than the driver.
        TrackingError: it cannot use the store.
    """
    _, node = where()
    other = [(name, wanted) for name, wanted in terms.releases if versions()[name] != wanted]
    if other:
        raise ClusterError(
            f"node {node} of the cluster has other releases",
            got=", ".join(f"{name} {versions()[name]}" for name, _ in other),
            allowed=", ".join(f"{name} {wanted}" for name, wanted in other),
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
        admitted(terms)
    except MtlvError as error:
        return error
    return None


@dataclass(frozen=True)
class RayTask:
    """A unit for a node."""

    request: TrainRequest
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
        return SMALL.take(self._references[number])


def unpacked(packed: bytes, references: Sequence[Any]) -> RayTask:
    """Deserialize a task."""
    found = _Unpacker(io.BytesIO(packed), references).load()  # the driver's own
    assert isinstance(found, RayTask)
    return found


def train(packed: bytes, references: Sequence[Any]) -> Iterator[list[Message | OnNode]]:
    """Train a unit; yield its messages, the `Ending` last.

    Args:
        packed: a packed `RayTask`.
        references: to the inputs of the unit, then to the objects left out of the task; in a list, so that
            Ray does not resolve them.
    """
    inputs, *others = references
    task = unpacked(packed, others)
    sent: SimpleQueue[Message | OnNode] = SimpleQueue()

    def work() -> None:
        def make() -> UnitTrainer:
            given, store = INPUTS.take(inputs), admitted(task.terms)
            return UnitTrainer(lambda _: given, store, task.threads, sent.put, interval=BATCH_INTERVAL)

        answer(make, task.request, sent.put)

    sent.put(OnNode(task.request.job.name, *where()))
    Thread(target=work, name="mtlv-unit", daemon=True).start()
    messages: list[Message | OnNode] = []
    while not messages or not isinstance(messages[-1], Ending):
        messages = [sent.get()]
        while not sent.empty():
            messages.append(sent.get())
        yield messages
