"""Where the runs of a suite go, and what the user's own MLflow sees of a suite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mlflow
import pytest
from mlflow.tracking import fluent

import mtlv
from mtlv.cli import main
from mtlv.errors import TrackingError
from mtlv.processes import ChildProcess
from mtlv.settings import Suite, load_suite
from mtlv.suite.placement import find_runs, place_runs
from mtlv.tracking import upload_process
from mtlv.tracking.mlflow_user import without_autologging

SMALL = {
    "encoder": "tiny",
    "data": {"name": "synthetic", "documents": 60},
    "training": {"epochs": 1, "precision": "fp32"},
    "architecture": "gmtl",
    "grouping": {"features": "label_count", "k": 2},
}
NAMES = ("MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_NAME", "MLFLOW_EXPERIMENT_ID", "MLFLOW_RUN_ID")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working folder in which MLflow has no state."""
    monkeypatch.chdir(tmp_path)
    for name in NAMES:
        monkeypatch.setenv(name, "")  # restored at the end, also if MLflow sets it
        monkeypatch.delenv(name)
    yield tmp_path
    while mlflow.active_run() is not None:
        mlflow.end_run()
    mlflow.set_tracking_uri(None)  # type: ignore[arg-type]
    fluent._active_experiment_id = None


def suite(**changes: Any) -> Suite:
    return load_suite({}, {"encoder": "tiny", "data": "synthetic", **changes})


def made(uri: str, *experiments: str) -> list[str]:
    """Ids of new experiments of a store."""
    client = mlflow.MlflowClient(uri)
    return [client.create_experiment(name) for name in experiments]


def decided(found: Suite) -> tuple[str | None, str, str | None]:
    settings = found.members[0].settings
    assert found.experiment == settings.experiment
    return settings.tracking.uri, found.experiment, found.parent


def test_config_decides_then_environment_then_defaults(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert decided(find_runs(suite())) == ("sqlite:///mlflow.db", "mtlv", None)
    assert not place_runs(suite()).is_chosen
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:///users.db")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "theirs")
    placement = place_runs(suite())
    assert decided(placement.suite) == ("sqlite:///users.db", "theirs", None)
    assert placement.is_chosen
    assert all(word in placement.line for word in ("MLFLOW_TRACKING_URI", "theirs"))
    config = suite(experiment="mtlv", **{"tracking.uri": "sqlite:///own.db"})
    assert decided(find_runs(config)) == ("sqlite:///own.db", "mtlv", None)
    assert decided(find_runs(suite(**{"tracking.uri": "sqlite:///own.db"}))) == (
        "sqlite:///own.db",
        "theirs",
        None,
    )
    assert decided(find_runs(suite(experiment="own"))) == ("sqlite:///users.db", "own", None)


def test_ids_of_the_environment_name_an_experiment_and_a_parent(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = f"sqlite:///{here}/users.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    first, second = made(uri, "first", "second")
    client = mlflow.MlflowClient(uri)
    monkeypatch.setenv("MLFLOW_EXPERIMENT_ID", second)
    assert decided(find_runs(suite())) == (uri, "second", None)
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "first")
    with pytest.raises(TrackingError, match="name different experiments"):
        find_runs(suite())
    run = client.create_run(first, run_name="parent of all").info.run_id
    monkeypatch.setenv("MLFLOW_RUN_ID", run)
    placement = place_runs(suite())
    assert decided(placement.suite) == (uri, "first", run)
    assert "parent of all" in placement.line
    assert decided(find_runs(suite(experiment="first")))[2] == run
    for other in ({"experiment": "second"}, {"tracking.uri": "sqlite:///own.db"}):
        placement = place_runs(suite(**other))
        assert placement.suite.parent is None
        assert "not as children" in placement.line
    client.set_terminated(run)
    with pytest.raises(TrackingError, match=r"MLFLOW_RUN_ID.*ended"):
        place_runs(suite())
    assert find_runs(suite()).experiment == "first"
    client.delete_run(run)
    with pytest.raises(TrackingError, match=r"MLFLOW_RUN_ID.*deleted"):
        find_runs(suite())


@pytest.mark.parametrize("name", ["MLFLOW_RUN_ID", "MLFLOW_EXPERIMENT_ID"])
def test_a_wrong_id_is_named(here: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "4711")
    with pytest.raises(TrackingError, match=name):  # there is no store yet
        find_runs(suite())
    assert not (here / "mlflow.db").exists()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{here}/users.db")
    made(f"sqlite:///{here}/users.db", "some")
    with pytest.raises(TrackingError, match=f"{name}.*4711"):
        find_runs(suite())
    (here / "c.yml").write_text("encoder: tiny\ndata: synthetic\n")
    assert main(["run", "c.yml"]) == 2


def test_a_store_of_an_unknown_kind_is_named_by_its_variable(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for uri in ("gopher://host", "some/folder", "file:///some/folder"):
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
        monkeypatch.delenv("MLFLOW_ALLOW_FILE_STORE", raising=False)
        with pytest.raises(TrackingError, match="MLFLOW_TRACKING_URI"):
            place_runs(suite())


def test_state_of_this_process_is_respected_and_kept(here: Path) -> None:
    uri = f"sqlite:///{here}/users.db"
    mlflow.set_tracking_uri(uri)
    mlflow.set_experiment("chosen")
    assert decided(find_runs(suite()))[:2] == (uri, "chosen")
    with mlflow.start_run(experiment_id=made(uri, "of the run")[0]) as run:
        assert decided(find_runs(suite())) == (uri, "of the run", run.info.run_id)
        assert mlflow.active_run() is not None
    assert mlflow.get_tracking_uri() == uri
    assert decided(find_runs(suite()))[1:] == ("chosen", None)


@pytest.mark.parametrize("store", ["default", "sqlite", "files"])
def test_an_active_run_gets_the_runs_as_children_and_autologging_sees_nothing(
    here: Path, monkeypatch: pytest.MonkeyPatch, store: str
) -> None:
    from sklearn.linear_model import LogisticRegression

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    if store != "default":
        mlflow.set_tracking_uri({"sqlite": f"sqlite:///{here}/users.db", "files": str(here / "files")}[store])
        mlflow.set_experiment("theirs")
    if store == "sqlite":  # the process that uploads inherits what MLflow sets for the active run
        monkeypatch.setattr(upload_process, "ChildProcess", ChildProcess)
    uri = mlflow.get_tracking_uri()
    mlflow.sklearn.autolog(log_models=False, log_post_training_metrics=False)
    try:
        with mlflow.start_run() as active:
            done = mtlv.run(SMALL)
            assert mlflow.active_run().info.run_id == active.info.run_id  # type: ignore[union-attr]
            stored = mlflow.MlflowClient().get_run(active.info.run_id)
            assert (stored.data.params, stored.data.metrics) == ({}, {})
            assert not mlflow.search_logged_models(
                filter_string=f"source_run_id='{active.info.run_id}'", output_format="list"
            )
            assert stored.info.status == "RUNNING"
            LogisticRegression().fit([[0.0], [1.0]], [0, 1])  # the user's own
            assert mlflow.MlflowClient().get_run(active.info.run_id).data.params
    finally:
        mlflow.sklearn.autolog(disable=True)
    assert mlflow.get_tracking_uri() == uri
    assert not done.failed
    runs = mlflow.MlflowClient(uri).search_runs([active.info.experiment_id])
    of_kind = {run.data.tags.get("mtlv.kind"): run for run in runs}
    member = of_kind["suite member"]
    assert member.data.tags["mlflow.parentRunId"] == active.info.run_id
    assert of_kind["fold"].data.tags["mlflow.parentRunId"] == member.info.run_id
    assert len(runs) == 3
    page = mtlv.compare(*done.results, folder="page")
    assert page.path.exists()
    if store != "default":
        assert not (here / "mlflow.db").exists()


def test_commands_find_the_runs_at_the_place_of_the_environment(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{here}/users.db")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "theirs")
    config = here / "c.yml"
    config.write_text(
        "encoder: tiny\ndata: {name: synthetic, documents: 60}\n"
        "training: {epochs: 1, precision: fp32}\nmatrix: {architecture: [stl, mtl]}\n"
    )
    assert main(["run", str(config), "--no-compare"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert all(word in first for word in ("theirs", "users.db", "MLFLOW_TRACKING_URI"))
    assert main(["compare", str(config), "--out", "page"]) == 0
    assert main(["predict", "MTL", "the heart is enlarged"]) == 0
    assert main(["status", str(config)]) == 0
    assert "theirs" in capsys.readouterr().out
    assert not (here / "mlflow.db").exists()


def test_autologging_returns_after_the_last_of_nested_blocks() -> None:
    from mlflow.utils import autologging_utils as utils

    def is_off() -> bool:
        return utils._AUTOLOGGING_GLOBALLY_DISABLED

    with without_autologging():
        with without_autologging():
            assert is_off()
        assert is_off()
    assert not is_off()
    with utils.disable_autologging():  # of a fit of the user, as in a search of scikit-learn
        with without_autologging():
            assert is_off()
        assert is_off()
