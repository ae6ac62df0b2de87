"""The whole job as a user does it: `mtlv run` with four architectures, read back through MLflow's client."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import termios
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest

ARCHITECTURES = ("stl", "mtl", "gmtl", "gmhl")
LABELS = ("Enlarged heart", "Congestion", "Hyperinflation", "Catheter")
EPOCHS, FOLDS, K_MAX = 2, 2, 3
SUITE = f"""\
experiment: reports
data:
  name: synthetic
  documents: 120
  labels: [{", ".join(LABELS)}]
  max_length: 32
  folds: {FOLDS}
encoder: tiny
grouping: {{features: document_centroid, k: 2, k_max: {K_MAX}}}
training: {{epochs: {EPOCHS}, learning_rate: 1e-3, precision: fp32}}
evaluation: {{threshold: per_task}}
matrix:
  architecture: [{", ".join(ARCHITECTURES)}]
"""
FIGURES = (
    "f1_macro",
    "f1_micro",
    "subset_accuracy",
    "hamming_score",
    "hamming_loss",
    "precision_macro",
    "recall_macro",
    "average_precision_macro",
    "roc_auc_macro",
)
OF_TASK = ("f1", "precision", "recall", "average_precision", "roc_auc")
COSTS = (
    "time/train_seconds",
    "time/total_seconds",
    "cost/documents",
    "cost/documents_per_second",
    "cost/peak_memory_mb",
    "cost/parameters",
)


@dataclass
class Runs:
    """A finished suite and its store."""

    folder: Path
    stdout: str
    stderr: str

    @cached_property
    def client(self):
        from mlflow import MlflowClient

        uri = f"sqlite:///{self.folder / 'mlflow.db'}"
        return MlflowClient(tracking_uri=uri, registry_uri=uri)

    def all(self):
        experiment = self.client.get_experiment_by_name("reports")
        return self.client.search_runs([experiment.experiment_id], max_results=1000)

    def of_kind(self, kind):
        return [run for run in self.all() if run.data.tags["mtlv.kind"] == kind]

    def children(self, parent):
        return [run for run in self.all() if run.data.tags.get("mlflow.parentRunId") == parent.info.run_id]

    def history(self, run, key):
        return [(m.step, m.value) for m in self.client.get_metric_history(run.info.run_id, key)]

    def points(self):
        """How many points all curves of all runs have."""
        return sum(len(self.history(run, key)) for run in self.all() for key in run.data.metrics)

    def artifacts(self, run, folder=None):
        """Paths of all files of a run."""
        for item in self.client.list_artifacts(run.info.run_id, folder):
            if item.is_dir:
                yield from self.artifacts(run, item.path)
            else:
                yield item.path

    def file(self, run, name):
        return Path(self.client.download_artifacts(run.info.run_id, name))

    def json(self, run, name):
        return json.loads(self.file(run, name).read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def suite(mtlv, tmp_path_factory):
    folder = tmp_path_factory.mktemp("suite")
    (folder / "suite.yml").write_text(SUITE, encoding="utf-8")
    done = mtlv.run(folder, "run", "suite.yml", timeout=300)
    assert done.returncode == 0, done.stderr
    return Runs(folder, done.stdout, done.stderr)


@pytest.fixture(scope="session")
def parents(suite):
    return {run.data.tags["mtlv.architecture"]: run for run in suite.of_kind("suite member")}


def test_the_table_is_printed_and_progress_goes_to_stderr(suite):
    rows = [line.split()[0].strip(",").lower() for line in suite.stdout.splitlines() if line.strip()]
    assert [row for row in rows if row in ARCHITECTURES] == list(ARCHITECTURES)
    assert "Not trained to the end: `" in suite.stdout.partition("GMHL")[2]
    assert "F1 macro" in suite.stdout
    last = suite.stdout.splitlines()[-3:]
    begins = ("Train longer before you decide. So far: ", "Learn ", "Keep ", "No task", "None of these ")
    assert last[0].startswith(begins), "the answer"
    assert last[1].startswith("Open mtlv-compare/"), "the page"
    assert "Logged as run " in last[2]
    assert "mtlv ui suite.yml" in suite.stdout
    assert "epoch 2/2" in suite.stderr
    assert "generated" in suite.stderr
    assert "Traceback" not in suite.stderr + suite.stdout


def test_a_parent_per_member_and_a_child_per_fold(suite, parents):
    assert sorted(parents) == sorted(ARCHITECTURES)
    for parent in parents.values():
        assert "mlflow.parentRunId" not in parent.data.tags
        children = suite.children(parent)
        assert sorted(child.data.params["fold"] for child in children) == ["0", "1"]
        assert {child.data.params["seed"] for child in children} == {"0"}
        assert {child.data.tags["mtlv.kind"] for child in children} == {"fold"}
    assert len(suite.of_kind("comparison")) == 1
    assert len(suite.all()) == len(ARCHITECTURES) * (1 + FOLDS) + 1


def test_every_run_is_finished(suite):
    assert {run.info.status for run in suite.all()} == {"FINISHED"}


def test_tags(suite, parents):
    for name, parent in parents.items():
        for run in (parent, *suite.children(parent)):
            tags = run.data.tags
            assert tags["mtlv.architecture"] == name
            assert tags["mtlv.encoder"] == "tiny"
            assert tags["mtlv.dataset"] == "synthetic"
            grouped = name.startswith("g")
            assert tags["mtlv.grouping"] == ("kmedoids document_centroid k=2" if grouped else "none")
            assert tags["mtlv.version"]
    assert len({run.data.tags["mtlv.uid"] for run in suite.all()}) == len(suite.all())


def test_all_architectures_saw_the_same_documents_and_splits(suite, parents):
    every = [run for parent in parents.values() for run in (parent, *suite.children(parent))]
    assert len({run.data.tags["mtlv.data_digest"] for run in every}) == 1
    ids = {
        tuple(frame(suite, child, "test")["id"])
        for parent in parents.values()
        for child in suite.children(parent)
    }
    assert len(ids) == 1, "fixed_test: one test part for all folds and architectures"


def test_params_are_the_settings_by_dotted_key(suite, parents):
    for name, parent in parents.items():
        for run in (parent, *suite.children(parent)):
            params = run.data.params
            assert params["architecture.name"] == name
            assert params["training.learning_rate"] == "0.001"
            assert params["grouping.k"] == "2"
            assert params["data.folds"] == str(FOLDS)
            assert {"evaluation.grid.step", "training.clip_norm", "store.uri"} <= params.keys()


def test_curves_have_a_point_per_epoch_from_0(suite, parents):
    for parent in parents.values():
        for child in suite.children(parent):
            heads = suite.json(child, "tasks.json")["heads"]
            keys = ["train/loss", "train/learning_rate", *(f"val/{figure}" for figure in FIGURES)]
            keys += [f"train.heads.loss/{head}" for head in heads]
            keys += [f"val.heads.f1_macro/{head}" for head in heads]
            keys += [f"val.tasks.{figure}/{task}" for figure in OF_TASK for task in LABELS]
            for key in keys:
                steps = [step for step, _ in suite.history(child, key)]
                assert sorted(steps) == list(range(EPOCHS)), key


def test_heads_and_tasks_are_named_by_content(suite, parents):
    counts = {
        name: {len(suite.json(c, "tasks.json")["heads"]) for c in suite.children(run)}
        for name, run in parents.items()
    }
    assert counts == {"stl": {4}, "mtl": {1}, "gmtl": {2}, "gmhl": {2}}
    for parent in parents.values():
        for child in suite.children(parent):
            found = suite.json(child, "tasks.json")
            assert sorted(found["tasks"]) == sorted(LABELS)
            assert [found["tasks"][name]["index"] for name in LABELS] == [0, 1, 2, 3]
            held = [task for head in found["heads"].values() for task in head["tasks"]]
            assert sorted(held) == sorted(LABELS), "each task in exactly one head"
            plan = json.dumps(suite.json(child, "plan.json"))
            assert all(label in plan for label in LABELS)


def test_figures_are_fractions_and_costs_are_positive(suite, parents):
    for parent in parents.values():
        for run in (parent, *suite.children(parent)):
            metrics = run.data.metrics
            for figure in FIGURES:
                assert 0 <= metrics[f"test/{figure}"] <= 1
            for key in COSTS:
                assert metrics[key] > 0
        for child in suite.children(parent):
            assert child.data.metrics["best/epoch"] in range(EPOCHS)
            curve = dict(suite.history(child, "val/f1_macro"))
            assert child.data.metrics["best/f1_macro"] == max(curve.values())
            assert curve[int(child.data.metrics["best/epoch"])] == max(curve.values())


def test_a_parent_has_means_and_spreads_of_its_children(suite, parents):
    for parent in parents.values():
        children = suite.children(parent)
        for figure in FIGURES:
            values = [child.data.metrics[f"test/{figure}"] for child in children]
            assert parent.data.metrics[f"test/{figure}"] == pytest.approx(np.mean(values))
            assert parent.data.metrics[f"test/{figure}_std"] == pytest.approx(np.std(values, ddof=1))
        for task in LABELS:
            values = [child.data.metrics[f"test.tasks.f1/{task}"] for child in children]
            assert parent.data.metrics[f"test.tasks.f1/{task}"] == pytest.approx(np.mean(values))


def test_grouped_parents_have_the_elbow_with_k_as_step(suite, parents):
    for name, parent in parents.items():
        if not name.startswith("g"):
            assert "elbow/inertia" not in parent.data.metrics
            continue
        inertia = dict(suite.history(parent, "elbow/inertia"))
        silhouette = dict(suite.history(parent, "elbow/silhouette"))
        last = K_MAX + (
            silhouette[K_MAX] > silhouette[K_MAX - 1]
        )  # one more where it rises: there are four labels
        assert sorted(inertia) == list(range(1, last + 1))
        assert sorted(inertia.values(), reverse=True) == [inertia[k] for k in sorted(inertia)]
        assert min(silhouette) == 2
        saved = suite.json(parent, "grouping/elbow.json")
        assert str(round(inertia[2], 6))[:6] in json.dumps(saved)
        groups = suite.json(parent, "grouping/groups.json")
        assert groups["k"] == 2
        assert sorted(task for group in groups["groups"] for task in group) == sorted(LABELS)
        assert any(key.startswith("grouping.stability/") for key in parent.data.metrics)


def test_artifacts_by_name(suite, parents):
    of_child = {
        "config.yml",
        "plan.json",
        "tasks.json",
        "report/classification_report.txt",
        "report/per_task.csv",
        "scores/validation.parquet",
        "scores/test.parquet",
        "per_task_f1.png",
    }
    of_parent = {"config.yml", "environment.txt", "per_task_f1.png"}
    of_grouped = {"elbow.png", "task_map.png", "grouping/elbow.json", "grouping/groups.json"}
    for name, parent in parents.items():
        wanted = of_parent | (of_grouped if name.startswith("g") else set())
        assert wanted <= set(suite.artifacts(parent))
        for child in suite.children(parent):
            assert of_child <= set(suite.artifacts(child))
        for picture in (x for x in suite.artifacts(parent) if x.endswith(".png")):
            assert suite.file(parent, picture).read_bytes().startswith(b"\x89PNG")
        assert "torch==" in suite.file(parent, "environment.txt").read_text(encoding="utf-8")
    comparison = suite.of_kind("comparison")[0]
    assert {"comparison.md", "comparison.csv", "groups.json"} <= set(suite.artifacts(comparison))


def test_the_saved_config_is_the_run_again(suite, parents, here, tmp_path):
    for parent in parents.values():
        shutil.copy(suite.file(parent, "config.yml"), tmp_path / "c.yml")
        done = here.run(tmp_path, "check", "c.yml")
        assert done.returncode == 0, done.stderr


def frame(suite, run, split):
    import pandas as pd

    return pd.read_parquet(suite.file(run, f"scores/{split}.parquet"))


def test_test_figures_are_scikit_learns_on_the_saved_scores(suite, parents):
    from sklearn import metrics as sk

    for parent in parents.values():
        for child in suite.children(parent):
            scores, got = frame(suite, child, "test"), child.data.metrics
            truth = np.stack([scores[f"target:{task}"] for task in LABELS], axis=1)
            outputs = np.stack([scores[f"output:{task}"] for task in LABELS], axis=1).astype(float)
            limits = np.array([got[f"test.tasks.threshold/{task}"] for task in LABELS])
            predicted = (outputs >= limits).astype(int)
            each = {"average": None, "zero_division": 0}
            wanted = {
                "f1": sk.f1_score(truth, predicted, **each),
                "precision": sk.precision_score(truth, predicted, **each),
                "recall": sk.recall_score(truth, predicted, **each),
                "average_precision": sk.average_precision_score(truth, outputs, average=None),
                "roc_auc": sk.roc_auc_score(truth, outputs, average=None),
                "support": truth.sum(axis=0),
            }
            for figure, values in wanted.items():
                for task, value in zip(LABELS, values, strict=True):
                    assert got[f"test.tasks.{figure}/{task}"] == pytest.approx(value), (figure, task)
            assert got["test/f1_macro"] == pytest.approx(wanted["f1"].mean())
            assert got["test/f1_micro"] == pytest.approx(sk.f1_score(truth, predicted, average="micro"))
            assert got["test/subset_accuracy"] == pytest.approx(sk.accuracy_score(truth, predicted))
            assert got["test/hamming_loss"] == pytest.approx(sk.hamming_loss(truth, predicted))
            jaccard = sk.jaccard_score(truth, predicted, average="samples", zero_division=1)
            assert got["test/hamming_score"] == pytest.approx(jaccard)


def test_thresholds_come_from_validation_alone(suite, parents):
    """Each is the grid's best F1 on the saved validation scores, the nearest to 0.5 of equals."""
    from sklearn.metrics import f1_score

    grid = np.round(np.arange(0.05, 0.951, 0.05), 10)
    child = suite.children(parents["mtl"])[0]
    scores = frame(suite, child, "validation")
    for task in LABELS:
        truth, output = scores[f"target:{task}"], scores[f"output:{task}"].astype(float)
        f1 = np.array([f1_score(truth, output >= limit, zero_division=0) for limit in grid])
        best = grid[np.isclose(f1, f1.max())]
        wanted = min(best, key=lambda value: (round(abs(value - 0.5), 9), value))
        assert child.data.metrics[f"test.tasks.threshold/{task}"] == pytest.approx(wanted)


def test_a_second_run_trains_nothing_and_changes_nothing(suite, here):
    before, points = {r.info.run_id: r.data.metrics for r in suite.all()}, suite.points()
    done = here.run(suite.folder, "run", "suite.yml")
    assert done.returncode == 0, done.stderr
    units = len(list((suite.folder / "mtlv-store" / "units").iterdir()))
    most = FOLDS * (len(LABELS) + 1 + 2 + 1)  # stl, mtl, gmtl, gmhl; a group of one label is its stl
    assert most - 2 * FOLDS <= units <= most
    assert len(re.findall(r"taken from the store", done.stderr)) == units
    assert "epoch 1/" not in done.stderr
    assert {r.info.run_id: r.data.metrics for r in suite.all()} == before
    assert suite.points() == points
    assert {run.info.status for run in suite.all()} == {"FINISHED"}
    assert done.stdout == suite.stdout


@pytest.mark.slow
def test_a_closed_terminal_marks_the_runs_killed(small, mtlv, run_statuses):
    """The whole group of processes gets SIGHUP, and writing to the terminal is an error then."""
    terminal, end = os.openpty()
    process = subprocess.Popen(
        [*mtlv.start, "run", "c.yml", "training.epochs=500", "execution.processes=1"],
        cwd=small,
        env=mtlv.env,
        stdin=end,
        stdout=end,
        stderr=end,
        preexec_fn=_own_the_terminal,
    )
    os.close(end)
    try:
        output = b""
        while not re.search(rb"epoch ([2-9]|\d\d)", output):  # a refresh of the live lines may skip epochs
            output += os.read(terminal, 4096)
        os.close(terminal)  # the kernel sends SIGHUP to the group in the foreground
        assert process.wait(120) == 129
    finally:
        process.kill()
    assert run_statuses(small) == ["KILLED", "KILLED"]


def _own_the_terminal() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it is ignored
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.mark.slow
def test_sigterm_marks_the_runs_killed(small, mtlv, run_statuses):
    process = mtlv.begin(small, "run", "c.yml", "training.epochs=500")
    assert process.stderr is not None
    try:
        assert any("epoch 2/" in line for line in process.stderr), "it ended before it trained"
        process.send_signal(signal.SIGTERM)
        said, code = process.stderr.read(), process.wait(120)
    finally:
        process.kill()
        process.stderr.close()
    assert code == 143
    assert "Traceback" not in said
    assert "mtlv: stopped" in said
    assert run_statuses(small) == ["KILLED", "KILLED"]
    assert list(small.glob("mtlv-store/units/*")) == [], "no half of a unit is kept"
