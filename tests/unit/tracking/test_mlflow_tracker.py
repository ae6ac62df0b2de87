"""What is written to a real SQLite store is read back through MLflow's own client."""

from __future__ import annotations

import math
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

import mtlv
from mtlv.errors import RefusedError, TrackingError
from mtlv.tracking import Metric, RunSpec, Tracker
from mtlv.tracking.mlflow_access import store_error
from mtlv.tracking.mlflow_reader import MlflowReader
from mtlv.tracking.mlflow_tracker import MlflowTracker

MINIMAL = """
from mtlv.tracking import Metric, RunSpec
from mtlv.tracking.mlflow_tracker import MlflowTracker
tracker = MlflowTracker(None, "first")
run = tracker.open_run(RunSpec("u", "name"))
tracker.metrics(run, [Metric("a", 1.0)])
tracker.close(run)
"""


def test_it_is_a_tracker(tracker):
    assert isinstance(tracker, Tracker)


def test_experiment(tracker, client, tmp_path):
    experiment = client.get_experiment_by_name("my experiment")
    assert experiment.experiment_id == tracker.experiment_id
    assert experiment.tags["mlflow.experimentKind"] == "custom_model_development"
    assert experiment.artifact_location == (tmp_path / "mlruns" / "my_experiment").as_uri()
    assert tracker.page.endswith(f"/#/experiments/{tracker.experiment_id}/runs?workflowType=machine_learning")
    assert MlflowTracker(tracker.uri, "my experiment").experiment_id == tracker.experiment_id


def test_a_database_whose_creation_was_cut_off_is_made_anew(tmp_path, monkeypatch):
    uri = f"sqlite:///{tmp_path / 'runs.db'}"

    def cut_off(uri):
        with closing(sqlite3.connect(uri.removeprefix("sqlite:///"))) as database:
            database.execute("CREATE TABLE experiments (experiment_id INTEGER)")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("mtlv.tracking.mlflow_access.open_client", cut_off)
        patch.setattr("mtlv.tracking.mlflow_tracker.open_client", cut_off)
        with pytest.raises(KeyboardInterrupt):
            MlflowTracker(uri, "first")
    assert MlflowTracker(uri, "first").open_run(RunSpec("u", "name"))
    assert [path.name for path in tmp_path.glob("*runs.db*")] == ["runs.db"]


def test_runs_are_nested_and_carry_what_the_page_shows(tracker, client):
    parent = tracker.open_run(RunSpec("p", "gmtl minilm", kind="suite member"))
    child = tracker.open_run(
        RunSpec(
            "c",
            "fold 0",
            kind="fold",
            parent=parent,
            params={"fold": 0, "k": None},
            tags={"mtlv.version": "1"},
        )
    )
    run = client.get_run(child)
    assert run.info.run_name == "fold 0"
    assert run.info.status == "RUNNING"
    assert run.data.params == {"fold": "0", "k": "null"}
    tags = run.data.tags
    assert tags["mlflow.parentRunId"] == parent
    assert (tags["mtlv.uid"], tags["mtlv.kind"], tags["mtlv.version"]) == ("c", "fold", "1")
    assert tags["mlflow.source.name"] == "mtlv"
    assert "mlflow.parentRunId" not in client.get_run(parent).data.tags


def test_logging_everything_again_changes_nothing(tracker, client):
    metrics = [
        Metric(f"val.tasks.f1/肺炎 {t}", t / 7, step, 1000 + step) for t in range(300) for step in range(4)
    ]
    metrics.append(Metric("train/loss", math.nan, 0, 1000))
    spec = RunSpec(
        "again", "name", params={f"p.{i}": i for i in range(150)}, tags={f"t{i}": "x" for i in range(120)}
    )
    ids = set()
    for _ in range(2):
        run = tracker.open_run(spec)
        tracker.metrics(run, metrics)
        tracker.text(run, "same", "report/x.txt")
        tracker.close(run)
        ids.add(run)
    assert len(ids) == 1
    assert len(client.search_runs([tracker.experiment_id])) == 1
    data = client.get_run(run).data
    assert (len(data.metrics), len(data.params)) == (301, 150)
    assert len(client.get_metric_history(run, "train/loss")) == 1
    assert [p.step for p in client.get_metric_history(run, "val.tasks.f1/肺炎 299")] == [0, 1, 2, 3]
    assert client.get_run(run).info.status == "FINISHED"


def test_a_run_taken_up_again_keeps_its_params(tracker, client):
    run = tracker.open_run(RunSpec("u", "name", params={"a": 1}, tags={"t": "old"}))
    tracker.close(run, "KILLED")
    assert client.get_run(run).info.status == "KILLED"
    assert tracker.open_run(RunSpec("u", "name", params={"a": 2, "b": 3}, tags={"t": "new"})) == run
    found = client.get_run(run)
    assert (found.info.status, found.data.params, found.data.tags["t"]) == (
        "RUNNING",
        {"a": "1", "b": "3"},
        "new",
    )


def test_a_waiting_run_is_scheduled_until_it_starts_or_its_process_is_gone(tracker, client):
    def state():
        return client.get_run(run).info.status

    for _ in range(2):  # the second time, a run that was stopped
        run = tracker.open_run(RunSpec("u", "name", waiting=True))
        assert state() == "SCHEDULED"
        assert tracker.open_run(RunSpec("u", "name")) == run
        assert state() == "RUNNING"
        tracker.open_run(RunSpec("u", "name", waiting=True))
        assert tracker.end_if_running(run, 1_800_000_000_000)
        assert state() == "KILLED"


def test_only_a_run_that_is_running_is_ended(tracker, client):
    going, finished, deleted = (tracker.open_run(RunSpec(uid, uid)) for uid in "abc")
    tracker.close(finished, ended_ms=1_700_000_000_000)
    client.delete_run(deleted)
    assert [tracker.end_if_running(run, 1_800_000_000_000) for run in (going, finished, deleted, going)] == [
        True,
        False,
        False,
        False,
    ]
    ended = [client.get_run(run).info for run in (going, finished)]
    assert [(info.status, info.end_time) for info in ended] == [
        ("KILLED", 1_800_000_000_000),
        ("FINISHED", 1_700_000_000_000),
    ]
    with pytest.raises(RefusedError):
        tracker.end_if_running("0" * 32, 1_800_000_000_000)


def test_a_deleted_run_and_another_experiment_are_not_taken_up(tracker, client):
    run = tracker.open_run(RunSpec("u", "name"))
    client.delete_run(run)
    assert tracker.open_run(RunSpec("u", "name")) != run
    other = MlflowTracker(tracker.uri, "another")
    assert len({run, other.open_run(RunSpec("u", "name")), tracker.open_run(RunSpec("u", "name"))}) == 3


def test_a_bad_key_sends_nothing(tracker, client):
    run = tracker.open_run(RunSpec("u", "name"))
    with pytest.raises(TrackingError, match="a metric key has characters that MLflow does not allow"):
        tracker.metrics(run, [Metric("good", 1.0), Metric("catheters, indwelling", 1.0)])
    assert client.get_run(run).data.metrics == {}


def test_infinity_is_stored_as_nan(tracker, client):
    run = tracker.open_run(RunSpec("u", "name"))
    tracker.metrics(run, [Metric("a", math.inf)])
    assert math.isnan(client.get_run(run).data.metrics["a"])


def test_artifacts(tracker, client, tmp_path):
    run = tracker.open_run(RunSpec("u", "name"))
    folder = tmp_path / "scores"
    folder.mkdir()
    (folder / "test.parquet").write_bytes(b"x")
    (tmp_path / "elbow.png").write_bytes(b"png")
    tracker.artifact(run, tmp_path / "elbow.png")
    tracker.artifact(run, folder, "scores")
    tracker.text(run, "é,1\n", "report/per_task.csv")
    assert {a.path for a in client.list_artifacts(run)} == {"elbow.png", "scores", "report"}
    assert [a.path for a in client.list_artifacts(run, "scores")] == ["scores/test.parquet"]
    text = tmp_path / "mlruns" / "my_experiment" / run / "artifacts" / "report" / "per_task.csv"
    assert text.read_bytes() == "é,1\n".encode()
    with pytest.raises(TrackingError, match=r"nothing\.png` does not exist"):
        tracker.artifact(run, tmp_path / "nothing.png")


def test_the_active_run_is_left_alone(tracker):
    import mlflow

    tracker.close(tracker.open_run(RunSpec("u", "name")))
    assert mlflow.active_run() is None


def test_a_deleted_experiment_says_how_to_restore_it(tracker, client):
    client.delete_experiment(tracker.experiment_id)
    with pytest.raises(
        TrackingError, match=r"was deleted in MLflow; run `mlflow experiments restore -x \d+`"
    ):
        MlflowTracker(tracker.uri, "my experiment")


def test_an_unknown_run(tracker):
    with pytest.raises(TrackingError, match=r"the tracking store `sqlite:.*` failed: .*nowhere"):
        tracker.metrics("nowhere", [Metric("a", 1.0)])


def test_a_server_that_is_not_there_is_named_within_seconds():
    start = time.perf_counter()
    with pytest.raises(
        TrackingError, match=r"server `http://\*\*\*@127.0.0.1:9` cannot be reached"
    ) as caught:
        MlflowTracker("http://me:secret@127.0.0.1:9", "e")
    assert time.perf_counter() - start < 8
    assert "secret" not in str(caught.value)
    assert "start it, correct `tracking.uri`" in str(caught.value)


def test_the_default_store_is_made_here_without_a_word(tmp_path):
    env = {**os.environ, "PYTHONPATH": str(Path(mtlv.__file__).parents[1])}
    command = [sys.executable, "-c", MINIMAL]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.stdout + done.stderr == ""
    assert {path.name for path in tmp_path.iterdir()} <= {"mlflow.db", "mlruns"}
    assert (tmp_path / "mlflow.db").exists()


def test_importing_the_trackers_does_not_import_mlflow():
    code = "import sys, mtlv.tracking.mlflow_tracker; assert 'mlflow' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_run_has_the_times_that_it_is_told(tracker, client):
    run = tracker.open_run(RunSpec("late", "n", began_ms=1_700_000_000_000))
    tracker.close(run, "FINISHED", 1_700_000_060_000)
    info = client.get_run(run).info
    assert (info.start_time, info.end_time, info.status) == (1_700_000_000_000, 1_700_000_060_000, "FINISHED")
    tracker.close(tracker.open_run(RunSpec("late", "n", began_ms=1_800_000_000_000)))
    again = client.get_run(run).info
    assert (again.start_time, again.end_time) == (1_700_000_000_000, 1_700_000_060_000)


def test_a_twin_that_a_lost_answer_left_goes_and_nothing_else_does(tracker, client):
    run = tracker.open_run(RunSpec("u", "n"))
    twins = [client.create_run(tracker.experiment_id, tags={"mtlv.uid": uid}) for uid in "uuuv"]
    empty, told, ended, other = (twin.info.run_id for twin in twins)
    client.log_param(told, "a", 1)
    client.set_terminated(ended)
    tracker.close(run)
    stages = {each: client.get_run(each).info.lifecycle_stage for each in (run, empty, told, ended, other)}
    assert [each for each, stage in stages.items() if stage == "deleted"] == [empty]


@pytest.mark.parametrize(
    ("code", "text", "final"),
    [
        ("INVALID_PARAMETER_VALUE", "INVALID_PARAMETER_VALUE: no such thing", True),
        ("RESOURCE_DOES_NOT_EXIST", "RESOURCE_DOES_NOT_EXIST: no run", True),
        ("RESOURCE_DOES_NOT_EXIST", "API request to endpoint /x failed with error code 404 != 200", False),
        ("BAD_REQUEST", "BAD_REQUEST: QueuePool limit of size 5 overflow 10 reached", False),
        ("RESOURCE_ALREADY_EXISTS", "RESOURCE_ALREADY_EXISTS: experiment", False),
        ("TEMPORARILY_UNAVAILABLE", "TEMPORARILY_UNAVAILABLE: database is locked", False),
        ("INTERNAL_ERROR", "API request to endpoint /x failed with error code 500 != 200", False),
        ("INTERNAL_ERROR", "API request to endpoint /x failed with error code 429 != 200", False),
        ("INTERNAL_ERROR", "API request to endpoint /x failed with error code 401 != 200", True),
        ("PERMISSION_DENIED", "PERMISSION_DENIED: no", True),
    ],
)
def test_which_errors_are_final(code, text, final):
    from mlflow.exceptions import MlflowException
    from mlflow.protos.databricks_pb2 import ErrorCode

    error = MlflowException(text, error_code=ErrorCode.Value(code))
    assert isinstance(store_error("http://h", error), RefusedError) is final


def test_variables_of_mlflow_that_contradict_the_config_are_not_followed(tracker, client, monkeypatch):
    elsewhere = client.create_run(client.create_experiment("another")).info
    for name, value in {
        "TRACKING_URI": "http://127.0.0.1:1",
        "REGISTRY_URI": "http://127.0.0.1:2",
        "EXPERIMENT_NAME": "another",
        "EXPERIMENT_ID": elsewhere.experiment_id,
        "RUN_ID": elsewhere.run_id,
    }.items():
        monkeypatch.setenv(f"MLFLOW_{name}", value)
    own = MlflowTracker(tracker.uri, "my experiment")
    run = own.open_run(RunSpec("u", "name"))
    own.metrics(run, [Metric("a", 1.0)])
    own.text(run, "x", "a.txt")
    own.close(run)
    found = client.get_run(run)
    assert found.info.experiment_id == tracker.experiment_id
    assert found.data.metrics == {"a": 1.0}
    assert client.get_run(elsewhere.run_id).data.metrics == {}
    reader = MlflowReader(tracker.uri)
    assert [each.id for each in reader.runs([tracker.experiment_id], {})] == [run]
    assert reader.files([(reader.run(run), "a.txt")])[0].read_text() == "x"
