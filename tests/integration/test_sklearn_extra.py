"""The engine scikit-learn-extra, in an environment of its own: `constraints-sklearn-extra.txt` says how."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PINNED = ROOT / "tests" / "unit" / "grouping" / "data" / "sklearn_extra.json"
ENGINE = """
import json, sys
import numpy as np
sys.path.insert(0, "tests/integration")
from sklearn_extra_reference import cases
from mtlv.grouping.engines import solve
from mtlv.grouping.spec import GroupingSpec
matrix = cases()["blobs 60x5"]
found = {}
for algorithm, init in (("alternate", "heuristic"), ("fasterpam", "build")):
    for engine in ("builtin", "scikit-learn-extra"):
        spec = GroupingSpec(engine=engine, algorithm=algorithm, init=init)
        result = solve(matrix, 4, spec)
        found[f"{algorithm} {engine}"] = [result.medoids.tolist(), result.inertia]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def python() -> str:
    path = os.environ.get("MTLV_SKLEARN_EXTRA_PYTHON")
    if not path:
        pytest.skip("scikit-learn-extra needs an environment of its own: see constraints-sklearn-extra.txt")
    return path


def _run(*command: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_pinned_reference_is_what_scikit_learn_extra_gives(python):
    fresh = json.loads(_run(python, "-W", "ignore", "tests/integration/sklearn_extra_reference.py"))
    pinned = json.loads(PINNED.read_text())
    assert fresh["versions"]["scikit-learn-extra"] == "0.3.0"
    assert fresh["versions"]["numpy"] == "1.26.4"
    for new, old in zip(fresh["rows"], pinned["rows"], strict=True):
        assert (new["matrix"], new["k"], new["medoids"]) == (old["matrix"], old["k"], old["medoids"])
        assert new["inertia"] == pytest.approx(old["inertia"])
        assert new["pam_inertia"] == pytest.approx(old["pam_inertia"])


def test_the_engine_gives_the_groups_of_the_code_here(python):
    found = json.loads(_run(python, "-W", "ignore", "-c", ENGINE))
    assert found["alternate builtin"] == found["alternate scikit-learn-extra"]
    ours, theirs = found["fasterpam builtin"], found["fasterpam scikit-learn-extra"]
    assert ours[1] <= theirs[1] + 1e-9
