"""A suite's tracking goes through its journal: the store may be away, and gets the same in the end."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from listening import Listening, Watcher
from memory_tracker import MemoryTracker
from uploads import InThread

from mtlv.errors import RefusedError, TrackingError
from mtlv.events import ignore
from mtlv.suite.delivery import deliver
from mtlv.suite.run import run_suite
from mtlv.suite.status import status_lines
from mtlv.tracking import sync, upload_process
from mtlv.tracking.journal import FOLDER, Journal
from mtlv.tracking.journal_reader import journals
from mtlv.tracking.journal_tracker import JournalTracker
from mtlv.tracking.tracker import RunSpec
from mtlv.tracking.upload_process import UploadProcess
from mtlv.tracking.uploader import UploadInterval

SECRET = "hunter2-s3cret"
SERVER = f"http://ada:{SECRET}@127.0.0.1:9"


class Server:
    """A store that is there or not; `error` is what it answers."""

    def __init__(self) -> None:
        self.memory = MemoryTracker()
        self.error: TrackingError | None = None

    def check_access(self, uri: str) -> None:
        if self.error:
            raise self.error

    def open(self, uri: str, experiment: str) -> MemoryTracker:
        self.check_access(uri)
        return self.memory


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()
    monkeypatch.setattr(upload_process, "ChildProcess", InThread)
    for module in (upload_process, sync):
        monkeypatch.setattr(module, "check_access", made.check_access)
        monkeypatch.setattr(module, "open_tracker", made.open)
    monkeypatch.setattr(UploadInterval, "__init__", _quick)
    return made


def _quick(self: UploadInterval, *_: float, **__: float) -> None:
    for name, value in {
        "interval": 0.01,
        "first": 0.01,
        "longest": 0.05,
        "closing": 0.05,
        "silence": 0.0,
    }.items():
        object.__setattr__(self, name, value)


AWAY = TrackingError("the tracking server `http://***@127.0.0.1:9` cannot be reached: refused")
UNKNOWN = RefusedError("the tracking server `http://***@127.0.0.1:9` does not accept `ada`")


def told(memory: MemoryTracker) -> dict[str, object]:
    """What every run holds, but its times and pictures of them."""
    return {
        uid: (
            run.status,
            run.params,
            run.tags,
            sorted(map(repr, run.points)),
            sorted(run.files),
            run.spec.parent,
        )
        for uid, run in memory.runs.items()
    }


@pytest.fixture
def made(table: Callable, suite: Callable) -> Callable:
    return lambda *changes: suite(
        table("t"), f"tracking.uri={SERVER}", "tracking.flush_seconds=0.3", "training.epochs=1", *changes
    )


def test_a_suite_that_trained_without_its_server_is_told_in_full_by_sync(
    made: Callable, server: Server, tmp_path: Path
) -> None:
    direct, listener = MemoryTracker(), Watcher()
    server.error = AWAY
    result = run_suite(made(), listener, None)
    assert result.rows
    assert result.where == ("The runs are at http://***@127.0.0.1:9, once they are uploaded",)
    assert "cannot be reached: refused. Training starts anyway" in listener.warned[0]
    assert listener.warned[-1].startswith("not in the tracking store yet: ")
    assert f"`mtlv sync --store {tmp_path / 'store'}` uploads them" in listener.warned[-1]
    written = [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert not any(SECRET.encode() in path.read_bytes() for path in written)
    assert sync.waiting(tmp_path / "store", print) > 0
    last = status_lines(tmp_path / "store", None)[0][-1]
    assert last.endswith(f"`mtlv sync --store {tmp_path / 'store'}` uploads them")
    run_suite(made(), ignore, direct)

    def ask(uri: str | None) -> list[str]:
        return sync.sync_store(tmp_path / "store", uri, listener.warn, patience=0.3)

    with pytest.raises(TrackingError, match=r"cannot be reached"):
        ask(SERVER)
    server.error = None
    with pytest.raises(TrackingError, match=r"had a user or password.*give the whole address with `--uri`"):
        ask(None)
    (line,) = ask(SERVER)
    assert line.endswith(" records uploaded to `http://***@127.0.0.1:9`")
    assert told(server.memory) == told(direct)
    before = told(server.memory)
    (line,) = ask(None)
    assert line.startswith("nothing to upload")
    assert told(server.memory) == before
    assert sync.waiting(tmp_path / "store", print) == 0


def test_the_next_run_delivers_first_what_an_earlier_one_left(
    made: Callable, server: Server, tmp_path: Path
) -> None:
    server.error = AWAY
    run_suite(made("architecture=mtl"), Watcher())
    server.error, listener = None, Watcher()
    run_suite(made("architecture=stl"), listener)
    assert any("records of earlier runs are uploaded" in note for note in listener.notes)
    assert listener.warned == []
    tags = [run.tags["mtlv.architecture"] for run in server.memory.runs.values()]
    assert tags == ["mtl", "mtl", "stl", "stl"]
    assert journals(tmp_path / "store" / FOLDER) == []


def test_a_journal_that_is_deleted_while_it_is_written_is_named(
    made: Callable, server: Server, tmp_path: Path
) -> None:
    settings, listener = made().members[0].settings, Watcher()
    server.error = AWAY
    with UploadProcess(SERVER, settings.experiment, print) as post, deliver(settings, listener, post) as way:
        way.tracker.open_run(RunSpec("a", "first"))
        shutil.rmtree(tmp_path / "store" / FOLDER)
        way.tracker.open_run(RunSpec("b", "second"))
    assert "was deleted" in listener.warned[-1]


def test_an_unknown_user_is_refused_before_anything_is_prepared(
    made: Callable, server: Server, tmp_path: Path
) -> None:
    server.error = UNKNOWN
    with pytest.raises(RefusedError, match="does not accept `ada`"):
        run_suite(made(), ignore)
    assert not (tmp_path / "store").exists()


def test_a_file_that_cannot_be_written_is_an_error_not_an_outage(
    table: Callable, suite: Callable, server: Server
) -> None:
    server.error = TrackingError("the tracking store `sqlite:///x.db` cannot be written")
    with pytest.raises(TrackingError, match="cannot be written"):
        run_suite(suite(table("t")), ignore)


@pytest.mark.parametrize(("stop", "status"), [(KeyboardInterrupt, "KILLED"), (ValueError, "FAILED")])
def test_a_stopped_suite_tells_the_store_so(
    stop: type[BaseException], status: str, made: Callable, server: Server
) -> None:
    class Stopper(Listening):
        def unit_started(self, *_: object) -> None:
            raise stop

    with pytest.raises(stop):
        run_suite(made(), Stopper())
    assert {run.status for run in server.memory.runs.values()} == {status}


def test_a_journal_for_another_store_is_left_for_sync(made: Callable, server: Server, tmp_path: Path) -> None:
    root = tmp_path / "store" / FOLDER
    other = Journal(root, "http://other:9", "unit")
    JournalTracker(other).open_run(RunSpec("theirs", "n"))
    other.close()
    run_suite(made(), ignore)
    assert "theirs" not in server.memory.runs
    assert journals(root) == [other.folder]
    assert sync.sync_store(tmp_path / "store", None, lambda _: None, patience=1) == [
        "1 record uploaded to `http://other:9`"
    ]


def test_sync_leaves_a_running_process_alone(made: Callable, server: Server, tmp_path: Path) -> None:
    settings = made().members[0].settings
    with (
        UploadProcess(SERVER, settings.experiment, print) as post,
        deliver(settings, ignore, post),
    ):
        lines = sync.sync_store(Path(settings.store.uri), None, lambda _: None, patience=1)
    assert lines[0] == "1 journal is written or uploaded by a running process"
    with pytest.raises(TrackingError, match="there is no store"):
        sync.sync_store(tmp_path / "nowhere", None, lambda _: None, patience=1)
