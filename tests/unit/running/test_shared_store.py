"""A store at an address: what one node leaves there another finds, whole or not at all."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mtlv.running import Observer, run_suite
from mtlv.running.shared_store import SharedStore
from mtlv.running.store_place import place_of
from mtlv.tracking import MemoryTracker

S3 = {
    "AWS_ACCESS_KEY_ID": "user",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}
ENDINGS = (".safetensors", ".parquet")
SMALL = ("architecture=stl", "training.epochs=1", "execution.processes=1", "execution.threads=1")


class Trained(Observer):
    """Names of units that were trained, and what was warned of."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.said: list[str] = []

    def unit_started(self, name: str, *_: object) -> None:
        self.names.append(name)

    def note(self, text: str) -> None:
        self.said.append(text)

    def warn(self, text: str) -> None:
        self.said.append(text)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Address of an S3 server of this process, with one bucket."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in S3.items():
            patch.setenv(name, value)
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        import boto3

        boto3.client("s3").create_bucket(Bucket="bucket")
        yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(params=["memory", "file", "s3"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty store that several nodes reach."""
    name = f"store-{uuid.uuid4().hex}"
    if request.param == "s3":
        request.getfixturevalue("server")
        yield f"s3://bucket/{name}"
    elif request.param == "file":
        yield f"file://{tmp_path}/objects"
    else:
        from fsspec.implementations.memory import MemoryFileSystem

        yield f"memory://{name}"
        for path in [path for path in MemoryFileSystem.store if path.startswith(f"/{name}")]:
            del MemoryFileSystem.store[path]


@pytest.fixture
def node(suite: Callable, table: Callable, tmp_path: Path, address: str) -> Callable:
    """A suite as a node of this name runs it."""
    path = table("t")

    def made(name: str, *changes: str) -> object:
        return suite(path, *SMALL, f"store.uri={address}", f"store.cache={tmp_path / name}", *changes)

    return made


def opened(suite: object) -> SharedStore:
    found = place_of(suite.members[0].settings).open()
    assert isinstance(found, SharedStore)
    return found


def files(folder: Path) -> dict[str, bytes]:
    """Weights, scores and curves of all finished units."""
    found = (folder / "units").glob("*/*")
    return {f"{each.parent.name}/{each.name}": each.read_bytes() for each in found if each.suffix in ENDINGS}


def test_an_address_gives_what_a_folder_gives_and_a_second_node_trains_nothing(
    node: Callable, suite: Callable, table: Callable, tmp_path: Path
) -> None:
    run_suite(suite(table("t"), *SMALL, store="folder"), Observer(), MemoryTracker())
    first, second = Trained(), Trained()
    trackers = MemoryTracker(), MemoryTracker()
    run_suite(node("one"), first, trackers[0])
    run_suite(node("two"), second, trackers[1])
    assert len(first.names) == 3
    assert not second.names
    one, two = (place_of(node(name).members[0].settings).folder for name in ("one", "two"))
    assert files(tmp_path / "folder") == files(one)
    assert files(one).items() >= files(two).items()
    assert len(files(two)) == len(files(one))  # a model is kept with each run, so weights were fetched too
    assert [set(run.points) for run in trackers[0].runs.values()] == [
        set(run.points) for run in trackers[1].runs.values()
    ]
    assert opened(node("one")).remote.names("locks") == []


class Stopper(Observer):
    """Ends training as Ctrl-C does, at the end of an epoch."""

    def __init__(self, at: int) -> None:
        self.at = at

    def epoch(self, name: str, epoch: int, *_: object) -> None:
        if epoch == self.at:
            raise KeyboardInterrupt


def test_another_node_goes_on_from_the_last_checkpoint(
    node: Callable, suite: Callable, table: Callable, tmp_path: Path
) -> None:
    """As if nobody had been interrupted, and with the epochs at the times that were told first."""
    changes = ("architecture=mtl", "training.epochs=3", "store.checkpoint_steps=1")
    run_suite(suite(table("t"), *SMALL, *changes, store="folder"), Observer(), MemoryTracker())
    told = MemoryTracker(), MemoryTracker()
    with pytest.raises(KeyboardInterrupt):
        run_suite(node("one", *changes), Stopper(1), told[0])
    store = opened(node("two", *changes))
    names = store.remote.names("checkpoints")
    assert 1 <= len(names) <= 2
    [key] = {name.split("/")[1] for name in names}
    assert store.last_step(key) == max(int(Path(name).stem) for name in names)
    assert not store.busy(key)
    second = Trained()
    run_suite(node("two", *changes), second, told[1])
    assert any("goes on after step" in text for text in second.said)
    assert files(tmp_path / "folder") == files(store.root)
    assert store.remote.names("checkpoints") == []
    early, whole = ({(p.key, p.step): p.timestamp_ms for p in _points(tracker)} for tracker in told)
    assert early
    assert early.items() <= whole.items()


def _points(tracker: MemoryTracker) -> list:
    return [point for run in tracker.runs.values() for point in run.points if point.key == "train/loss"]
