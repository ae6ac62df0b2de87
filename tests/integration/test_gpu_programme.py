"""The programme for a GPU at its smallest size: what it finds survives any end, and it goes on from there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from mtlv.data.catalog.openi import _PATTERNS

RATES = ("0.0001", "0.0002")

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"
# A machine without MLflow, and without what draws the comparison page.
BARE = """
import sys
from importlib.machinery import PathFinder

class Bare(PathFinder):
    @classmethod
    def find_spec(cls, name, *rest):
        missing = name.partition(".")[0] in ("mlflow", "vl_convert")
        return None if missing else super().find_spec(name, *rest)

sys.meta_path[sys.meta_path.index(PathFinder)] = Bare
"""
STEPS = ("tests", "speed", "suite", "stacks", "train")


def reports(path):
    """80 reports in Open-I's form, four labels each, so that every part has every label."""
    lines, patterns = ["uid,MeSH,findings,impression"], list(_PATTERNS.values())
    for row in range(80):
        headings = ";".join(patterns[(row + step) % len(patterns)] for step in (0, 4, 9, 13))
        lines.append(f'{row},"{headings}",Report {row} on the chest.,Signs of {headings.replace(",", "")}.')
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A folder with the reports, and an environment without MLflow."""
    folder = tmp_path_factory.mktemp("bare")
    (folder / "sitecustomize.py").write_text(BARE)
    reports(folder / "reports.csv")
    quick = {"MTLV_BENCH_QUICK": str(folder / "quick"), "OMP_NUM_THREADS": "1", "PYTHONPATH": str(folder)}
    return folder, os.environ | quick


@contextmanager
def begun(bare, out):
    """The programme, in a process that is ended by SIGTERM unless it has ended."""
    folder, env = bare
    command = [sys.executable, BENCHMARKS / "gpu.py", "--out", out, "--data", folder / "reports.csv"]
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=30)


def cut_off(bare, out, reached):
    """The results as they were on disk at the moment in which `reached` holds of the summary."""
    with begun(bare, out) as process:
        until = time.monotonic() + 1200
        while not reached(summary(out)):
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < until
            time.sleep(0.05)
        kept = out.with_name(f"{out.name}-kept")
        shutil.copytree(out, kept)
    return kept


def summary(out):
    path = out / "summary.json"
    return json.loads(path.read_text()) if path.exists() else {"calls": [], "rounds": []}


def units(out):
    with tarfile.open(out / "work.tar.gz") as archive:
        names = [name for name in archive.getnames() if name.endswith("unit.json")]
        return {name: archive.extractfile(name).read() for name in names}


@pytest.mark.slow
def test_the_programme_is_cut_off_twice_and_goes_on(bare, tmp_path):
    pytest.importorskip("accelerate")  # what the Trainer, a peer, needs: `make .venv/.bench`
    none = subprocess.run(
        [sys.executable, "-c", "import mlflow"], env=bare[1], capture_output=True, text=True
    )
    assert "No module named 'mlflow'" in none.stderr
    first = cut_off(bare, tmp_path / "out", lambda found: len(found["calls"]) == 2)
    second = cut_off(
        bare, shutil.copytree(first, tmp_path / "again"), lambda found: len(found["rounds"]) >= 8
    )
    assert {path.name for path in second.iterdir()} >= {
        "log.txt",
        "summary.json",
        "summary.md",
        "work.tar.gz",
    }

    out = shutil.copytree(second, tmp_path / "last")
    with begun(bare, out) as process:
        told, _ = process.communicate(timeout=300)
        assert process.returncode == 0, (out / "log.txt").read_text()
    found, log = summary(out), (out / "log.txt").read_text()
    assert {name: step["state"] for name, step in found["steps"].items()} == dict.fromkeys(STEPS, "done")
    assert told.endswith((out / "summary.md").read_text() + "\n")
    assert log.count("== python -m pytest") == 1  # done before it was cut off
    assert log.count("== python") < 10
    assert found["calls"][:2] == summary(first)["calls"]
    calls = [json.dumps(line["call"]) for line in found["calls"]]
    assert len(set(calls)) == len(calls)

    assert found["rounds"][:8] == summary(second)["rounds"][:8]
    rounds = [(line["round"], line["run"]) for line in found["rounds"]]
    tuned = ("mtl, 20 passes", "gmhl, private layers", "gmtl, 80 passes", "stl, 190 passes")
    names = {
        *("mtl, 40 passes", "mtl, 10 passes", "random groups, private layers"),
        *("gmhl, 10 passes", "gmtl, 40 passes", *(f"{name}, {rate}" for name in tuned for rate in RATES)),
    } - {"gmtl, 80 passes, 0.0002"}  # in a quick check, as `gmtl, 40 passes`
    assert set(rounds[: len(names)]) == {("fold 0, seed 0", name) for name in names}
    names = [name for _, name in rounds[: len(names)]]
    assert rounds == [(f"fold {fold}, seed 0", name) for fold in (0, 1) for name in names]
    kept, last = units(second), units(out)
    assert len(kept) >= 8  # at least one model of each run
    assert all(last[name] == content for name, content in kept.items())  # no model was trained twice
    assert "Means of 2 whole rounds" in told
    for way in ("in stacks", "lower half frozen, in stacks", "one after another by the Trainer"):
        assert told.count(f"| STL, {way} |") == 2  # seconds, and documents per second
    assert all(line["tasks"].keys() == _PATTERNS.keys() for line in found["rounds"])


@pytest.mark.slow
def test_a_model_that_cannot_be_trained_does_not_stop_the_others(bare, tmp_path):
    _, env = bare
    config = tmp_path / "config.yml"
    config.write_text("data: {folds: 2, scheme: rotate_test}\nmatrix: {architecture: [mtl, stl]}\n")
    command = [sys.executable, BENCHMARKS / "gpu_training.py", "--config", config]
    command += ["training.task_weights={Emphysema: 1.0e+39}"]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    failed = [line.split(":")[0] for line in done.stdout.splitlines() if "loss is not finite" in line]
    assert failed == [f"fold {fold}, seed 0, {name}" for fold in (0, 1) for name in ("MTL", "STL")]
    assert re.search(r"STL · fold 1 · Congestion: \d+ documents/s in its last epoch", done.stdout)
    assert not (tmp_path / "rounds.jsonl").exists()
