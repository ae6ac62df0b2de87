"""Another package adds one of each kind of choice, and a section of the comparison page."""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "example_package"
ROOT = PACKAGE.parents[1]
CONFIG = """\
experiment: another package
data: {name: letters, documents: 60}
encoder: tiny
training: {epochs: 1, precision: fp32, head_loss: halved, objective: first_doubled,
  optimizer: sgd_with_momentum, learning_rate: 1e-2}
grouping: {method: by_initial, features: initial}
matrix: {architecture: [pairs, gmtl]}
tracking: {uri: "sqlite:///runs.db"}
store: {uri: store}
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Of a process that finds the package, as installed."""
    import shutil

    folder = tmp_path_factory.mktemp("installed")
    source = folder / "source"
    shutil.copytree(PACKAGE, source)
    offline = ["--no-index", "--no-deps", "--no-build-isolation", "--quiet"]
    command = [sys.executable, "-m", "pip", "install", *offline, "--target", str(folder / "lib"), str(source)]
    subprocess.run(command, check=True, timeout=300)
    found = os.pathsep.join((str(folder / "lib"), str(ROOT)))
    return os.environ | {"PYTHONPATH": found}


def mtlv(environment: dict[str, str], folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "c.yml").write_text(CONFIG, encoding="utf-8")
    command = [sys.executable, "-m", "mtlv", *words]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def test_a_config_chooses_them_like_our_own(environment: dict[str, str], tmp_path: Path) -> None:
    done = mtlv(environment, tmp_path, "run", "c.yml")
    assert done.returncode == 0, done.stderr
    assert "2 groups; by_initial found 2 groups by itself" in done.stderr + done.stdout
    lines = [line for line in done.stdout.splitlines() if not line.startswith("Not ")]
    rows = [line.split()[0] for line in lines if line.startswith(("PAIRS", "GMTL, by initial groups"))]
    assert rows == ["PAIRS", "GMTL,"]
    assert "letters" in mtlv(environment, tmp_path, "data", "list").stdout
    (page,) = tmp_path.glob("mtlv-compare/*/compare.html")
    assert section_titles(page)[-1] == "First letters"
    ends = (tmp_path / "runs.log").read_text(encoding="utf-8").splitlines()
    assert len(ends) == 5  # two members, a fold run of each, and the comparison
    assert ends[-1] == "comparison of 2 runs: FINISHED"


def section_titles(page: Path) -> list[str]:
    """Return the titles of a page's sections, in order."""
    packed = re.search(r'<script[^>]*id="data"[^>]*>([^<]*)<', page.read_text(encoding="utf-8"))
    assert packed is not None
    data = json.loads(gzip.decompress(base64.b64decode(packed[1])))
    return [section["title"] for section in data["sections"]]


def test_without_the_package_its_names_are_unknown(tmp_path: Path) -> None:
    found = mtlv(os.environ | {"PYTHONPATH": str(ROOT)}, tmp_path, "check", "c.yml")
    assert found.returncode == 2
    assert "`architecture.name`: got 'pairs'; allowed: one of stl, mtl, gmtl, gmhl" in found.stderr
    assert "`training.head_loss`: got 'halved'; allowed: one of sum, mean, weighted_sum" in found.stderr
    assert "`training.optimizer`: got 'sgd_with_momentum'; allowed: one of adamw, adam" in found.stderr


def test_a_broken_entry_point_names_its_package(environment: dict[str, str], tmp_path: Path) -> None:
    installed = Path(environment["PYTHONPATH"].split(os.pathsep)[0])
    (tmp_path / "mtlv_example.py").write_text("raise ImportError('no wheel')", encoding="utf-8")
    first = os.pathsep.join((str(tmp_path), str(installed), str(ROOT)))
    found = mtlv(environment | {"PYTHONPATH": first}, tmp_path, "check", "c.yml")
    assert found.returncode == 2
    assert "Traceback" not in found.stderr
    assert re.search(r"entry point `\w+` of mtlv-example in `mtlv\.\w+` cannot be loaded", found.stderr)
