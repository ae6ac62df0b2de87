"""The process that delivers goes with the one that trains, and its end costs nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from listening import Watcher

from mtlv.errors import RefusedError, TrackingError
from mtlv.events import ignore
from mtlv.locks import hold, release
from mtlv.settings import Settings, load_overrides
from mtlv.suite.delivery import deliver
from mtlv.tracking.journal import FOLDER, LOCK, SENDING, Journal
from mtlv.tracking.journal_reader import dead_journals, journals
from mtlv.tracking.journal_tracker import JournalTracker
from mtlv.tracking.mlflow_access import open_client
from mtlv.tracking.sync import sync_store
from mtlv.tracking.tracker import Metric, RunSpec
from mtlv.tracking.upload_process import UploadProcess
from mtlv.tracking.uploader import UploadInterval

PATIENCE = 300.0  # seconds; nothing here takes so long on an idle machine


@pytest.fixture(scope="module", autouse=True)
def uploads_here() -> None:
    """A process of its own is what is tested."""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    given = [f"tracking.uri=sqlite:///{tmp_path}/t.db", f"store.uri={tmp_path}/store", "experiment=e"]
    return load_overrides([*given, f"tracking.flush_seconds={PATIENCE}"]).members[0].settings


@pytest.fixture
def uploads(settings: Settings) -> Iterator[UploadProcess]:
    """With a store that is there: the process would take seconds to make it."""
    open_client(str(settings.tracking.uri))
    with UploadProcess(str(settings.tracking.uri), "e", heard.append) as made:
        heard.clear()
        assert made.check()
        yield made


heard: list[str] = []


def wait_for(what: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_all_is_in_the_store_when_it_finishes(uploads: UploadProcess, settings: Settings) -> None:
    with deliver(settings, ignore, uploads) as delivery:
        run = delivery.tracker.open_run(RunSpec("u", "n"))
        delivery.tracker.metrics(run, [Metric("loss", 0.5)])
        delivery.tracker.close(run)
    assert delivery.upload.left == 0
    assert journals(Path(settings.store.uri) / FOLDER) == []
    assert heard == []


def test_ctrl_c_and_a_polite_end_are_for_the_one_that_trains(
    uploads: UploadProcess, settings: Settings
) -> None:
    with deliver(settings, ignore, uploads) as delivery:
        delivery.tracker.open_run(RunSpec("u", "n"))
        assert os.getpgid(uploads._process.process.pid) != os.getpgid(0)
        os.kill(uploads._process.process.pid, signal.SIGTERM)
    assert delivery.upload.left == 0


def test_its_end_is_told_and_what_it_had_not_delivered_is_left_for_sync(
    uploads: UploadProcess, settings: Settings
) -> None:
    observer = Watcher()
    with deliver(settings, observer, uploads) as delivery:
        uploads._process.process.kill()
        wait_for(lambda: bool(heard))
        delivery.tracker.open_run(RunSpec("u", "n"))
    assert heard == [
        "the process that uploads to the tracking store has ended. "
        "All records are kept; upload them with `mtlv sync`"
    ]
    (warning,) = observer.warned
    assert warning.startswith("not in the tracking store yet: 1 record, kept in")
    assert "mtlv sync" in warning
    lines = sync_store(Path(settings.store.uri), None, print, patience=PATIENCE)
    assert lines[0].startswith("1 record uploaded to")


def test_it_ends_with_the_process_that_trains_however_that_ends(settings: Settings, tmp_path: Path) -> None:
    script = f"""
import os, sys, time
from mtlv.tracking.upload_process import UploadProcess
uploads = UploadProcess({settings.tracking.uri!r}, "e", print)
uploads.check()
print(uploads._process.process.pid, flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as trains:
        assert trains.stdout is not None
        pid = int(trains.stdout.readline())
        trains.kill()
    wait_for(lambda: _state(pid) in ("", "Z"))


def test_runs_of_a_killed_process_are_marked_by_the_next(settings: Settings) -> None:
    from mlflow import MlflowClient

    open_client(str(settings.tracking.uri))
    script = f"""
import time
from mtlv.events import ignore
from mtlv.settings import load_overrides
from mtlv.suite.delivery import deliver
from mtlv.tracking import RunSpec
from mtlv.tracking.upload_process import UploadProcess
suite = load_overrides([{f"store.uri={settings.store.uri}"!r}, "tracking.send_seconds=0.1"])
uploads = UploadProcess({settings.tracking.uri!r}, "e", print)
with uploads, deliver(suite.members[0].settings, ignore, uploads) as way:
    way.tracker.open_run(RunSpec("parent", "suite"))
    way.tracker.open_run(RunSpec("child", "fold 0", parent="parent"))
    print("open", flush=True)
    time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as trains:
        assert trains.stdout is not None
        assert trains.stdout.readline() == "open\n"
        trains.kill()
    root = Path(settings.store.uri) / FOLDER
    (journal,) = journals(root)
    wait_for(lambda: not busy(journal))
    heard.clear()
    with (
        UploadProcess(str(settings.tracking.uri), "e", heard.append) as uploads,
        deliver(settings, ignore, uploads) as delivery,
    ):
        delivery.tracker.close(delivery.tracker.open_run(RunSpec("parent", "suite")))
    client = MlflowClient(settings.tracking.uri)
    experiment = client.get_experiment_by_name("e")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id])
    assert {run.info.run_name: run.info.status for run in runs} == {"suite": "FINISHED", "fold 0": "KILLED"}
    (text,) = heard
    assert text.startswith(
        "2 runs marked KILLED in MLflow, because their process was killed: `suite`, `fold 0`"
    )
    assert journals(root) == []


def busy(journal: Path) -> bool:
    """Whether a process holds a lock of a journal."""
    locks = [hold(journal / name) for name in (LOCK, SENDING)]
    for lock in locks:
        release(lock)
    return None in locks


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""


def test_a_journal_that_is_still_delivered_is_not_delivered_by_another(
    uploads: UploadProcess, settings: Settings
) -> None:
    root = Path(settings.store.uri) / FOLDER
    journal = Journal(root, uploads.uri, "e")
    uploads.begin(root, journal.folder, UploadInterval())
    JournalTracker(journal).open_run(RunSpec("u", "n"))
    journal.close()  # as by the end of the process that writes it
    assert dead_journals(root, print) == []
    uploads._process.process.kill()
    uploads._process.process.wait()
    assert len(dead_journals(root, print)) == 1


def test_a_store_that_cannot_be_used_is_said_so_before_anything_is_made(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/nowhere/t.db"
    with UploadProcess(uri, "e", heard.append) as uploads, pytest.raises(TrackingError, match="nowhere"):
        uploads.check()
    assert list(tmp_path.iterdir()) == []


def test_a_deleted_experiment_is_refused_before_training(uploads: UploadProcess, settings: Settings) -> None:
    from mlflow import MlflowClient

    client = MlflowClient(settings.tracking.uri)
    client.delete_experiment(client.create_experiment("e"))
    with pytest.raises(RefusedError, match="deleted"), deliver(settings, ignore, uploads):
        pytest.fail("it trained")
    assert journals(Path(settings.store.uri) / FOLDER) == []
