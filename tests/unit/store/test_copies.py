"""`mtlv store push` and `pull`: a copied unit is complete and unchanged, or not there."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.registry import known_implementations
from listening import Watcher
from memory_tracker import MemoryTracker
from what_came import files, points

from mtlv.cli import main
from mtlv.errors import TrackingError
from mtlv.events import ignore
from mtlv.settings import Suite
from mtlv.store.copies import pull, push
from mtlv.store.local import Store
from mtlv.store.unit_files import UNIT, read_unit, write_unit
from mtlv.suite.run import run_suite

SMALL = ("architecture=stl", "training.epochs=1", "execution.processes=1", "execution.threads=1")
NAMES = ("unit.json", "model.safetensors", "validation.parquet", "test.parquet", "curve.parquet")
UNITS = 3


@pytest.fixture(scope="module")
def trained(
    tmp_path_factory: pytest.TempPathFactory, writers: tuple
) -> tuple[Store, Callable[..., Suite], dict]:
    """A store with the units of a suite, the suite for another store, and the points that it tracked."""
    write_table, write_suite = writers
    folder, tracker = tmp_path_factory.mktemp("trained"), MemoryTracker()
    path = write_table(folder, "t")

    def suite(store: Path) -> Suite:
        return write_suite(folder, path, *SMALL, f"store.uri={store}")

    run_suite(suite(folder / "store"), ignore, tracker)
    return Store(folder / "store"), suite, points(tracker)


@pytest.fixture
def store(trained: tuple) -> Store:
    return trained[0]


@pytest.fixture(params=["folder", "memory"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    yield str(tmp_path / "there") if request.param == "folder" else "memory://bucket/study"
    MemoryFileSystem.store.clear()


def change(address: str, key: str, name: str, to: Callable[[bytes], bytes]) -> None:
    """Change a file of a unit at an address."""
    system, root = fsspec.url_to_fs(address)
    (path,) = (path for path in system.find(f"{root}/units/{key}") if path.endswith(f"/{name}"))
    system.pipe_file(path, to(system.cat_file(path)))


def flip(content: bytes) -> bytes:
    """One bit, in a part that every reader would take for a value."""
    at = content.index(b'": 0.') + 6 if content.startswith(b"{") else len(content) // 3
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def units(store: Store) -> list[str]:
    return sorted(path.name for path in store.units.iterdir())


def trained_again(store: Store, folder: Path) -> Store:
    """A store with the same units, trained on another machine with other results."""
    other = Store(folder)
    shutil.copytree(store.units, other.units, dirs_exist_ok=True)
    for unit in other.units.iterdir():
        content, _ = read_unit(unit)
        (unit / UNIT).unlink()
        scores = (unit / "test.parquet").read_bytes()
        (unit / "test.parquet").unlink()
        shutil.copy(unit / "validation.parquet", unit / "test.parquet")
        assert (unit / "test.parquet").read_bytes() != scores
        write_unit(unit, content)
    return other


def test_what_was_pushed_and_pulled_is_not_trained_again(
    trained: tuple, address: str, tmp_path: Path
) -> None:
    store, suite, tracked = trained
    lines: list[str] = []
    report = push(store, address, tell=lines.append)
    size = sum(file.stat().st_size for file in store.units.glob("*/*"))
    assert (report.copied, report.present, report.bytes, report.damaged) == (UNITS, 0, size, [])
    assert len(lines) == UNITS
    other, watcher, tracker = Store(tmp_path / "other"), Watcher(), MemoryTracker()
    report = pull(other, address)
    assert (report.copied, report.present, report.bytes, report.damaged) == (UNITS, 0, size, [])
    assert files(other.root) == files(store.root)
    run_suite(suite(other.root), watcher, tracker)
    assert not watcher.trained + watcher.warned
    assert len(watcher.found) == UNITS
    assert points(tracker) == tracked


def test_nothing_is_copied_twice(store: Store, address: str, tmp_path: Path) -> None:
    push(store, address)
    other, again = Store(tmp_path / "other"), trained_again(store, tmp_path / "again")
    pull(other, address)
    for report in (*(push(one, address) for one in (store, other, again)), pull(other, address)):
        assert (report.copied, report.present, report.bytes, report.damaged) == (0, UNITS, 0, [])


def test_a_folder_of_copies_is_a_store(trained: tuple, tmp_path: Path) -> None:
    store, suite, _ = trained
    push(store, str(tmp_path / "there"))
    watcher = Watcher()
    run_suite(suite(tmp_path / "there"), watcher, MemoryTracker())
    assert not watcher.trained


@pytest.mark.parametrize("done", range(len(NAMES) * UNITS))
def test_a_push_that_was_cut_off_is_continued_and_shows_no_half_unit(
    store: Store, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: int
) -> None:
    """After each number of files; half of the next one is written, unless it is `unit.json`."""
    place, method = (MemoryFileSystem, "put_file") if "memory" in address else (LocalFileSystem, "get_file")
    copy, left = getattr(place, method), iter(range(done))

    def fail(self: object, source: str, target: str, **options: object) -> None:
        if next(left, None) is None:
            if Path(source).name != UNIT:
                half = tmp_path / "half"
                half.write_bytes(Path(source).read_bytes()[:100])
                copy(self, str(half), target, **options)
            raise KeyboardInterrupt
        copy(self, source, target, **options)

    with monkeypatch.context() as patch:
        patch.setattr(place, method, fail)
        with pytest.raises(KeyboardInterrupt):
            push(store, address)
    other, complete = Store(tmp_path / "other"), done // len(NAMES)
    if complete:
        assert pull(other, address).copied == complete
    else:
        with pytest.raises(TrackingError, match="has no finished units"):
            pull(other, address)
    assert len(units(other)) == complete
    assert files(other.root).items() <= files(store.root).items()
    report = push(store, address)
    assert (report.copied, report.present, report.damaged) == (UNITS - complete, complete, [])
    pull(other, address)
    assert files(other.root) == files(store.root)
    assert all(other.load(key).key == key for key in units(store))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "harm", [flip, lambda content: content[:-1], lambda _: b""], ids=["flipped", "cut", "empty"]
)
def test_a_damaged_unit_at_the_address_is_named_and_left_out(
    store: Store, address: str, tmp_path: Path, name: str, harm: Callable[[bytes], bytes]
) -> None:
    push(store, address)
    key = units(store)[1]
    change(address, key, name, harm)
    other = Store(tmp_path / "other")
    report = pull(other, address)
    assert (report.copied, report.present) == (UNITS - 1, 0)
    (line,) = report.damaged
    assert line.startswith(f"{address}/units/{key}: `{name}`: ")
    assert key not in units(other)
    assert [path.name for path in other.units.glob(".*")] == []
    assert files(other.root).items() < files(store.root).items()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("address", ["memory"], indirect=True)
def test_a_push_repairs_a_file_that_was_cut(store: Store, address: str, tmp_path: Path, name: str) -> None:
    push(store, address)
    change(address, units(store)[0], name, lambda content: content[:-1])
    assert (push(store, address).copied, pull(Store(tmp_path / "other"), address).copied) == (1, UNITS)


def test_a_unit_under_the_key_of_another_is_refused(store: Store, address: str, tmp_path: Path) -> None:
    push(store, address)
    system, root = fsspec.url_to_fs(address)
    first, second, _ = units(store)
    system.rm(f"{root}/units/{first}", recursive=True)
    system.copy(f"{root}/units/{second}", f"{root}/units/{first}", recursive=True)
    report = pull(Store(tmp_path / "other"), address)
    assert report.copied == UNITS - 1
    (line,) = report.damaged
    assert "`unit.json` is of another unit" in line


@pytest.mark.parametrize("name", NAMES)
def test_a_damaged_unit_of_the_store_is_not_pushed(
    store: Store, address: str, tmp_path: Path, name: str
) -> None:
    own = Store(tmp_path / "own")
    shutil.copytree(store.units, own.units, dirs_exist_ok=True)
    key = units(store)[2]
    path = own.units / key / name
    content = flip(path.read_bytes())
    path.unlink()
    path.write_bytes(content)
    report = push(own, address)
    assert report.copied == UNITS - 1
    (line,) = report.damaged
    assert line.startswith(f"{own.units / key}: `{name}`: ")
    assert pull(Store(tmp_path / "other"), address).copied == UNITS - 1


@pytest.mark.parametrize("at", range(1, len(NAMES) * UNITS + 1))
def test_two_pushes_at_once_do_not_mix(
    store: Store, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """Another process pushes its own training of the units before a file of the first is written."""
    second = trained_again(store, tmp_path / "second")
    place, method = (MemoryFileSystem, "put_file") if "memory" in address else (LocalFileSystem, "get_file")
    copy, calls = getattr(place, method), iter(range(1, 1000))

    def late(self: object, *arguments: str, **options: object) -> None:
        if next(calls) == at:
            push(second, address)
        copy(self, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(place, method, late)
        report = push(store, address)
    assert report.copied + report.present == UNITS
    other = Store(tmp_path / "other")
    report = pull(other, address)
    assert (report.copied, report.damaged) == (UNITS, [])
    for key in units(store):
        assert other.load(key).key == key
        assert {path.name: path.read_bytes() for path in (other.units / key).iterdir()} in [
            {path.name: path.read_bytes() for path in (one.units / key).iterdir()} for one in (store, second)
        ]


@pytest.mark.parametrize("address", ["memory"], indirect=True)
def test_of_two_copies_the_one_without_damage_is_taken(store: Store, address: str, tmp_path: Path) -> None:
    push(store, address)
    second = trained_again(store, tmp_path / "second")
    key = units(store)[0]
    system, root = fsspec.url_to_fs(address)
    first = {path: system.cat_file(path) for path in system.find(f"{root}/units/{key}")}
    system.rm(f"{root}/units/{key}", recursive=True)
    push(second, address, [key])
    for path, content in first.items():
        system.pipe_file(path, content)
    for folder in system.ls(f"{root}/units/{key}", detail=False):
        weights = system.cat_file(f"{folder}/model.safetensors")
        system.pipe_file(f"{folder}/model.safetensors", b"")
        other = Store(tmp_path / folder.rsplit("/", 1)[1])
        assert pull(other, address, [key]).copied == 1
        assert other.load(key).key == key
        system.pipe_file(f"{folder}/model.safetensors", weights)


def test_a_unit_that_another_process_trains_is_left_to_it(store: Store, address: str, tmp_path: Path) -> None:
    push(store, address)
    other, key = Store(tmp_path / "other"), units(store)[0]
    with Store(other.root).lock_unit(key):
        report = pull(other, address)
    assert (report.copied, report.present) == (UNITS - 1, 1)
    assert not other.has(key)
    assert pull(other, address).copied == 1


# ---- The commands ------------------------------------------------------------------------------------------


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, list[str], list[str]]]:
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, list[str], list[str]]:
        try:
            code = main(list(words))
        except SystemExit as end:  # argparse
            code = int(str(end.code))
        out, err = capsys.readouterr()
        return code, out.splitlines(), err.splitlines()

    return call


def test_commands_push_and_pull(store: Store, address: str, command: Callable) -> None:
    there = address if "memory" in address else f"file://{address}"
    code, out, err = command("store", "push", there, "--store", str(store.root))
    assert (code, err) == (0, [])
    assert len(out) == UNITS + 1
    assert out[-1].startswith(f"{UNITS} units copied (")
    assert out[-1].endswith(" MB), 0 were there")
    assert command("store", "push", address, "--store", str(store.root))[1] == [
        f"0 units copied (0.0 MB), {UNITS} were there"
    ]
    change(address, units(store)[0], "test.parquet", flip)
    code, out, err = command("store", "pull", address)
    assert code == 1
    assert out[-1].endswith("0 were there, 1 damaged and left out")
    (line,) = err
    assert f"{units(store)[0]}: `test.parquet`: its checksum does not match" in line
    assert units(Store(Path("mtlv-store"))) == units(store)[1:]


def test_a_suite_restricts_what_is_copied(
    trained: tuple, address: str, command: Callable, tmp_path: Path
) -> None:
    store, suite, _ = trained
    settings = suite(tmp_path / "own").members[0].settings.model_dump()
    settings["tasks"] = ["heart"]
    (tmp_path / "c.yml").write_text(json.dumps({"experiment": "unit", **settings}, default=str))
    code, out, _ = command("store", "push", address, "--store", str(store.root), "--suite", "c.yml")
    assert code == 0
    assert out[-1].startswith("1 unit copied (")
    command("store", "push", address, "--store", str(store.root))
    assert command("store", "pull", address, "--suite", "c.yml")[1][-1].startswith("1 unit copied (")
    assert len(units(Store(tmp_path / "own"))) == 1
    run = Watcher()
    run_suite(suite(tmp_path / "own"), run, MemoryTracker())
    assert len(run.trained) == UNITS - 1


def refused(result: tuple[int, list[str], list[str]]) -> str:
    code, out, err = result
    assert (code, out) == (2, [])
    return err[-1]


def test_what_is_not_there_is_said_and_not_created(address: str, command: Callable, tmp_path: Path) -> None:
    assert "there is no store in `nowhere`; give its folder with `--store FOLDER`" in refused(
        command("store", "push", address, "--store", "nowhere")
    )
    assert not list(tmp_path.iterdir())
    assert f"`{address}` has no finished units; check the address" in refused(
        command("store", "pull", address)
    )


def test_a_missing_package_is_named_as_fsspec_says(
    command: Callable, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(known_implementations, "odd", {"class": "nowhere_fs.System", "err": "install oddfs"})
    said = refused(command("store", "push", "odd://me:secret@host/x", "--store", str(store.root)))
    assert said == "mtlv: `odd://***@host/x` needs a package; install oddfs."


def test_other_errors_name_the_address_and_the_next_step(
    command: Callable, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = refused(command("store", "push", "s4://me:secret@host/x", "--store", str(store.root)))
    assert said.startswith(
        "mtlv: `s4://***@host/x` cannot be used (got Protocol not known: s4); check the address"
    )

    def deny(*_: object, **__: object) -> None:
        raise RuntimeError("403 Forbidden")

    monkeypatch.setattr(MemoryFileSystem, "put_file", deny)
    said = refused(command("store", "push", "memory://denied/x", "--store", str(store.root)))
    assert "`memory://denied/x` cannot be used (got 403 Forbidden); check" in said
    assert said.endswith("it goes on where it stopped.")


@pytest.mark.parametrize("address", ["memory"], indirect=True)
def test_a_full_disk_of_this_machine_is_not_the_address(
    command: Callable, store: Store, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    push(store, address)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(MemoryFileSystem, "get_file", full)
    assert refused(command("store", "pull", address)).startswith("mtlv: the disk is full: ")
    assert not list(Path("mtlv-store/units").iterdir())


@pytest.mark.parametrize(
    "words", [["status"], ["clean"], ["sync"], ["store", "push", "there"], ["store", "pull", "there"]]
)
def test_a_store_is_a_folder(command: Callable, words: list[str], tmp_path: Path) -> None:
    said = refused(command(*words, "--store", "s3://bucket/x"))
    assert "'s3://bucket/x' is an address, not a folder; `mtlv store pull`" in said
    assert not list(tmp_path.iterdir())
