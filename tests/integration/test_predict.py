"""A trained run as its users take it: through MLflow, from the command line, and over HTTP."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

LABELS = ("Enlarged heart", "Congestion", "Catheter")
SUITE = f"""\
experiment: reports
data: {{name: synthetic, documents: 100, labels: [{", ".join(LABELS)}], max_length: 24, folds: 2}}
encoder: tiny
grouping: {{features: document_centroid, k: 2, k_max: 2}}
training: {{epochs: 1, learning_rate: 1e-3, precision: fp32}}
evaluation: {{threshold: per_task}}
matrix: {{architecture: [stl, gmhl]}}
"""
TEXT = "The heart is enlarged and a catheter is in place."
HOST = "127.0.0.1"


@dataclass
class Ran:
    """A finished suite and its store."""

    folder: Path

    @property
    def uri(self) -> str:
        return f"sqlite:///{self.folder / 'mlflow.db'}"

    @cached_property
    def client(self):
        from mlflow import MlflowClient

        return MlflowClient(tracking_uri=self.uri, registry_uri=self.uri)

    @cached_property
    def experiment(self):
        return self.client.get_experiment_by_name("reports").experiment_id

    def runs(self, kind):
        return self.client.search_runs([self.experiment], f"tags.`mtlv.kind` = '{kind}'")

    def models(self):
        return list(self.client.search_logged_models([self.experiment], max_results=100))

    def points(self):
        """How many points all runs have of each test figure."""
        runs = [run for kind in ("fold", "suite member") for run in self.runs(kind)]
        return [
            len(self.client.get_metric_history(run.info.run_id, key))
            for run in runs
            for key in run.data.metrics
            if key.startswith("test/")
        ]

    def load(self, run):
        """As a user does it."""
        import mlflow

        mlflow.set_tracking_uri(self.uri)
        return mlflow.pyfunc.load_model(f"runs:/{run.info.run_id}/model")

    def file(self, run, name):
        return Path(self.client.download_artifacts(run.info.run_id, name))


@pytest.fixture(scope="module")
def ran(undrawn, here, tmp_path_factory):
    found = Ran(tmp_path_factory.mktemp("predict"))
    (found.folder / "suite.yml").write_text(SUITE, encoding="utf-8")
    done = here.run(found.folder, "run", "suite.yml", f"tracking.uri={found.uri}")
    assert done.returncode == 0, done.stderr
    return found


@pytest.fixture(autouse=True)
def _no_pickles(monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_PICKLE_DESERIALIZATION", "false")


@pytest.fixture(scope="module")
def documents():
    """Texts of the generated corpus by document id."""
    from mtlv.settings import load_overrides
    from mtlv.units.corpora import read_corpus

    changes = ["data.name=synthetic", "data.documents=100", f"data.labels=[{', '.join(LABELS)}]"]
    corpus = read_corpus(load_overrides(changes).members[0].settings.data)
    return dict(zip(corpus.ids, corpus.texts, strict=True))


# ---- Through MLflow ----------------------------------------------------------------------------------------


def test_a_fold_gives_its_test_scores_and_decides_at_its_thresholds(ran, documents):
    for run in ran.runs("fold"):
        scores = pd.read_parquet(ran.file(run, "scores/test.parquet"))
        limits = json.loads(ran.file(run, "thresholds.json").read_text(encoding="utf-8"))["values"]
        told = ran.load(run).predict(pd.Series([documents[i] for i in scores["id"]], index=scores["id"]))
        assert list(told.index) == list(scores["id"])
        for label in LABELS:
            outputs = scores[f"output:{label}"].to_numpy().astype(float)
            assert np.array_equal(told[f"{label} probability"].to_numpy(), outputs)
            assert np.array_equal(told[f"{label} decided"].to_numpy(), outputs >= limits[label])


def test_a_member_has_the_model_of_one_of_its_folds(ran):
    for parent in ran.runs("suite member"):
        mine = ran.load(parent).predict([TEXT])
        children = [r for r in ran.runs("fold") if r.data.tags["mlflow.parentRunId"] == parent.info.run_id]
        assert sum(mine.equals(ran.load(child).predict([TEXT])) for child in children) == 1


def test_what_it_takes_and_what_it_refuses(ran):
    from mlflow.exceptions import MlflowException

    model = ran.load(ran.runs("suite member")[0])
    one = model.predict(TEXT)
    for same in ([TEXT], (TEXT,), np.array([TEXT]), pd.Series([TEXT]), pd.DataFrame({"report": [TEXT]})):
        assert model.predict(same).equals(one)
    assert model.predict(pd.DataFrame({"id": ["1"], "text": [TEXT]})).equals(one)
    assert list(model.predict([TEXT], params={"columns": "probabilities"})) == list(LABELS)
    assert model.predict([TEXT], params={"columns": "decisions"}).dtypes.eq(bool).all()
    assert not model.predict([TEXT], params={"calibrated": True}).equals(one)
    for wrong in (
        [1],
        None,
        pd.DataFrame({"a": [""], "b": [""]}),
    ):
        with pytest.raises(MlflowException) as caught:
            model.predict(wrong)
        assert caught.value.error_code == "INVALID_PARAMETER_VALUE"


def test_pages_find_the_model_with_its_run_and_its_figures(ran):
    models = {model.source_run_id: model for model in ran.models()}
    for run in (*ran.runs("fold"), *ran.runs("suite member")):
        model = models.pop(run.info.run_id)
        assert (model.name, model.status) == ("model", "READY")
        assert [out.model_id for out in run.outputs.model_outputs] == [model.model_id]
        assert model.params["architecture.name"] == run.data.tags["mtlv.architecture"]
        shown = {metric.key: metric.value for metric in model.metrics}
        assert 0 <= shown["test/f1_macro"] <= 1
        if run.data.tags["mtlv.kind"] == "fold":
            assert shown["test/f1_macro"] == run.data.metrics["test/f1_macro"]
        assert {metric.dataset_name for metric in model.metrics} == {"synthetic test"}
    assert not models
    assert set(ran.points()) == {1}


def test_weights_on_this_machine_are_links_to_the_store(ran):
    units = {path.stat().st_ino for path in ran.folder.glob("mtlv-store/units/*/model.safetensors")}
    kept = [path.stat().st_ino for path in ran.folder.glob("mlruns/*/models/*/artifacts/**/*.safetensors")]
    assert len(units) == 2 * (len(LABELS) + 1)
    assert len(kept) == 3 * (len(LABELS) + 1)
    assert set(kept) == units


def test_a_second_run_adds_no_model_and_completes_one_that_was_interrupted(ran, here):
    before = {model.model_id for model in ran.models()}
    broken = next(model for model in ran.models() if model.params["architecture.name"] == "stl")
    ran.client.finalize_logged_model(broken.model_id, "PENDING")
    folder = Path(broken.artifact_location.removeprefix("file://"))
    for path in folder.glob("served/networks/*"):
        path.unlink()
    done = here.run(ran.folder, "run", "suite.yml", f"tracking.uri={ran.uri}")
    assert done.returncode == 0, done.stderr
    assert {model.model_id for model in ran.models()} == before
    assert {model.status for model in ran.models()} == {"READY"}
    assert all(len(run.outputs.model_outputs) == 1 for run in ran.runs("fold"))
    assert set(ran.points()) == {1}
    assert len(ran.load(ran.client.get_run(broken.source_run_id)).predict([TEXT])) == 1


# ---- From the command line ---------------------------------------------------------------------------------


def test_one_text(ran, here):
    parent = ran.runs("suite member")[0]
    told = ran.load(parent).predict([TEXT]).iloc[0]
    for done in (
        here.run(ran.folder, "predict", parent.info.run_name, TEXT),
        here.run(ran.folder, "predict", parent.info.run_id[:12], TEXT, "--uri", ran.uri),
    ):
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        title, header, *rows = done.stdout.splitlines()
        assert title.startswith(parent.info.run_name)
        assert header.split() == ["task", "probability", "threshold", "decided"]
        cells = {row[: row.index("  ")]: row.split()[-3:] for row in rows}
        assert set(cells) == set(LABELS)
        for label, (probability, _, decided) in cells.items():
            assert probability == f"{told[f'{label} probability']:.3f}"
            assert (decided == "yes") == told[f"{label} decided"]
        assert [row.split()[-1] for row in rows] == sorted((row.split()[-1] for row in rows), reverse=True)


def test_a_file_from_another_folder(ran, here, tmp_path):
    fold = ran.runs("fold")[0]
    texts = [TEXT, "Lungs are clear, naïve 肺炎."]
    pd.DataFrame({"n": [1, 2], "report": texts}).to_csv(tmp_path / "in.csv", index=False)
    where = ("predict", fold.info.run_name, "--uri", ran.uri, "--experiment", "reports")
    done = here.run(tmp_path, *where, "--file", "in.csv", "--column", "report", "--out", "out.csv")
    assert (done.returncode, done.stdout, done.stderr) == (0, "out.csv: 2 texts, 3 tasks\n", "")
    out = pd.read_csv(tmp_path / "out.csv")
    told = ran.load(fold).predict(texts)
    assert list(out["text"]) == texts
    for label in LABELS:
        np.testing.assert_array_equal(out[f"{label} probability"], told[f"{label} probability"])
        np.testing.assert_array_equal(out[f"{label} decided"], told[f"{label} decided"].astype(int))


def test_a_folder_and_texts_behind_an_option(ran, here, tmp_path):
    model = next(iter(ran.models())).artifact_location.removeprefix("file://")
    done = here.run(tmp_path, "predict", model, "--device", "cpu", TEXT, "Clear.")
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[1:]] == ["text", "1", "2"]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (
            ("nothing", TEXT),
            "there is no run `nothing` in the store; allowed: a run's id or uid, a run's name",
        ),
        (("comparison of 2 runs", TEXT), "does not train a model; give the run of a suite's member"),
        (("x",), "no text was given; give the text after the run, or a file"),
        (("x", TEXT, "--file", "a.txt"), "both texts and `--file` were given"),
        (("x", " "), "the texts given: there is no text"),
        (("x", "--file", "gone.csv"), "there is no such file (got gone.csv); check its name and folder"),
        (
            ("x", "--file", "suite.yml"),
            "`suite.yml` is an unknown file type; allowed: a file ending in .csv",
        ),
        (("x", TEXT, "--out", "no/where.csv"), "cannot be written; give a file in an existing folder"),
        (("x", TEXT, "--uri", "sqlite:///gone.db"), "there are no runs yet"),
        (("./gone", TEXT), "the folder gone does not exist"),
    ],
)
def test_errors_say_what_to_do(ran, here, argv, said):
    where = () if "--uri" in argv else ("--uri", ran.uri)
    done = here.run(ran.folder, "predict", *argv, *where)
    assert done.returncode == 2
    assert done.stdout == ""
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


# ---- Over HTTP ---------------------------------------------------------------------------------------------


@dataclass
class Served:
    """A model behind `mlflow models serve`."""

    port: int

    def post(self, body: object) -> tuple[int, dict]:
        request = urllib.request.Request(
            f"http://{HOST}:{self.port}/invocations",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)


@pytest.fixture
def served(ran, tmp_path) -> Iterator[Served]:
    with socket.socket() as found:
        found.bind((HOST, 0))
        port = found.getsockname()[1]
    model = next(m for m in ran.models() if m.params["architecture.name"] == "stl").artifact_location
    argv = ["models", "serve", "-m", model, "--env-manager", "local", "-h", HOST, "-p", str(port)]
    root = Path(__file__).resolve().parents[2]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # it calls plain `uvicorn`
    env = os.environ | {"PATH": path, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "mlflow", *argv], env=env, stdout=log, stderr=log, start_new_session=True
        )
    try:
        _wait(server, port, tmp_path / "log")
        yield Served(port)
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(timeout=30)


def _wait(server: subprocess.Popen, port: int, log: Path) -> None:
    end = time.monotonic() + 240  # 20 times what it takes, for a machine that is busy
    while server.poll() is None and time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"http://{HOST}:{port}/ping", timeout=5):
                return
        except OSError:
            time.sleep(0.3)
    pytest.fail(f"the server did not come up: {log.read_text(errors='replace')[-2000:]}")


@pytest.mark.slow
def test_mlflow_serves_it_and_answers_bad_requests_with_400(ran, served):
    model = next(m for m in ran.models() if m.params["architecture.name"] == "stl")
    told = ran.load(ran.client.get_run(model.source_run_id)).predict([TEXT, "Clear."])
    status, answer = served.post({"inputs": [TEXT, "Clear."]})
    assert status == 200
    assert answer["predictions"] == told.to_dict(orient="records")
    status, answer = served.post({"inputs": [TEXT], "params": {"columns": "decisions"}})
    assert status == 200
    assert set(answer["predictions"][0]) == set(LABELS)
    for body in (
        {"inputs": [1]},
        {"inputs": {"a": 1}},
        {"inputs": [TEXT], "params": {"columns": "x"}},
        {"inputs": [TEXT], "params": {"columns": 3}},
        {},
        [],
    ):
        status, answer = served.post(body)
        assert status == 400, body
        assert "Traceback" not in answer["message"]
