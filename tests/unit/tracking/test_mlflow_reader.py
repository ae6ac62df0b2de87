"""What is read of a store, and what is not: files that are not there, and answers without end."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from mtlv.errors import TrackingError
from mtlv.tracking import Metric, RunSpec
from mtlv.tracking import mlflow_reader as readers
from mtlv.tracking.mlflow_reader import MISSING, MlflowReader
from mtlv.tracking.reader import StoredRun


@pytest.mark.parametrize(
    ("said", "missing"),
    [
        ("404 Client Error: NOT FOUND for url: http://h/api/x", True),
        ("API request failed with error code 404 != 200", True),
        ("[Errno 2] No such file or directory: 'x'", True),
        ("500 Server Error for url: http://h/artifacts/1/ab404c0ffee/artifacts/tasks.json", False),
        ("Connection refused", False),
    ],
)
def test_an_id_with_the_digits_404_does_not_make_a_failure_a_missing_file(said: str, missing: bool) -> None:
    assert bool(MISSING.search(said)) is missing


def test_an_artifact_above_the_limit_is_refused_by_its_size(tracker, client):
    run = tracker.open_run(RunSpec("u", "name"))
    tracker.text(run, "{}", "tasks.json")
    reader = MlflowReader(tracker.uri)
    stored = reader.run(run)
    assert reader.files([(stored, "tasks.json")])[0].read_text() == "{}"
    with reader.files([(stored, "tasks.json")])[0].open("r+b") as file:
        file.truncate(200_000_000)  # takes no room on the disk
    with pytest.raises(
        TrackingError,
        match=r"`tasks.json` of run `name` .*large .got 200,000,000 bytes.; allowed: up to 50,000,000; leave",
    ):
        reader.files([(stored, "tasks.json")])


TOLD = {"tasks.json": 2, "curves.json": 200_000_000, "plan.json": None, "scores/test.parquet": 200_000_000}
REAL = {"tasks.json": 2, "plan.json": 60_000_000, "scores/test.parquet": 9}


class Repository:
    """Artifacts behind a server: sizes as it tells them, and as they are."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def list_artifacts(self, path: str | None) -> list[SimpleNamespace]:
        self.asked.append(f"list {path or ''}")
        if path == "grouping":
            raise RuntimeError("404 Client Error: NOT FOUND for url: http://h/api/x")
        if path == "broken":
            raise RuntimeError("500 Server Error")
        folders = [SimpleNamespace(path="scores", file_size=None, is_dir=True)] if path is None else []
        return folders + [
            SimpleNamespace(path=name, file_size=size, is_dir=False)
            for name, size in TOLD.items()
            if name.rpartition("/")[0] == (path or "")
        ]

    def _download_file(self, remote_file_path: str, local_path: str) -> None:
        self.asked.append(remote_file_path)
        with Path(local_path).open("wb") as file:
            file.truncate(REAL[remote_file_path])


@pytest.fixture
def behind(tracker, monkeypatch):
    """A reader, a run whose artifacts are behind a server, and what the server is asked for."""
    server = Repository()
    monkeypatch.setattr(
        "mlflow.store.artifact.artifact_repository_registry.get_artifact_repository", lambda *_, **__: server
    )
    run = StoredRun("r" * 32, "1", "name", "FINISHED", 0, "mlflow-artifacts:/1/r/artifacts")
    return MlflowReader(tracker.uri), run, server.asked


def test_a_server_is_asked_for_sizes_first_and_for_nothing_that_is_not_there(behind):
    reader, run, asked = behind
    names = ["tasks.json", "none.json", "scores", "grouping/groups.json", "scores/test.parquet"]
    found = reader.files([(run, name) for name in names])
    assert [path and path.name for path in found] == ["tasks.json", None, None, None, "test.parquet"]
    assert sorted(asked) == ["list ", "list grouping", "list scores", "scores/test.parquet", "tasks.json"]


def test_what_a_server_says_is_too_large_is_not_fetched(behind):
    reader, run, asked = behind
    with pytest.raises(
        TrackingError, match=r"`curves.json` of run `name` .*too large .got 200,000,000 bytes"
    ):
        reader.files([(run, "curves.json")])
    assert asked == ["list "]
    with pytest.raises(TrackingError, match=r"`plan.json` of run `name` .*too large .got 60,000,000 bytes"):
        reader.files([(run, "plan.json")])  # of which it did not tell the size
    with pytest.raises(TrackingError, match="500 Server Error"):
        reader.files([(run, "broken/a.json")])


def test_a_metric_of_more_points_than_the_limit_is_not_read(tracker, monkeypatch):
    monkeypatch.setattr(readers, "MAX_POINTS", 500)
    run = tracker.open_run(RunSpec("u", "name"))
    tracker.metrics(run, [Metric("few", float(n), n) for n in range(500)])
    tracker.metrics(run, [Metric("many", float(n), n) for n in range(501)])
    reader = MlflowReader(tracker.uri)
    assert reader.history(run, "few") == [(n, float(n)) for n in range(500)]
    with pytest.raises(
        TrackingError, match=r"metric `many` of run .* too many points; allowed: up to 500; leave"
    ):
        reader.history(run, "many")


def test_the_longest_params_and_tags_of_a_store_are_read_whole(tracker, client):
    run = tracker.open_run(RunSpec("u", "name"))
    client.log_param(run, "long", "x" * 6000)
    client.set_tag(run, "long", "é" * 5000)
    found = MlflowReader(tracker.uri).run(run)
    assert found.params["long"] == "x" * 6000
    assert found.tags["long"] == "é" * 5000
