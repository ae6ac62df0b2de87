"""`mtlv status` tells what a suite does: from another process, after its end, and after it was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mtlv.events import BatchTrained, EpochEnded, UnitEnded, UnitPlaced, UnitResumed, UnitStarted
from mtlv.sealed import unseal, write_sealed
from mtlv.store import progress
from mtlv.store.progress import FOLDER, KEPT_FILES, SuiteProgress, SuiteState, UnitState, read_states
from mtlv.suite import status
from mtlv.suite.status import status_lines

CONFIG = Path("/somewhere/c.yml")


def units(count: int = 4, member: str = "stl · tiny") -> list[UnitState]:
    return [UnitState(f"k{i}", f"{member} · Task {i}", member) for i in range(count)]


def suite(count: int = 4, config: Path = CONFIG) -> SuiteState:
    return SuiteState("reports", str(config), units=units(count))


def say(store: Path, config: Path | None = None) -> list[str]:
    return status_lines(store, config)[0]


@pytest.fixture(autouse=True)
def _without_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "WRITE_INTERVAL_SECONDS", 0.0)
    monkeypatch.setattr(progress, "WRITE_INTERVAL_FACTOR", 0.0)
    monkeypatch.setattr(status, "duration", lambda _: "a while")


def test_a_store_without_suites(tmp_path: Path) -> None:
    assert say(tmp_path / "nothing") == [
        f"no suite has run with the store `{tmp_path / 'nothing'}` yet; start one with `mtlv run CONFIG`"
    ]
    assert "no suite of `/somewhere/c.yml` has run" in say(tmp_path, CONFIG)[0]


def test_a_store_with_suites_of_other_configs(tmp_path: Path) -> None:
    """A job of a cluster reads a copy of the config."""
    with SuiteProgress(tmp_path, suite()):
        pass
    (line,) = say(tmp_path, tmp_path / "copy.yml")
    assert f"of `{tmp_path / 'copy.yml'}` has run" in line
    assert f"`mtlv status store.uri={tmp_path}` shows others" in line


def test_a_running_suite_unit_by_unit(tmp_path: Path) -> None:
    with SuiteProgress(tmp_path, suite()) as watcher:
        names = [unit.name for unit in watcher.state.units]
        watcher(UnitEnded(names[0], True, 10, 1))
        watcher(UnitStarted(names[1], 2, 3, 10))
        watcher(UnitEnded(names[1], False, 10, 2))
        watcher(UnitStarted(names[2], 3, 8, 10))
        watcher(EpochEnded(names[2], 2, 8, 0.5, {}, 812.3))
        lines = say(tmp_path, CONFIG)
    assert lines[0].startswith(f"reports (/somewhere/c.yml): running here (process {os.getpid()}) for ")
    assert lines[1] == "4 units: 2 done, 1 running, 1 waiting, 0 failed; 1 of them taken from the store"
    assert lines[2] == "  done     stl · tiny · Task 0: taken from the store"
    assert lines[3] == "  done     stl · tiny · Task 1: a while"
    assert lines[4].startswith("  running  stl · tiny · Task 2: 2 of 8 epochs, 812 documents/s, since ")
    assert lines[5] == "  waiting  stl · tiny · Task 3"


def test_a_finished_suite_is_the_last_one(tmp_path: Path) -> None:
    with SuiteProgress(tmp_path, suite(2)) as watcher:
        for unit in watcher.state.units:
            watcher(UnitStarted(unit.name, 1, 1, 10))
            watcher(UnitEnded(unit.name, False, 10, 1))
    lines = say(tmp_path)
    assert lines[0].startswith("reports (/somewhere/c.yml): done after a while, a while ago")
    assert lines[1] == "2 units: 2 done, 0 running, 0 waiting, 0 failed"


def fail(watcher: SuiteProgress, error: BaseException) -> None:
    watcher(UnitStarted(watcher.state.units[0].name, 1, 5, 10))
    raise error


@pytest.mark.parametrize(
    ("error", "state", "reason"),
    [
        (ValueError("the loss is not finite"), "failed", ": the loss is not finite"),
        (KeyboardInterrupt(), "stopped", ""),
    ],
)
def test_how_a_suite_ended(tmp_path: Path, error: BaseException, state: str, reason: str) -> None:
    watcher = SuiteProgress(tmp_path, suite(2))
    with pytest.raises(type(error)), watcher:
        fail(watcher, error)
    lines = say(tmp_path)
    assert f": {state} after " in lines[0]
    assert lines[0].endswith(f" ago{reason}")
    assert lines[2].startswith(f"  {state:<9}stl · tiny · Task 0: 0 of 5 epochs, since ")
    assert lines[3] == "  waiting  stl · tiny · Task 1"


KILLED = """
import sys, time
from pathlib import Path
from mtlv.events import EpochEnded, UnitStarted
from mtlv.store.progress import SuiteProgress, SuiteState, UnitState
state = SuiteState("reports", "/somewhere/c.yml", units=[UnitState("k", "unit", "member")])
with SuiteProgress(Path(sys.argv[1]), state) as watcher:
    watcher(UnitStarted("unit", 1, 5, 10))
    time.sleep(1.1)
    watcher(EpochEnded("unit", 1, 5, 0.5, {}, 100))
    print("ready", flush=True)
    time.sleep(60)
"""


WATCHED = """
import signal, sys, time
from pathlib import Path
from mtlv.cli import main, status
status.WATCH_INTERVAL_SECONDS = 0.2
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background of a shell ignores it
sys.exit(main(["status", "--store", sys.argv[1], "--watch"]))
"""


def watch(store: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-u", "-c", WATCHED, str(store)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_watching_waits_for_the_suite_and_ends_with_one_line(tmp_path: Path) -> None:
    """Into a pipe, as here."""
    process = watch(tmp_path)
    try:
        assert process.stdout is not None
        assert "no suite has run" in process.stdout.readline()
        assert process.stdout.readline().startswith("waiting for it to start")
        with SuiteProgress(tmp_path, suite(1)) as watcher:
            process.stdout.readline()
            assert "running here" in process.stdout.readline()
            watcher(UnitStarted(watcher.state.units[0].name, 1, 1, 10))
            watcher(UnitEnded(watcher.state.units[0].name, False, 10, 1))
        out, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, errors) == (0, "")
    last = out.splitlines()
    assert last[-1].startswith("reports (/somewhere/c.yml): done after ")
    assert last[-2] == ""


def test_watching_ends_by_ctrl_c(tmp_path: Path) -> None:
    process = watch(tmp_path)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out, errors) == (0, "not watched any more; the suite goes on\n", "")


def test_another_process_that_runs_and_then_is_killed(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert f"running here (process {process.pid})" in say(tmp_path)[0]
        process.send_signal(signal.SIGKILL)
        process.wait(30)
    finally:
        process.kill()
    lines = say(tmp_path)
    assert f"stopped: its process {process.pid} has ended, last update " in lines[0]
    assert lines[1] == "1 unit: 0 done, 0 running, 0 waiting, 0 failed, 1 stopped"
    assert lines[2].startswith("  stopped  unit: 1 of 5 epochs, 100 documents/s, since ")


def change(store: Path, **values: object) -> None:
    (path,) = (store / FOLDER).glob("*.json")
    write_sealed(path, {**unseal(path.read_text()), **values})


def test_a_number_that_another_process_has_now_is_not_the_suite(tmp_path: Path) -> None:
    with SuiteProgress(tmp_path, suite()) as watcher:
        if watcher.state.born is None:
            pytest.skip("this system does not say when a process was started")
        change(tmp_path, born=watcher.state.born - 1)
        assert "has ended" in say(tmp_path)[0]


def test_another_machine(tmp_path: Path) -> None:
    with SuiteProgress(tmp_path, suite()):
        change(tmp_path, host="node-7", pid=12)
        assert "on another machine, `node-7` (process 12), last update a while ago" in say(tmp_path)[0]


def test_two_suites_of_one_store(tmp_path: Path) -> None:
    other = Path("/somewhere/d.yml")
    with SuiteProgress(tmp_path, suite()), SuiteProgress(tmp_path, suite(config=other)):
        assert len(list((tmp_path / FOLDER).glob("*.json"))) == 2
        text = "\n".join(say(tmp_path))
        assert "c.yml" in text
        assert "d.yml" in text
        assert "d.yml" not in "\n".join(say(tmp_path, CONFIG))


def test_the_same_suite_again_takes_its_file_and_beside_a_running_one_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        with SuiteProgress(tmp_path, suite()):
            pass
    assert len(read_states(tmp_path / FOLDER)) == 1
    with SuiteProgress(tmp_path, suite()):
        monkeypatch.setattr(os, "getpid", lambda: 1)
        with SuiteProgress(tmp_path, suite()):
            assert len(read_states(tmp_path / FOLDER)) == 2


def test_old_files_are_forgotten_and_broken_ones_passed_over(tmp_path: Path) -> None:
    for number in range(KEPT_FILES + 5):
        with SuiteProgress(tmp_path, suite(config=Path(f"/somewhere/{number}.yml"))):
            pass
    (tmp_path / FOLDER / "broken.json").write_text("{")
    states = read_states(tmp_path / FOLDER)
    assert KEPT_FILES - 1 <= len(states) <= KEPT_FILES
    assert states[0].config == f"/somewhere/{KEPT_FILES + 4}.yml"


def test_a_file_that_another_suite_tidies_away_ends_no_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir()
    (folder / "gone.json").symlink_to(folder / "nowhere")  # listed, but not there when it is looked at
    with SuiteProgress(tmp_path, suite()) as watcher:
        assert watcher.path.is_file()


def test_a_large_suite_is_told_by_members(tmp_path: Path) -> None:
    state = SuiteState("big", str(CONFIG), units=[*units(50, "stl"), *units(50, "mtl")])
    with SuiteProgress(tmp_path, state) as watcher:
        watcher(UnitStarted("stl · Task 3", 1, 9, 10))
        lines = say(tmp_path)
    assert lines[2] == "  stl: 0 done, 1 running, 49 waiting, 0 failed"
    assert lines[3] == "  mtl: 0 done, 0 running, 50 waiting, 0 failed"
    assert lines[4].startswith("  running  stl · Task 3: 0 of 9 epochs, since ")
    assert len(lines) == 5


def test_it_writes_at_most_once_a_pause_and_leaves_no_half_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "WRITE_INTERVAL_SECONDS", 3600.0)
    written = []
    real = os.replace
    monkeypatch.setattr(os, "replace", lambda *names: (written.append(names), real(*names)))
    with SuiteProgress(tmp_path, suite(300)) as watcher:
        for unit in watcher.state.units:
            watcher(UnitEnded(unit.name, True, 10, 1))
            watcher(BatchTrained(unit.name, 10))
        assert len(written) == 1
    assert len(written) == 2, "the start and the end"
    assert [path.suffix for path in (tmp_path / FOLDER).iterdir()] == [".json"]
    assert all(unit.state == "done" for unit in read_states(tmp_path / FOLDER)[0].units)


def test_a_folder_that_cannot_be_written_does_not_end_training(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("")
    with SuiteProgress(tmp_path, suite()) as watcher:
        watcher(UnitStarted(watcher.state.units[0].name, 1, 1, 10))


def test_units_of_a_cluster_by_node(tmp_path: Path) -> None:
    with SuiteProgress(tmp_path, suite()) as watcher:
        names = [unit.name for unit in watcher.state.units]
        for name, node in zip(names, ("b/2", "a/1", "a/1"), strict=False):
            watcher(UnitPlaced(name, node))
            watcher(UnitStarted(name, 1, 8, 10))
        watcher(UnitEnded(names[1], False, 10, 2))
        lines = say(tmp_path)
    assert lines[1] == "4 units: 1 done, 2 running, 1 waiting, 0 failed"
    assert lines[2:4] == ["  node a/1: 1 done, 1 running", "  node b/2: 1 running"]
    assert lines[5] == "  done     stl · tiny · Task 1: a while on a/1"
    assert lines[6].endswith(" on a/1")


def test_a_long_ago_start_has_a_date(tmp_path: Path) -> None:
    with SuiteProgress(tmp_path, suite(1)) as watcher:
        watcher(UnitStarted(watcher.state.units[0].name, 1, 1, 10))
        watcher.state.units[0].since = time.time() - 3 * 86400
        watcher(BatchTrained(watcher.state.units[0].name, 1))
        watcher(EpochEnded(watcher.state.units[0].name, 1, 1, 0.1, {}, 5.0))
        assert "since 20" in say(tmp_path)[2]


def test_a_moved_config_finds_the_suite_of_its_old_place(tmp_path: Path) -> None:
    with SuiteProgress(tmp_path, suite(config=Path("/old/c.yml"))):
        pass
    assert "has run with the store" not in say(tmp_path, Path("/new/c.yml"))[0]
    assert "has run with the store" in say(tmp_path, Path("/new/other.yml"))[0]


def test_a_copied_config_finds_the_suite_and_another_of_its_name_does_not(tmp_path: Path) -> None:
    old, copy, other = (tmp_path / name / "config.yml" for name in ("old", "copy", "other"))
    for path in (old, copy, other):
        path.parent.mkdir()
        path.write_text("seed: 1" if path is other else "seed: 0", encoding="utf-8")
    with SuiteProgress(tmp_path, suite(config=old)):
        pass
    assert "has run with the store" not in say(tmp_path, copy)[0]
    assert "has run with the store" in say(tmp_path, other)[0]


def test_a_resumed_unit_shows_its_epoch(tmp_path: Path) -> None:
    with SuiteProgress(tmp_path, suite(1)) as watcher:
        (unit,) = watcher.state.units
        watcher(UnitStarted(unit.name, 1, 8, 10))
        watcher(UnitResumed(unit.name, 5, 4, 20.0))
        assert ": 4 of 8 epochs, 20 documents/s, since " in say(tmp_path)[2]


@pytest.mark.parametrize("terminal", [False, True])
def test_watching_ends_with_the_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], terminal: bool
) -> None:
    from mtlv.cli import main
    from mtlv.cli import status as command

    watcher = SuiteProgress(tmp_path, suite(2)).__enter__()
    one, two = (unit.name for unit in watcher.state.units)
    steps = [
        lambda: watcher(UnitStarted(one, 1, 1, 10)),
        lambda: None,
        lambda: watcher(UnitEnded(one, False, 10, 1)),
        lambda: (watcher(UnitEnded(two, True, 10, 2)), watcher.__exit__(None, None, None)),
    ]
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        steps.pop(0)()

    monkeypatch.setattr(command.time, "sleep", sleep)
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    assert main(["status", "--watch", "--store", str(tmp_path)]) == 0
    assert not steps
    assert waits == [command.WATCH_INTERVAL_SECONDS] * 4
    shown = [line for line in capsys.readouterr().out.splitlines() if "units:" in line]
    counts = [
        "0 done, 0 running",
        "0 done, 1 running",
        "0 done, 1 running",
        "1 done, 0 running",
        "2 done, 0 running",
    ]
    assert [line.split(": ")[1].split(", ")[:2] for line in shown] == [
        count.split(", ") for number, count in enumerate(counts) if terminal or number != 2
    ], "in a file, only what has changed"


def test_watching_what_has_ended_shows_it_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from mtlv.cli import main

    with SuiteProgress(tmp_path, suite(1)):
        pass
    assert main(["status", "--watch", "--store", str(tmp_path)]) == 0
    assert capsys.readouterr().out.count("1 unit:") == 1
