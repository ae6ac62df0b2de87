"""A unit as a task of Ray: what runs on a node of a cluster."""

from __future__ import annotations

import pickle  # nosec B403 # between the processes of one cluster
import socket
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any

from mtlv.errors import ClusterError, MtlvError, TrackingError
from mtlv.running.store import Store
from mtlv.running.store_place import Place
from mtlv.running.worker import LAST, Order, Trainer, answer

if TYPE_CHECKING:
    from mtlv.running.material import Material
    from mtlv.settings.schema import Settings

Word = tuple[str, tuple[Any, ...]]
"""As in `mtlv.running.worker`."""

NODE = "on_node"  # first of all: the unit's name, Ray's id of the node, what people call it
HELD = 2  # materials that a process keeps: those of stages or members that take turns
APART = 0.5  # seconds between words about batches: a driver hears of a thousand units


@dataclass(frozen=True)
class Given:
    """In place of a `Workbench`: what a unit reads came with it."""

    given: Material

    def material(self, settings: Settings) -> Material:  # noqa: ARG002
        """All that a unit reads."""
        return self.given


def keep(material: object) -> Any:
    """A reference to something in Ray's object store, of which each node holds one copy.

    Raises:
        ClusterError: there is no room.
    """
    import ray

    with _room():
        return ray.put(material)


@contextmanager
def _room() -> Iterator[None]:
    """Says how to get it, where there is none."""
    from ray.exceptions import ObjectStoreFullError, OutOfDiskError

    try:
        yield
    except (ObjectStoreFullError, OutOfDiskError) as error:
        raise ClusterError(
            "the object store of Ray is full",
            got=type(error).__name__,
            then="give the nodes more (ray start --object-store-memory=BYTES), or room on the disk of "
            "Ray's own folder, where it moves what does not fit",
        ) from error


class Shelf:
    """Materials of this process. A node holds the arrays of each once, for all its processes."""

    def __init__(self) -> None:
        self._held: OrderedDict[str, Material] = OrderedDict()

    def take(self, reference: Any) -> Material:
        """What a reference into the object store stands for."""
        import ray

        key = reference.hex()
        if key not in self._held:
            with _room():
                self._held[key] = ray.get(reference)
            while len(self._held) > HELD:
                self._held.popitem(last=False)
        self._held.move_to_end(key)
        return self._held[key]


SHELF = Shelf()


def where() -> tuple[str, str]:
    """Ray's id of this node, and what people call it."""
    import ray

    node = ray.get_runtime_context().get_node_id()
    return node, f"{socket.gethostname()}/{node[:6]}"


@dataclass(frozen=True)
class Terms:
    """What a node must have to train units of a suite.

    Args:
        store: where finished units are.
        mark: name of a file that the driver has written in the store's folder, where nodes share one.
        releases: name and version of each package that results depend on.
    """

    store: Place
    mark: str
    releases: tuple[tuple[str, str], ...]


@cache
def admitted(terms: Terms) -> Store:
    """The suite's store, once it is known that this node may train for it; asked once for each process.

    Raises:
        ClusterError: it has other releases than the driver.
        TrackingError: it cannot use the store.
    """
    from mtlv.running.environment import versions

    _, node = where()
    other = [(name, wanted) for name, wanted in terms.releases if versions()[name] != wanted]
    if other:
        raise ClusterError(
            f"node {node} of the cluster has other releases",
            got=", ".join(f"{name} {versions()[name]}" for name, _ in other),
            allowed=", ".join(f"{name} {wanted}" for name, wanted in other),
            then="install the same on all nodes: results depend on them",
        )
    place, trouble = terms.store, ""
    if place.shared or (place.folder / terms.mark).is_file():
        try:
            return place.open()
        except MtlvError as error:
            trouble = str(error)
    raise TrackingError(
        f"`store.uri`: node {node} of the cluster cannot use {place.words}",
        got=trouble or "what the driver has written there is not there",
        then="name a folder that all nodes share and may write, or an address such as s3://bucket/runs",
    )


def look(terms: Terms) -> MtlvError | None:
    """Why this node may train nothing; what a driver asks each before it begins."""
    try:
        admitted(terms)
    except MtlvError as error:
        return error
    return None


@dataclass(frozen=True)
class Parcel:
    """A unit on its way to a node.

    Args:
        order: the unit.
        terms: on which a node trains it; one that joined later has not been asked yet.
        threads: of its arithmetic.
    """

    order: Order
    terms: Terms
    threads: int

    def packed(self) -> bytes:
        """As it travels: Ray's own pickling takes five times as long, and a driver has many."""
        return pickle.dumps(self, protocol=5)


def unpacked(parcel: bytes) -> Parcel:
    """What `packed` gave."""
    found = pickle.loads(parcel)  # nosec B301 # the driver's own, by the cluster's own way
    assert isinstance(found, Parcel)
    return found


def train(parcel: bytes, material: Sequence[Any]) -> Iterator[list[Word]]:
    """Train a unit; gives what is said of it, the last word last.

    Args:
        parcel: a packed `Parcel`.
        material: one reference, in a list so that Ray hands it over as it is.
    """
    given = unpacked(parcel)
    said: SimpleQueue[Word] = SimpleQueue()

    def work() -> None:
        def make() -> Trainer:
            bench = Given(SHELF.take(material[0]))
            return Trainer(bench, admitted(given.terms), given.threads, say, apart=APART)

        answer(make, given.order, say)

    def say(word: str, content: tuple[Any, ...]) -> None:
        said.put((word, content))

    say(NODE, (given.order.job.name, *where()))
    Thread(target=work, name="mtlv-unit", daemon=True).start()
    words: list[Word] = []
    while not words or words[-1][0] not in LAST:
        words = [said.get()]
        while not said.empty():
            words.append(said.get())
        yield words
