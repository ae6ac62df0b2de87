"""Benchmarks start and finish with their smallest sizes, in one process; kept results are whole.

Nothing is measured here. `make bench QUICK=1` runs those too that start servers, clusters or whole commands.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "benchmarks"
HELPERS = {"exported", "gpu", "gpu_training", "harness", "random_encoder", "summary", "throughput"}
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in HELPERS)
LONGER = {
    "batches",
    "compare",
    "frozen",
    "gpu_suite",
    "labels",
    "page",
    "readiness",
    "ray_overhead",
    "ray_scaling",
    "stacked_scores",
    "startup",
    "tracking",
    "tracking_http",
    "waiting",
}
NEEDS = {
    "training": "accelerate",
    "pretraining": "accelerate",
    "inference": "accelerate",
    "ray_overhead": "ray",
}
RESULTS = sorted(path.stem for path in (FOLDER / "results").glob("*.json"))
# Imports each, and runs those that are not among the last argument.
SCRIPT = """
import importlib, json, runpy, sys
sys.path.insert(0, sys.argv[1])
names, longer, found = sys.argv[2].split(), sys.argv[3].split(), {}
for name in names:
    sys.argv = [f"{sys.path[0]}/{name}.py"]
    try:
        if name in longer:
            found[name] = 0 if importlib.import_module(name).main else 1
        else:
            runpy.run_path(sys.argv[0], run_name="__main__")
            found[name] = 0
    except SystemExit as stop:
        found[name] = stop.code or 0
    except Exception as error:
        found[name] = repr(error)
print(json.dumps(found))
"""


def here(name):
    return name not in NEEDS or importlib.util.find_spec(NEEDS[name]) is not None


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """How each ended, and the folder of their results."""
    folder = tmp_path_factory.mktemp("quick")
    names = " ".join(filter(here, NAMES))
    env = os.environ | {"MTLV_BENCH_QUICK": str(folder), "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(FOLDER), names, " ".join(LONGER)],
        env=env | {"OMP_NUM_THREADS": "1", "MTLV_SKLEARN_EXTRA_PYTHON": "none"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1]), folder


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_it_finishes(finished, name):
    if not here(name):
        pytest.skip(f"{NEEDS[name]} is not installed")
    ended, folder = finished
    assert ended[name] == 0
    if name not in LONGER:
        (path,) = [path for path in folder.glob("*.json") if path.stem.split("-")[0] == name]
        content = json.loads(path.read_text(encoding="utf-8"))
        assert content["claims"]
        assert content["profile"]


@pytest.mark.parametrize("name", RESULTS)
def test_a_kept_result_is_whole(name):
    content = json.loads((FOLDER / "results" / f"{name}.json").read_text(encoding="utf-8"))
    assert content["name"] == name
    assert content["profile"]
    for row, peers in content["values"].items():
        assert content["medians"][row] == {peer: median(values) for peer, values in peers.items()}
    for claim in content["claims"]:
        assert claim["verdict"] == verdict(**claim)


def verdict(*, limit, value, at_least, **_):
    if value is None or limit is None:
        return "not measured" if value is None else "no limit"
    return "met" if (value >= limit if at_least else value <= limit) else "not met"


def test_make_knows_what_is_no_benchmark():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if line.startswith("BENCHMARKS :=")]
    assert all(f"%/{name}.py" in line for name in HELPERS)


def test_the_summary_has_every_claim():
    done = subprocess.run(
        [sys.executable, str(FOLDER / "summary.py")], capture_output=True, text=True, check=True
    )
    kept = [json.loads((FOLDER / "results" / f"{name}.json").read_text(encoding="utf-8")) for name in RESULTS]
    assert len(done.stdout.splitlines()) == 2 + sum(len(content["claims"]) for content in kept)
