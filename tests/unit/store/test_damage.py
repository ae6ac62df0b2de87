"""Damaged files of finished units: found before they are used, set aside, and the unit trained again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import pytest
from listening import Watcher
from memory_tracker import MemoryTracker
from what_came import files

from mtlv.disk import remove
from mtlv.errors import DamagedError, TrackingError
from mtlv.settings import Suite
from mtlv.store import unit_files
from mtlv.store.garbage import leftovers
from mtlv.store.local import Store
from mtlv.suite.run import run_suite

SMALL = ("training.epochs=1", "execution.processes=1", "execution.threads=1")
STAGED = "runs=[{stages: [{name: one, architecture: mtl}, {name: two, architecture: stl}]}]"
NAMES = ("unit.json", "model.safetensors", "validation.parquet", "test.parquet", "curve.parquet")


@pytest.fixture(scope="module", autouse=True)
def narrow_tiny() -> None:
    """Other processes train units with the real one."""


def flip(path: Path) -> None:
    """One bit, in a part that every reader would take for a value."""
    content = path.read_bytes()
    at = content.index(b'": 0.') + 6 if path.suffix == ".json" else len(content) // 3
    put(path, content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])


def cut(path: Path) -> None:
    content = path.read_bytes()
    put(path, content[: len(content) * 2 // 3])


def empty(path: Path) -> None:
    put(path, b"")


def put(path: Path, content: bytes) -> None:
    """Another file of this name: weights may be linked to elsewhere."""
    path.unlink()
    path.write_bytes(content)


HARMS = {"flipped": flip, "cut": cut, "empty": empty, "removed": Path.unlink}


class Whole:
    """A store with the finished units of a suite, and what they came to; each test harms a copy."""

    def __init__(self, folder: Path, writers: tuple, *changes: str) -> None:
        write_table, write_suite = writers
        self.folder = folder
        self._suite = lambda store, *more: write_suite(
            folder, write_table(folder, "t"), *SMALL, *changes, *more, f"store.uri={store}"
        )
        told = Watcher()
        run_suite(self.suite(folder / "whole"), told, MemoryTracker())
        self.names = told.trained
        self.files = files(folder / "whole")

    def suite(self, store: Path, *more: str) -> Suite:
        return self._suite(store, *more)

    def copy(self, to: Path) -> Store:
        shutil.copytree(self.folder / "whole" / "units", to / "units")
        shutil.copytree(self.folder / "whole" / "tokens", to / "tokens")
        return Store(to)

    def same(self, store: Store) -> bool:
        return files(store.root) == self.files


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory, writers: tuple) -> Whole:
    return Whole(tmp_path_factory.mktemp("single"), writers, "architecture=stl")


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory, writers: tuple) -> Whole:
    return Whole(tmp_path_factory.mktemp("staged"), writers, STAGED, "store.keep_weights=false")


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("name", NAMES)
def test_a_unit_with_a_damaged_file_is_set_aside_and_trained_again(
    single: Whole, tmp_path: Path, name: str, harm: str
) -> None:
    store, told = single.copy(tmp_path / "store"), Watcher()
    key = sorted(path.name for path in store.units.iterdir())[1]
    HARMS[harm](store.units / key / name)
    left = {path.name for path in (store.units / key).iterdir()}
    run_suite(single.suite(store.root), told, MemoryTracker())
    assert single.same(store)
    assert len(told.trained) == 1
    assert set(told.trained) < set(single.names)
    (line,) = told.warned
    aside = store.root / "damaged" / f"{key}-1"
    assert line.startswith(f"{told.trained[0]}: ")
    assert f"damaged (`{name}`" in line
    assert line.endswith(f"it was moved to {aside} and is trained again")
    assert {path.name for path in aside.iterdir()} == left


def test_what_was_set_aside_is_kept_each_time_and_can_be_cleaned(single: Whole, tmp_path: Path) -> None:
    store, told = single.copy(tmp_path / "store"), Watcher()
    key = min(path.name for path in store.units.iterdir())
    for _ in range(2):
        empty(store.units / key / "test.parquet")
        run_suite(single.suite(store.root), told, MemoryTracker())
    again = Watcher()
    run_suite(single.suite(store.root), again, MemoryTracker())
    assert not again.trained + again.warned
    assert len(told.trained) == 2
    assert sorted(path.name for path in store.damaged.iterdir()) == [f"{key}-1", f"{key}-2"]
    found = leftovers(store)
    assert {each.why for each in found} == {"a damaged unit that was moved aside"}
    for each in found:
        remove(each.path)
    assert not list(store.damaged.iterdir())
    assert store.has(key)


@pytest.mark.parametrize("harm", HARMS)
def test_what_others_start_from_is_trained_again_before_them(
    staged: Whole, tmp_path: Path, harm: str
) -> None:
    """Its weights are read only where another unit needs them."""
    store = staged.copy(tmp_path / "store")
    (start,) = (path.parent for path in store.units.glob("*/model.safetensors"))
    HARMS[harm](start / "model.safetensors")
    told = Watcher()
    if harm == "flipped":  # nobody reads them
        run_suite(staged.suite(store.root), told, MemoryTracker())
        assert not told.trained + told.warned
    other = min(path for path in store.units.iterdir() if path != start)
    shutil.rmtree(other)
    run_suite(staged.suite(store.root), told, MemoryTracker())
    assert staged.same(store)
    assert len(told.trained) == 2
    assert told.trained[0] == staged.names[0]
    (line,) = told.warned
    assert line.startswith(f"{staged.names[0]}: ")
    assert "`model.safetensors`" in line


@pytest.mark.slow
def test_in_processes_too(staged: Whole, tmp_path: Path) -> None:
    """Where nothing was missing at first, and where a process finds that what it starts from is damaged."""
    store = staged.copy(tmp_path / "store")
    suite = staged.suite(store.root, "execution.processes=2")
    (start,) = (path.parent for path in store.units.glob("*/model.safetensors"))
    others = sorted(path for path in store.units.iterdir() if path != start)
    told = Watcher()
    flip(others[0] / "curve.parquet")
    run_suite(suite, told, MemoryTracker())
    assert staged.same(store)
    assert (len(told.trained), len(told.warned)) == (1, 1)
    for other in others[:2]:
        shutil.rmtree(other)
    flip(start / "model.safetensors")
    told = Watcher()
    run_suite(suite, told, MemoryTracker())
    assert staged.same(store)
    assert sorted(told.trained) == sorted({*told.trained})
    assert len(told.trained) == 3
    assert staged.names[0] in told.trained
    assert len(told.warned) == 1
    ended = told.ended + told.found
    assert len({*ended}) == 4
    twice = [name for name in {*ended} if ended.count(name) > 1]
    assert set(twice) <= {staged.names[0]}, "which may be found before its damage is"


# ---- Several at once ---------------------------------------------------------------------------------------


@pytest.fixture
def damaged(single: Whole, tmp_path: Path) -> tuple[Store, str, bytes]:
    """A store, a unit whose curve is damaged, and what the curve was."""
    store = single.copy(tmp_path / "store")
    key = min(path.name for path in store.units.iterdir())
    path = store.units / key / "curve.parquet"
    before = path.read_bytes()
    flip(path)
    return store, key, before


def test_while_another_process_has_a_damaged_unit_it_is_left_to_that(damaged: tuple) -> None:
    store, key, _ = damaged
    said: list[str] = []
    with Store(store.root).lock_unit(key) as other:
        assert other
        assert store.read_or_set_aside(key, lambda: store.load(key), said.append) is None
        assert not said
        assert store.has(key)
    assert store.read_or_set_aside(key, lambda: store.load(key), said.append) is None
    assert len(said) == 1
    assert not store.has(key)
    assert (
        store.read_or_set_aside(key, lambda: store.load(key), said.append) is None
    )  # it is gone, and nothing is said
    assert len(said) == 1


def test_what_another_process_has_trained_again_meanwhile_is_taken(
    damaged: tuple, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, key, before = damaged
    held, said = Store.lock_unit, []

    def late(self: Store, key: str) -> object:
        put(store.units / key / "curve.parquet", before)
        return held(self, key)

    monkeypatch.setattr(Store, "lock_unit", late)
    found = store.read_or_set_aside(key, lambda: store.load(key), said.append)
    assert found is not None
    assert found.key == key
    assert not said
    assert not store.damaged.exists()


def test_a_run_waits_for_the_process_that_trains_a_damaged_unit_again(
    damaged: tuple, single: Whole, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mtlv.execution import local

    store, key, before = damaged
    lock = Store(store.root).lock_unit(key)
    assert lock.__enter__()

    def done(_: float) -> None:
        put(store.units / key / "curve.parquet", before)
        lock.__exit__(None, None, None)

    monkeypatch.setattr(local.time, "sleep", done)
    told = Watcher()
    run_suite(single.suite(store.root), told, MemoryTracker())
    assert not told.trained + told.warned
    assert single.same(store)


# ---- What is no damage, and what checksums are of ----------------------------------------------------------


def test_a_file_that_may_not_be_read_is_no_damage(
    single: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = single.copy(tmp_path / "store")
    key = min(path.name for path in store.units.iterdir())

    def refuse(path: Path) -> BinaryIO:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(unit_files, "open_regular", refuse)
    with pytest.raises(TrackingError, match=r"cannot be read .*Permission denied.*; fix this, or") as caught:
        store.read_or_set_aside(key, lambda: store.load(key), pytest.fail)
    assert not isinstance(caught.value, DamagedError)
    assert store.has(key)


def test_a_checksum_is_of_the_very_content(single: Whole, tmp_path: Path) -> None:
    """Also one number in `unit.json`, or a checksum itself, is found where it was changed."""
    store = single.copy(tmp_path / "store")
    key = min(path.name for path in store.units.iterdir())
    path = store.units / key / "unit.json"
    content: Mapping = json.loads(path.read_text())
    changes: list[dict] = [
        {"train_seconds": content["train_seconds"] + 1e-9},
        {"files": {**content["files"], "test.parquet": content["files"]["curve.parquet"]}},
        {"sha256": content["sha256"][::-1]},
    ]
    for change in changes:
        path.write_text(json.dumps({**content, **change}))
        with pytest.raises(DamagedError, match=r"`unit.json`: its checksum does not match"):
            store.load(key)
    for lost in ({"sha256"}, {"files"}, {"sha256", "files"}):
        path.write_text(json.dumps({name: value for name, value in content.items() if name not in lost}))
        with pytest.raises(DamagedError, match=r"`unit.json`: its checksum does not match"):
            store.load(key)
    path.write_text(json.dumps(content))
    assert store.load(key).key == key
    weights = store.weights(key)
    assert weights is not None
    swap = weights.with_name("validation.parquet")
    put(weights, swap.read_bytes())
    with pytest.raises(DamagedError, match=r"`model.safetensors`: its checksum does not match"):
        store.weights(key)


def test_a_damaged_file_of_tokens_is_made_again_with_one_line(single: Whole, tmp_path: Path) -> None:
    store, told = single.copy(tmp_path / "store"), Watcher()
    (path,) = store.tokens.iterdir()
    before = path.read_bytes()
    shutil.rmtree(min(store.units.iterdir()))
    put(path, before[:-8] + bytes([before[-8] ^ 1]) + before[-7:])
    run_suite(single.suite(store.root), told, MemoryTracker())
    assert path.read_bytes() == before
    assert single.same(store)
    (line,) = told.warned
    assert line.startswith(f"the file of tokens {path} is damaged (its checksum does not match")
