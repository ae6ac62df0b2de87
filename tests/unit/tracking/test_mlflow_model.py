"""Where a model's files go: linked on this machine, uploaded elsewhere, once."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from mtlv.errors import TrackingError
from mtlv.tracking import Metric, TrackedModel
from mtlv.tracking.mlflow_model import keep_model
from mtlv.tracking.mlflow_moved import local_folder


@dataclass
class Client:
    """Stands for MLflow's client on a store whose artifacts lie at `location`."""

    location: str
    status: str = ""
    calls: list[str] = field(default_factory=list)
    uploaded: dict[str, bytes] = field(default_factory=dict)
    metrics: list[tuple[str, object]] = field(default_factory=list)
    patience: str | None = None
    tags: dict[str, str] = field(default_factory=dict)
    params: dict[str, str] = field(default_factory=dict)

    def _entity(self):
        return SimpleNamespace(
            model_id="m-1", status=self.status, artifact_location=self.location, params=self.params
        )

    def delete_logged_model(self, model_id):
        self.calls.append("delete")

    def search_logged_models(self, experiments, filter_string, max_results):
        assert filter_string == "name = 'model' AND source_run_id = 'r'"
        return [self._entity()] if self.status else []

    def create_logged_model(self, experiment, *, name, source_run_id, params, tags):
        self.calls.append("create")
        self.tags, self.params = tags, params
        self.status = "PENDING"
        return self._entity()

    def get_run(self, run):
        outputs = [SimpleNamespace(model_id="m-1")] if "outputs" in self.calls else []
        return SimpleNamespace(outputs=SimpleNamespace(model_outputs=outputs))

    def log_outputs(self, run, models):
        self.calls.append("outputs")

    def log_model_artifacts(self, model_id, folder):
        self.patience = os.environ.get("MLFLOW_HTTP_REQUEST_TIMEOUT")
        for path in Path(folder).rglob("*"):
            if path.is_file():
                self.uploaded[path.relative_to(folder).as_posix()] = path.read_bytes()

    def log_batch(self, run, metrics):
        self.metrics += [(run, metric) for metric in metrics]

    def finalize_logged_model(self, model_id, status):
        self.calls.append("finalize")
        self.status = str(status)


@pytest.fixture
def model(tmp_path: Path) -> TrackedModel:
    (tmp_path / "w").write_bytes(b"weights")
    return TrackedModel(
        files={"served/networks/k.safetensors": tmp_path / "w"},
        texts={"model.py": "code", "served/plan.json": "[]"},
        code="model.py",
        content="served",
        outputs={"a, 肺/b probability": "double", "a, 肺/b decided": "boolean"},
        params={"columns": "both", "calibrated": False, "abstain": 0.0},
        description="what it is",
        metrics=[Metric("test/f1_macro", 0.5, 0, 7)],
        metrics_run="child",
        dataset=("openi test", "d1"),
    )


def test_on_this_machine_weights_are_linked(model: TrackedModel, tmp_path: Path) -> None:
    client = Client((tmp_path / "a rt").as_uri())
    keep_model(client, "1", "r", model)  # type: ignore[arg-type]
    placed = tmp_path / "a rt" / "served" / "networks" / "k.safetensors"
    assert placed.stat().st_ino == (tmp_path / "w").stat().st_ino
    assert client.calls == ["create", "outputs", "finalize"]
    assert client.uploaded == {}


def test_where_no_link_can_be_made_they_are_copied(
    model: TrackedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object) -> None:
        raise OSError("another file system")

    monkeypatch.setattr(os, "link", refuse)
    keep_model(Client(str(tmp_path / "art")), "1", "r", model)  # type: ignore[arg-type]
    placed = tmp_path / "art" / "served" / "networks" / "k.safetensors"
    assert placed.read_bytes() == b"weights"
    assert placed.stat().st_ino != (tmp_path / "w").stat().st_ino


def test_elsewhere_everything_is_uploaded_once_and_with_patience(
    model: TrackedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "10")
    client = Client("mlflow-artifacts:/1/models/m-1/artifacts")
    keep_model(client, "1", "r", model)  # type: ignore[arg-type]
    assert set(client.uploaded) == {
        "MLmodel",
        "conda.yaml",
        "python_env.yaml",
        "model.py",
        "served/plan.json",
        "served/networks/k.safetensors",
    }
    assert client.uploaded["served/networks/k.safetensors"] == b"weights"
    assert (client.patience, os.environ["MLFLOW_HTTP_REQUEST_TIMEOUT"]) == ("600", "10")
    client.uploaded.clear()
    keep_model(client, "1", "r", model)  # type: ignore[arg-type]
    assert client.uploaded == {}
    assert client.calls == ["create", "outputs", "finalize"]


def test_what_was_interrupted_is_completed_and_told_once(model: TrackedModel, tmp_path: Path) -> None:
    client = Client(str(tmp_path / "art"))
    keep_model(client, "1", "r", model)  # type: ignore[arg-type]
    client.status = "PENDING"
    keep_model(client, "1", "r", model)  # type: ignore[arg-type]
    assert client.calls == ["create", "outputs", "finalize", "finalize"]


def test_a_mean_of_models_replaces_one_model(model: TrackedModel, tmp_path: Path) -> None:
    client = Client(str(tmp_path / "art"))
    for settings in ({}, {"models": 3}, {"models": 3}, {}):
        keep_model(client, "1", "r", replace(model, settings=settings))  # type: ignore[arg-type]
    assert [call for call in client.calls if call != "outputs"] == [
        *("create", "finalize"),
        *("delete", "create", "finalize"),
        *("delete", "create", "finalize"),
    ]


def test_the_folder_is_what_mlflow_reads(model: TrackedModel, tmp_path: Path) -> None:
    from mlflow.models import Model

    keep_model(Client(str(tmp_path / "art")), "1", "r", model)  # type: ignore[arg-type]
    read = Model.load(str(tmp_path / "art"))
    assert read.signature is not None
    assert [column.name for column in read.signature.outputs] == list(model.outputs)
    assert [(p.name, p.dtype.name, p.default) for p in read.signature.params] == [
        ("columns", "string", "both"),
        ("calibrated", "boolean", False),
        ("abstain", "double", 0.0),
    ]
    assert read.signature.inputs is None, "MLflow would drop columns that it does not name"
    flavor = read.flavors["python_function"]
    assert flavor["model_code_path"] == "model.py"
    assert "cloudpickle_version" not in flavor
    assert (read.run_id, read.model_id) == ("r", "m-1")
    for name in ("conda.yaml", "python_env.yaml"):
        assert "requirements.txt" in json.dumps(yaml.safe_load((tmp_path / "art" / name).read_text()))


def test_figures_go_to_the_run_that_has_them(model: TrackedModel, tmp_path: Path) -> None:
    client = Client(str(tmp_path / "art"))
    keep_model(client, "1", "r", model)  # type: ignore[arg-type]
    assert client.tags["mlflow.note.content"] == "what it is"
    ((run, point),) = client.metrics
    assert run == "child"
    assert (point.key, point.value, point.timestamp, point.model_id) == ("test/f1_macro", 0.5, 7, "m-1")
    assert (point.dataset_name, point.dataset_digest) == ("openi test", "d1")


def test_a_name_that_leaves_the_folder_is_refused(tmp_path: Path) -> None:
    bad = TrackedModel({}, {"../model.py": ""}, "model.py", "served", {})
    with pytest.raises(TrackingError, match=r"an artifact's name \(got \.\./model\.py\)"):
        keep_model(Client(str(tmp_path)), "1", "r", bad)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("location", "folder"),
    [
        ("file:///data/a%20b", "/data/a b"),
        ("/data/a", "/data/a"),
        ("mlflow-artifacts:/1/x", None),
        ("mlflow-artifacts://host:5000/1", None),
        ("s3://bucket/key", None),
        ("http://127.0.0.1:5000/x", None),
    ],
)
def test_what_lies_on_this_machine(location: str, folder: str | None) -> None:
    assert local_folder(location) == (None if folder is None else Path(folder))
