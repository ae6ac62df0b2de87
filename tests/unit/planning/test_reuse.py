"""`--if-exists`, `mtlv clean`, and units that other processes work on."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from listening import Watcher
from memory_tracker import MemoryTracker

from mtlv.disk import remove
from mtlv.errors import TrackingError
from mtlv.events import ignore
from mtlv.execution import local
from mtlv.locks import hold_lock, holder
from mtlv.planning.preview import DONE, NEW, would_run_lines
from mtlv.planning.resolve import resolve
from mtlv.store.garbage import leftovers
from mtlv.store.local import Store
from mtlv.suite.clean import clean_lines
from mtlv.suite.run import run_suite
from mtlv.units.input_cache import InputCache

CHANGES = ("architecture=mtl", "training.epochs=1")
ANOTHER = "runs=[{architecture: mtl}, {architecture: stl}]"


@pytest.fixture
def trained(suite: Callable, table: Callable) -> tuple:
    made, tracker = suite(table("t"), *CHANGES), MemoryTracker()
    run_suite(made, ignore, tracker)
    return made, tracker


def test_resume_trains_nothing_twice(trained: tuple) -> None:
    made, tracker = trained
    before, counter = len(tracker.runs), Watcher()
    run_suite(made, counter, tracker, if_exists="resume")
    assert not counter.trained
    assert len(tracker.runs) == before


def test_rerun_trains_anew_in_runs_of_its_own_and_can_be_resumed(trained: tuple) -> None:
    made, tracker = trained
    before, counter = set(tracker.runs), Watcher()
    run_suite(made, counter, tracker, if_exists="rerun")
    assert len(counter.trained) == 1
    again = set(tracker.runs) - before
    assert len(again) == len(before)
    run_suite(made, counter, tracker, if_exists="resume")
    assert set(tracker.runs) == before | again
    assert len(counter.trained) == 1


def test_fail_names_what_is_there(trained: tuple) -> None:
    made, tracker = trained
    with pytest.raises(TrackingError, match=r"1 of the suite's 1 units are in .*store already \(got MTL"):
        run_suite(made, ignore, tracker, if_exists="fail")


def test_only_missing_leaves_whole_members_alone(trained: tuple, suite: Callable, table: Callable) -> None:
    assert trained
    counter, untouched = Watcher(), MemoryTracker()
    result = run_suite(
        suite(table("t"), "training.epochs=1", ANOTHER), counter, untouched, if_exists="only-missing"
    )
    assert len(counter.trained) == 3
    assert [member.name for member in result.members] == ["STL"]
    nothing = run_suite(
        suite(table("t"), "training.epochs=1", ANOTHER), counter, untouched, if_exists="only-missing"
    )
    assert nothing.where == ("Nothing is missing: all units are in the store.",)


def test_a_unit_on_which_another_process_works_is_waited_for(
    suite: Callable, table: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other process trains the first unit; this one goes on with the others, then takes the first."""
    made = suite(table("t"), "architecture=stl", "training.epochs=1")
    run_suite(made, ignore, MemoryTracker())
    store, key = Store(tmp_path / "store"), None
    for path in store.units.iterdir():
        key = key or path.name
    assert key is not None
    parked = tmp_path / "parked"
    (store.units / key).rename(parked)
    lock = hold_lock(store.lock(key))
    assert lock.__enter__()

    def other_is_done(_: float) -> None:
        parked.rename(store.units / key)
        lock.__exit__(None, None, None)

    monkeypatch.setattr(local.time, "sleep", other_is_done)
    counter = Watcher()
    result = run_suite(made, counter, MemoryTracker())
    assert len(result.members) == 1
    assert not counter.trained
    assert any(f"process {os.getpid()} on " in note for note in counter.notes)


def test_a_lock_goes_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / "locks" / "unit.lock"
    code = (
        "import sys, time; from pathlib import Path; from mtlv.locks import hold_lock\n"
        "with hold_lock(Path(sys.argv[1])) as mine: print(mine, flush=True); time.sleep(600)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "True\n"
    with hold_lock(path) as mine:
        assert not mine
    assert holder(path).startswith(f"process {process.pid} on ")
    process.kill()
    process.communicate()
    with hold_lock(path) as mine:
        assert mine


@pytest.fixture
def littered(trained: tuple, tmp_path: Path) -> Store:
    """A store with a finished unit, leftovers of it, and an unfinished unit."""
    store = Store(tmp_path / "store")
    done = next(store.units.iterdir()).name
    for name in (f"units/.{done}-x1/unit.json", f"checkpoints/{done}/1.ckpt", "checkpoints/other/1.broken"):
        path = store.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * 1000)
    (store.root / "checkpoints/other/2.ckpt").write_bytes(b"y")
    return store


def test_clean_takes_what_nothing_needs(littered: Store) -> None:
    found = leftovers(littered)
    done = next(path for path in littered.units.iterdir() if not path.name.startswith(".")).name
    places = {str(each.path.relative_to(littered.root)) for each in found}
    assert places == {f"units/.{done}-x1", f"checkpoints/{done}", "checkpoints/other/1.broken"}
    assert {each.bytes for each in found} == {1000}
    for each in found:
        remove(each.path)
    assert leftovers(littered) == []
    assert littered.has(done)
    assert (littered.root / "checkpoints/other/2.ckpt").exists()


def test_clean_leaves_alone_what_a_process_works_on(littered: Store) -> None:
    done = next(path for path in littered.units.iterdir() if not path.name.startswith(".")).name
    with hold_lock(littered.lock(done)), hold_lock(littered.lock("other")):
        assert leftovers(littered) == []


def test_clean_deletes_only_when_told_to(littered: Store, trained: tuple) -> None:
    made, _ = trained
    listed = clean_lines(littered.root, [], delete=False)
    assert listed[-1] == "0.0 MB would be deleted: add `--yes`"
    assert clean_lines(littered.root, [], delete=False) == listed
    of_config = clean_lines(littered.root, [made], delete=False)
    assert any("checkpoints of a unit that none of the configs needs" in line for line in of_config)
    assert not any("a finished unit that none" in line for line in of_config)
    assert clean_lines(littered.root, [made], delete=True)[-1] == "deleted 0.0 MB"
    assert clean_lines(littered.root, [made], delete=False) == [f"{littered.root}: nothing to clean"]


def test_clean_keeps_the_units_of_every_config(
    littered: Store, trained: tuple, suite: Callable, table: Callable
) -> None:
    """Two configs may have runs of one name: what the other one trained is needed, too."""
    made, _ = trained
    changed = suite(table("t"), *CHANGES, "training.learning_rate=2e-3")
    for suites in ([made, changed], [changed, made]):
        lines = clean_lines(littered.root, suites, delete=False)
        assert not any("a finished unit that none" in line for line in lines)
    assert any(
        "a finished unit that none" in line for line in clean_lines(littered.root, [changed], delete=False)
    )


def test_what_would_run_and_why(trained: tuple, suite: Callable, table: Callable, tmp_path: Path) -> None:
    made, _ = trained
    path, folder = made.path, tmp_path / "store"
    assert would_run_lines(made) == [
        f"`{made.command('run')}` now: 1 of 1 units are in the store and not trained again"
    ]
    changed = suite(table("t"), *CHANGES, "training.learning_rate=2e-3")
    head, line = would_run_lines(changed)
    assert head.startswith(f"`mtlv run {path} ")
    assert head.endswith(f" training.learning_rate=2e-3` now: 0 of 1 units are {DONE}")
    assert line.endswith(f": {NEW}")
    key = resolve(InputCache(), changed.members[0]).children[0].jobs[0].unit.key
    with hold_lock(Store(folder).lock(key)):
        assert would_run_lines(changed)[1].endswith(
            f"process {os.getpid()} on {socket.gethostname()} is training it"
        )
    checkpoints = folder / "checkpoints" / key
    checkpoints.mkdir(parents=True)
    (checkpoints / "000000012.ckpt").touch()
    assert would_run_lines(changed)[1].endswith("it resumes after step 12")
    elsewhere = suite(table("t"), *CHANGES, store="nowhere")
    assert "there is no store" in would_run_lines(elsewhere)[0]


def test_clean_of_no_store(tmp_path: Path) -> None:
    with pytest.raises(TrackingError, match="there is no store"):
        clean_lines(tmp_path, [], delete=True)
