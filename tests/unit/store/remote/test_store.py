"""A store at an address: what one node leaves there another finds, whole or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from listening import Listening, Watcher
from memory_tracker import MemoryTracker
from s3 import s3_server
from safetensors.torch import load_file

from mtlv.errors import TrackingError
from mtlv.events import ignore
from mtlv.planning.preview import would_run_lines
from mtlv.store import open_store
from mtlv.store.location import StoreLocation, location_of
from mtlv.store.remote import client
from mtlv.store.remote.eviction import make_room
from mtlv.store.remote.objects import ObjectStoreError
from mtlv.store.remote.store import SharedStore
from mtlv.suite.clean import clean_lines
from mtlv.suite.run import run_suite
from mtlv.suite.status import status_lines

S3 = {
    "AWS_ACCESS_KEY_ID": "user",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}
ENDINGS = (".safetensors", ".parquet")
SMALL = ("architecture=stl", "training.epochs=1", "execution.processes=1", "execution.threads=1")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Address of an S3 server of this process, with one bucket."""
    with s3_server() as address, pytest.MonkeyPatch.context() as patch:
        for name, value in S3.items():
            patch.setenv(name, value)
        patch.setenv("AWS_ENDPOINT_URL", address)
        import boto3

        boto3.client("s3").create_bucket(Bucket="bucket")
        yield address


EVERYWHERE = pytest.mark.parametrize("address", ["memory", "file", "s3"], indirect=True)
IN_S3 = pytest.mark.parametrize("address", ["s3"], indirect=True)


@pytest.fixture
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty store that several nodes reach; in memory, where a test does not say otherwise."""
    name, medium = f"store-{uuid.uuid4().hex}", getattr(request, "param", "memory")
    if medium == "s3":
        request.getfixturevalue("server")
        yield f"s3://bucket/{name}"
    elif medium == "file":
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
    found = open_store(location_of(suite.members[0].settings.store))
    assert isinstance(found, SharedStore)
    return found


def files(folder: Path) -> dict[str, bytes]:
    """Weights, scores and curves of all finished units."""
    found = (folder / "units").glob("*/*")
    return {f"{each.parent.name}/{each.name}": each.read_bytes() for each in found if each.suffix in ENDINGS}


@EVERYWHERE
def test_an_address_gives_what_a_folder_gives_and_a_second_node_trains_nothing(
    node: Callable, suite: Callable, table: Callable, tmp_path: Path
) -> None:
    run_suite(suite(table("t"), *SMALL, store="folder"), ignore, MemoryTracker())
    first, second = Watcher(), Watcher()
    trackers = MemoryTracker(), MemoryTracker()
    run_suite(node("one"), first, trackers[0])
    run_suite(node("two"), second, trackers[1])
    assert len(first.trained) == 3
    assert not second.trained
    one, two = (location_of(node(name).members[0].settings.store).folder for name in ("one", "two"))
    assert files(tmp_path / "folder") == files(one)
    assert files(one).items() >= files(two).items()
    assert len(files(two)) == len(files(one))  # a model is kept with each run, so weights were fetched too
    assert [set(run.points) for run in trackers[0].runs.values()] == [
        set(run.points) for run in trackers[1].runs.values()
    ]
    assert opened(node("one")).client.names("locks") == {}


class Stopper(Listening):
    """Ends training as Ctrl-C does, at the end of an epoch."""

    def __init__(self, at: int) -> None:
        self.at = at

    def epoch(self, name: str, epoch: int, *_: object) -> None:
        if epoch == self.at:
            raise KeyboardInterrupt


@EVERYWHERE
def test_another_node_goes_on_from_the_last_checkpoint(
    node: Callable, suite: Callable, table: Callable, tmp_path: Path
) -> None:
    """As if nobody had been interrupted, and with the epochs at the times that were told first."""
    changes = ("architecture=mtl", "training.epochs=3", "store.checkpoint_steps=1")
    run_suite(suite(table("t"), *SMALL, *changes, store="folder"), ignore, MemoryTracker())
    told = MemoryTracker(), MemoryTracker()
    with pytest.raises(KeyboardInterrupt):
        run_suite(node("one", *changes), Stopper(1), told[0])
    store = opened(node("two", *changes))
    names = store.client.names("checkpoints")
    assert 1 <= len(names) <= 2
    [key] = {name.split("/")[1] for name in names}
    assert store.last_step(key) == max(int(Path(name).stem) for name in names)
    assert not store.busy(key)
    second = Watcher()
    run_suite(node("two", *changes), second, told[1])
    assert any("resumes after step" in text for text in second.notes)
    assert files(tmp_path / "folder") == files(store.root)
    assert store.client.names("checkpoints") == {}
    early, whole = ({(p.key, p.step): p.timestamp_ms for p in _points(tracker)} for tracker in told)
    assert early
    assert early.items() <= whole.items()


def _points(tracker: MemoryTracker) -> list:
    return [point for run in tracker.runs.values() for point in run.points if point.key == "train/loss"]


# ---- What may go wrong -----------------------------------------------------------------------------------


@pytest.fixture
def trained(node: Callable) -> tuple[SharedStore, str]:
    """The store as a second node sees it, with one unit of the first."""
    run_suite(node("one", "architecture=mtl"), ignore, MemoryTracker())
    store = opened(node("two"))
    [key] = {name.split("/")[1].removesuffix(".json") for name in store.client.names("done")}
    return store, key


def test_scores_come_without_weights_until_they_are_asked_for(trained: tuple) -> None:
    store, key = trained
    assert store.has(key)
    assert store.has_weights(key)
    assert not (store.units / key).exists()
    record = store.load(key)
    assert not any(path.suffix == ".safetensors" for path in (store.units / key).iterdir())
    found = store.weights_of(record)
    assert found is not None
    assert set(found.values()) == {store.weights(key)}
    assert all(path.is_file() for path in found.values())


def test_units_are_listed_once_not_asked_for_one_by_one(
    trained: tuple, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, key = trained
    asked: list[str] = []
    names = store.client.objects.names
    monkeypatch.setattr(
        store.client.objects, "names", lambda folder: (asked.append(folder), names(folder))[1]
    )
    monkeypatch.setattr(store.client.objects, "get", lambda name: pytest.fail(name))
    found = [store.has(other) for other in [key, *map(str, range(1000))]]
    assert found == [True] + [False] * 1000
    assert asked == ["done"]


def test_a_unit_without_its_manifest_is_not_there(node: Callable, trained: tuple) -> None:
    """As a node leaves it that ends while it uploads; another trains the unit, and all is whole."""
    store, key = trained
    store.client.objects.delete([f"done/{key}.json"])
    assert not opened(node("three")).has(key)
    third = Watcher()
    run_suite(node("three", "architecture=mtl"), third, MemoryTracker())
    assert len(third.trained) == 1
    assert opened(node("four")).load(key).key == key


@EVERYWHERE
@pytest.mark.parametrize("name", ["unit.json", "model.safetensors"])
def test_what_was_changed_is_refused_and_named(trained: tuple, name: str) -> None:
    store, key = trained
    [there] = [each for each in store.client.names(f"units/{key}") if each.endswith(name)]
    content = store.client.objects.get(there)
    store.client.objects.put(there, content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(
        TrackingError, match=rf"{there}` cannot be used .*checksum does not match.*; delete it"
    ):
        store.load(key) and store.weights(key)
    assert not [path for path in store.units.rglob("*") if path.name == name]
    assert not list(store.units.glob(".*"))


@pytest.mark.parametrize(
    ("ending", "harm"),
    [
        ("unit.json", "changed"),
        ("model.safetensors", "changed"),
        ("model.safetensors", "removed"),
        ("test.parquet", "removed"),
        ("/KEY.json", "changed"),  # its manifest
    ],
)
def test_what_is_damaged_at_the_address_is_trained_again_with_one_line(
    node: Callable, trained: tuple, ending: str, harm: str
) -> None:
    store, key = trained
    before, objects = files(opened(node("one")).root), store.client.objects
    [there] = [each for each in store.client.names("") if each.endswith(ending.replace("KEY", key))]
    content = objects.get(there)
    objects.delete([there])
    if harm == "changed":
        objects.put(there, content[:-100] + bytes([content[-100] ^ 1]) + content[-99:])
    told = Watcher()
    run_suite(node("two", "architecture=mtl"), told, MemoryTracker())
    assert len(told.trained) == 1
    [line] = [text for text in told.warned if "damaged" in text]
    assert line.startswith(f"{told.trained[0]}: a file of the finished unit is damaged (`")
    assert Path(there).name in line
    assert line.endswith(f"its files stay in {store.client.at(f'units/{key}')} for `mtlv clean`")
    assert any("an incomplete unit" in line for line in clean_lines(store.place, [], delete=False))
    third = opened(node("three"))
    assert third.weights_of(third.load(key))
    assert files(third.root) == before


@pytest.mark.parametrize("name", ["unit.json", "model.safetensors", "curve.parquet", ".manifest.json"])
def test_a_copy_that_is_damaged_here_is_fetched_again_and_nothing_is_trained(
    node: Callable, trained: tuple, name: str
) -> None:
    run_suite(node("two", "architecture=mtl"), Watcher(), MemoryTracker())
    store, key = trained
    before, path = files(store.root), store.units / key / name
    content = path.read_bytes()
    path.unlink()  # weights are linked to from a kept model
    path.write_bytes(content[:-20] + bytes([content[-20] ^ 1]) + content[-19:])
    told = Watcher()
    run_suite(node("two", "architecture=mtl"), told, MemoryTracker())
    assert not told.trained
    assert files(store.root) == before
    lines = [text for text in told.warned if "copy of the finished unit was damaged" in text]
    assert len(lines) == (name != ".manifest.json")  # without which nobody knows of what training the copy is
    assert not store.aside.exists()


def test_what_only_this_machine_has_is_set_aside_here(
    node: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened(node("one", "architecture=mtl"))

    def full(self: object, name: str, path: Path) -> None:
        raise ObjectStoreError("it is full: quota", "raise its quota")

    with monkeypatch.context() as patch:
        patch.setattr(type(store.client.objects), "upload", full)
        with pytest.raises(TrackingError):
            run_suite(node("one", "architecture=mtl"), Watcher(), MemoryTracker())
    [path] = store.units.glob("*/unit.json")
    path.unlink()
    told = Watcher()
    run_suite(node("one", "architecture=mtl"), told, MemoryTracker())
    assert len(told.trained) == 1
    assert len([text for text in told.warned if "(`unit.json` is missing); it was moved to" in text]) == 1
    assert (store.aside / f"{path.parent.name}-1" / "test.parquet").is_file()


def test_while_another_node_trains_a_damaged_unit_again_it_is_left_to_that(
    node: Callable, trained: tuple
) -> None:
    store, key = trained
    other = opened(node("three"))
    [there] = [each for each in store.client.names(f"units/{key}") if each.endswith("test.parquet")]
    store.client.objects.put(there, b"")
    said: list[str] = []
    with other.held(key) as theirs:
        assert theirs
        assert store.whole(key, lambda: store.load(key), said.append) is None
        assert store.client.names("done")
        other.set_aside(key)
        assert store.whole(key, lambda: store.load(key), said.append) is None
    assert not store.has(key)
    assert not said


def test_a_manifest_that_was_changed_is_refused(trained: tuple) -> None:
    store, key = trained
    content = store.client.objects.get(f"done/{key}.json")
    store.client.objects.put(f"done/{key}.json", content[:-200])
    with pytest.raises(TrackingError, match=rf"done/{key}.json` cannot be used .*truncated or was changed"):
        store.load(key)


@EVERYWHERE
def test_of_two_nodes_that_end_the_same_unit_the_first_has_it(node: Callable, trained: tuple) -> None:
    store, key = trained
    late = opened(node("late"))
    record = store.load(key)
    late._manifests.look(key)
    late.save(replace(record, device="another"), None)
    assert late.load(key).device == record.device
    assert late.weights(key) is not None
    folders = {name.split("/")[2] for name in store.client.names(f"units/{key}")}
    assert len(folders) == 1


def test_weights_are_of_the_same_training_as_the_scores(node: Callable, trained: tuple) -> None:
    """Where another node trained the unit anew after the scores were fetched."""
    store, key = trained
    record = store.load(key)
    again = opened(node("again"))
    weights = dict(load_file(again.weights(key)))
    again.forget(key)
    again.save(replace(record, device="another"), {record.chosen_epoch: weights})
    fresh = SharedStore(store.place, store.client)
    assert fresh.load(key).device == record.device  # what is here is whole, and of the same unit
    assert fresh.weights(key) is not None
    assert fresh.load(key).device == "another"


def test_what_this_node_kept_of_a_unit_that_was_forgotten_does_not_come_back(
    node: Callable, trained: tuple
) -> None:
    store, key = trained
    record = store.load(key)
    other = opened(node("other"))
    other.load(key)
    store.forget(key)
    with other.held(key) as mine:
        assert mine
        other.save(replace(record, device="another"), None)
    assert opened(node("three")).load(key).device == "another"
    assert other.load(key).device == "another"


@EVERYWHERE
def test_what_cannot_be_handed_over_stays_and_the_next_run_hands_it_over(
    node: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened(node("one"))

    def full(self: object, name: str, path: Path) -> None:
        raise ObjectStoreError("it is full: quota", "raise its quota")

    with monkeypatch.context() as patch:
        patch.setattr(type(store.client.objects), "upload", full)
        first = Watcher()
        with pytest.raises(TrackingError) as caught:
            run_suite(node("one", "store.checkpoint_steps=1"), first, MemoryTracker())
    assert "a finished unit stays in " in str(caught.value)
    assert "it is full: quota" in str(caught.value)
    assert "raise its quota" in str(caught.value)
    assert "run the same command on this machine again" in str(caught.value)
    assert len([text for text in first.warned if "checkpoints stay in" in text]) == 1
    assert store.client.names("done") == {}
    second, third = Watcher(), Watcher()
    run_suite(node("one"), second, MemoryTracker())
    assert any(
        "finished units of an earlier run, uploaded to the store now: 1" in text for text in second.notes
    )
    assert len(first.trained + second.trained) == 3
    run_suite(node("two"), third, MemoryTracker())
    assert not third.trained


@EVERYWHERE
def test_forgotten_is_forgotten_everywhere(node: Callable, trained: tuple) -> None:
    store, key = trained
    store.load(key)
    store.forget(key)
    assert not store.has(key)
    assert not opened(node("one")).has(key)
    assert not [name for name in store.client.names("") if key in name]


def test_a_suite_that_is_run_anew_has_runs_of_its_own_on_every_node(node: Callable, trained: tuple) -> None:
    tracker, again, third = MemoryTracker(), Watcher(), Watcher()
    run_suite(node("two", "architecture=mtl"), again, tracker, if_exists="rerun")
    first = set(tracker.runs)
    run_suite(node("three", "architecture=mtl"), third, tracker)
    assert (len(again.trained), len(third.trained)) == (1, 0)
    assert set(tracker.runs) == first


@pytest.mark.slow
@IN_S3
def test_several_processes_of_a_node_share_it(node: Callable) -> None:
    run_suite(node("one", "execution.processes=2"), Watcher(), MemoryTracker())
    second = Watcher()
    run_suite(node("two"), second, MemoryTracker())
    assert not second.trained


@EVERYWHERE
def test_what_all_must_read_alike_is_made_by_the_first(node: Callable) -> None:
    one, two = opened(node("one")), opened(node("two"))
    for store, text in ((one, "first"), (two, "second"), (one, "third")):
        path = store.splits / "s.json"
        store.agreed(path, lambda path=path, text=text: path.write_text(text) and None)
        assert path.read_text() == "first"


# ---- What other machines see, and what is cleaned --------------------------------------------------------


def test_status_of_any_machine(
    node: Callable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, address: str
) -> None:
    run_suite(node("one"), ignore, MemoryTracker())
    monkeypatch.setattr("socket.gethostname", lambda: "elsewhere")
    monkeypatch.setattr("mtlv.suite.status.duration", lambda _: "so long")
    place = StoreLocation(address, str(tmp_path / "another"))
    lines = status_lines(place, None)
    assert lines[0].startswith("unit (")
    assert ": done after " in lines[0]
    assert lines[1].startswith("3 units: 3 done")
    assert status_lines(place, None) == lines
    nobody = StoreLocation(f"{address}-empty", str(tmp_path / "another"))
    assert "no suite has run with the store" in status_lines(nobody, None)[0]


def test_what_would_run_is_seen_from_any_machine(node: Callable) -> None:
    changes = ("architecture=mtl", "training.epochs=2", "store.checkpoint_steps=1")
    assert "0 of 1 units are in the store" in would_run_lines(node("two", *changes))[0]
    with pytest.raises(KeyboardInterrupt):
        run_suite(node("one", *changes), Stopper(1), MemoryTracker())
    assert "it resumes after step" in would_run_lines(node("two", *changes))[1]
    store = opened(node("one"))
    [key] = {name.split("/")[1] for name in store.client.names("checkpoints")}
    with store.held(key) as mine:
        assert mine
        assert f"process {os.getpid()} on " in would_run_lines(node("two", *changes))[1]
    run_suite(node("one", *changes), ignore, MemoryTracker())
    assert "1 of 1 units are in the store" in would_run_lines(node("two", *changes))[0]


@EVERYWHERE
def test_clean_lists_what_nothing_needs_at_the_address(node: Callable, trained: tuple) -> None:
    store, key = trained
    place = store.place
    assert clean_lines(place, [], delete=False) == [f"{place.uri}: nothing to clean"]
    far = store.client.objects
    far.put(f"checkpoints/{key}/000000001.ckpt", b"x" * 1000)
    far.put(f"units/{key}/another/unit.json", b"x" * 1000)
    far.put("units/lost/another/unit.json", b"x" * 1000)
    with store.held("lost"):
        assert not any("lost" in line for line in clean_lines(place, [], delete=False))
    listed = clean_lines(place, [], delete=False)
    assert len(listed) == 4
    assert any("checkpoints of a finished unit" in line for line in listed)
    assert sum("an incomplete unit" in line for line in listed) == 2
    clean_lines(place, [], delete=True)
    assert clean_lines(place, [], delete=False) == [f"{place.uri}: nothing to clean"]
    assert opened(node("three")).load(key).key == key
    of_another = clean_lines(place, [node("two", "seed=5")], delete=True)
    assert any("a finished unit that none of the configs needs" in line for line in of_another)
    assert not opened(node("three")).has(key)


# ---- What a node keeps -----------------------------------------------------------------------------------


def test_a_node_keeps_so_much_and_never_what_is_used_or_only_here(tmp_path: Path) -> None:
    for kind, name, day in (("tokens", "a", 1), ("encoders", "b", 2), ("units", "c", 3), ("units", "d", 0)):
        path = tmp_path / kind / name / "file"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"x" * 100)
        os.utime(path, (day * 86400, day * 86400))

    def left() -> str:
        return "".join(sorted(path.parent.name for path in tmp_path.rglob("file")))

    first = make_room(tmp_path, 300, lambda: ["d"])
    assert left() == "abcd"
    make_room(tmp_path, 0, lambda: ["d"]).close()
    assert left() == "abcd"  # the first still uses them
    first.close()
    make_room(tmp_path, 200, lambda: ["d"]).close()
    assert left() == "bcd"
    make_room(tmp_path, 0, lambda: ["d"]).close()
    assert left() == "d"


def test_what_is_half_deleted_is_not_taken_for_whole(trained: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a process leaves it that is killed meanwhile; the next that is alone there deletes the rest."""
    store, key = trained
    before = store.load(key)
    (folder := store.root / "encoders" / "e").mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    store._room.close()
    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", lambda *_, **__: None)
        make_room(store.root, 0, list).close()
    assert not folder.exists()
    assert not store.here(key)
    assert len([*store.units.glob(f".{key}-*"), *folder.parent.glob(".e-*")]) == 2
    make_room(store.root, 10**9, list).close()
    assert not [*store.units.iterdir(), *folder.parent.iterdir()]
    assert store.load(key).epochs == before.epochs


def test_what_is_fetched_is_on_the_disk_before_it_has_its_name(
    trained: tuple, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, key = trained
    real, flushed = client.flush, set()
    monkeypatch.setattr(client, "flush", lambda path: (flushed.add(path.stat().st_ino), real(path)))
    store.load(key)
    assert store.weights(key) is not None
    found = {path.name: path.stat().st_ino for path in (store.units / key).glob("[!.]*")}
    assert {"unit.json", "test.parquet", "model.safetensors"} < found.keys()
    assert set(found.values()) <= flushed


def test_what_was_removed_here_is_fetched_again(trained: tuple, node: Callable) -> None:
    store, key = trained
    before = store.load(key)
    store._room.close()
    again = opened(node("two", "store.cache_gb=1e-9"))
    assert not (again.units / key).exists()
    assert again.load(key).epochs == before.epochs
