"""The packed outputs of experiments: small, unchanged, complete, and the source of the printed metrics."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import sys
import tarfile
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from made_up import sources_of
from memory_tracker import MemoryTracker
from sklearn.metrics import average_precision_score, f1_score

from mtlv.events import ignore
from mtlv.planning.resolve import resolve_all
from mtlv.settings import load_suite
from mtlv.store.local import Store
from mtlv.suite.run import run_suite
from mtlv.units.input_cache import InputCache

EXPERIMENTS = Path(__file__).resolve().parents[3] / "experiments"
sys.path.append(str(EXPERIMENTS))

from outputs import OutputPart, pack, read_outputs  # noqa: E402

ARCHIVES = sorted(EXPERIMENTS.glob("*/results/**/outputs.tar.xz"))
MOST_BYTES, MOST_BYTES_OF_A_FILE = 8_000_000, 2_000_000
AVERAGE_PRECISION_TOLERANCE = 0.004  # outputs near 1 are equal in float16
each_archive = pytest.mark.parametrize(
    "archive", ARCHIVES, ids=[path.parent.relative_to(EXPERIMENTS).as_posix() for path in ARCHIVES]
)


def read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_files_are_small() -> None:
    sizes = {
        path: path.stat().st_size
        for path in EXPERIMENTS.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert sum(sizes.values()) <= MOST_BYTES
    assert max(sizes.values()) <= MOST_BYTES_OF_A_FILE


def test_the_results_are_those_that_were_measured() -> None:
    lines = (EXPERIMENTS / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    sums = {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
    files = {
        path.relative_to(EXPERIMENTS).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in EXPERIMENTS.glob("*/results/**/*")
        if path.is_file()
    }
    assert files == sums


@pytest.mark.parametrize("experiment", sorted({path.relative_to(EXPERIMENTS).parts[0] for path in ARCHIVES}))
def test_every_fold_and_seed_of_an_overview_has_its_outputs(experiment: str) -> None:
    """A table may have runs of another config of its experiment."""
    archives = [path for path in ARCHIVES if path.relative_to(EXPERIMENTS).parts[0] == experiment]
    counts = {item for path in archives for item in Counter(run.name for run in read_outputs(path)).items()}
    for path in archives:
        overview = path.with_name("overview.csv")
        rows = read_rows(overview) if overview.is_file() else []
        assert {(row["name"], int(row["children"])) for row in rows} <= counts


@each_archive
def test_outputs_and_records_are_whole(archive: Path) -> None:
    runs = read_outputs(archive)
    assert {
        (row["name"], int(row["fold"]), int(row["seed"]))
        for row in read_rows(archive.with_name("epochs.csv"))
    } == {(run.name, run.fold, run.seed) for run in runs}
    for part in (part for run in runs for part in run.parts):
        assert len(part.documents) == len(set(part.documents)) == len(part.outputs)
        if isinstance(part.outputs, np.ndarray):
            assert part.outputs.dtype == np.float16
            assert ((part.outputs >= 0) & (part.outputs <= 1)).all()
    with tarfile.open(archive) as files:
        units = json.load(io.TextIOWrapper(files.extractfile("units.json"), encoding="utf-8"))
    assert {unit for run in runs for unit in run.units} == units.keys()
    assert all(
        len(unit["epochs"]) > unit["chosen_epoch"] and unit["train_seconds"] > 0 for unit in units.values()
    )


@pytest.mark.parametrize(
    ("folder", "corpus"), [("hoc-minilm/results", "hoc"), ("openi-minilm/results/longer", "openi")]
)
def test_metrics_follow_from_the_outputs(folder: str, corpus: str, real_data: Path) -> None:
    """Computed by scikit-learn from the targets of the corpus, they are those of the table of results."""
    suite = load_suite({"data": {"name": corpus, "path": str(real_data / corpus)}})
    documents = InputCache(None).corpus(suite.members[0].settings.data)
    targets = dict(zip(documents.ids, documents.matrix(), strict=True))
    metrics: dict[str, list[list[float]]] = defaultdict(list)
    for run in read_outputs(EXPERIMENTS / folder / "outputs.tar.xz"):
        (part,) = run.parts
        order = [documents.names.index(task) for task in part.tasks]
        truth = np.stack([targets[document] for document in part.documents])[:, order]
        decided = part.outputs >= np.array([run.thresholds[task] for task in part.tasks])
        metrics[run.name].append(
            [
                f1_score(truth, decided, average="macro", zero_division=0),
                f1_score(truth, decided, average="micro", zero_division=0),
                (truth == decided).all(axis=1).mean(),
                average_precision_score(truth, part.outputs, average="macro"),
            ]
        )
    overview = read_rows(EXPERIMENTS / folder / "overview.csv")
    rows = {row["name"]: row for row in overview if row["name"] in metrics}
    assert rows.keys() == metrics.keys()
    for name, row in rows.items():
        *decisions, precision = np.mean(metrics[name], axis=0)
        printed = [float(row[key]) for key in ("f1_macro", "f1_micro", "subset_accuracy")]
        assert decisions == pytest.approx(printed, abs=1e-9)
        assert precision == pytest.approx(
            float(row["average_precision_macro"]), abs=AVERAGE_PRECISION_TOLERANCE
        )


def test_outputs_of_every_kind_are_packed_and_read(tmp_path: Path) -> None:
    names = ("biosses", "conll", "chemprot")
    changes = ("training.epochs=2", "execution.processes=1")
    suite = sources_of(tmp_path, *names, changes=changes, more="architecture: stl")
    assert not run_suite(suite, ignore, MemoryTracker()).failed
    pack(suite, tmp_path / "results")
    (run,) = read_outputs(tmp_path / "results" / "outputs.tar.xz")
    store = Store(Path(suite.members[0].settings.store.uri))
    (member,) = resolve_all(InputCache(store), suite.members)
    records = {job.unit.key: store.load(job.unit.key) for job in member.jobs}
    assert set(run.units) == set(records)
    tested = {
        name: (record.test, task) for record in records.values() for name, task in record.test.tasks.items()
    }
    packed = {part.tasks[0]: part for part in run.parts}
    assert packed.keys() == tested.keys()
    for name, (scores, task) in tested.items():
        part: OutputPart = packed[name]
        assert part.documents == tuple(np.array(scores.ids)[task.mask])
        kept = task.outputs[task.mask]
        if kept.dtype == object:
            assert part.outputs == json.loads(json.dumps(kept.tolist()))
        else:
            np.testing.assert_array_equal(np.reshape(part.outputs, kept.shape), kept.astype(np.float16))
    epochs = read_rows(tmp_path / "results" / "epochs.csv")
    assert [row["epoch"] for row in epochs] == ["0", "1"]
    losses = [[record.epochs[epoch].loss for record in records.values()] for epoch in (0, 1)]
    assert [float(row["loss"]) for row in epochs] == pytest.approx(np.mean(losses, axis=1), abs=1e-6)
    before = (tmp_path / "results" / "outputs.tar.xz").read_bytes()
    pack(suite, tmp_path / "results")
    assert (tmp_path / "results" / "outputs.tar.xz").read_bytes() == before
