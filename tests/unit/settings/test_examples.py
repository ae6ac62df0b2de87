"""Example configs are found by their names, also where only the package is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mtlv.settings import load_suite
from mtlv.settings.load import find_config

ROOT = Path(__file__).resolve().parents[3]
CONFIG = ROOT / "config"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["table.yml", "config/table.yml"])
def test_an_example_is_found_by_its_name_and_reads_its_own_files(name: str) -> None:
    suite = load_suite(name)
    assert suite.path == Path(name)
    assert Path(suite.members[0].settings.data.path) == CONFIG / "example.csv"


def test_a_users_own_file_comes_first_and_other_folders_are_not_searched(elsewhere: Path) -> None:
    assert find_config(Path("other/stl.yml")) == Path("other/stl.yml")
    assert find_config(elsewhere / "stl.yml") == elsewhere / "stl.yml"
    (elsewhere / "stl.yml").write_text("experiment: mine\n", encoding="utf-8")
    assert load_suite("stl.yml").experiment == "mine"


def test_an_installed_package_carries_all_examples(elsewhere: Path) -> None:
    pytest.importorskip("setuptools")
    command = [sys.executable, "setup.py", "-q", "build_py", "--build-lib", str(elsewhere)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    built = {
        path.relative_to(elsewhere / "mtlv" / "examples") for path in (elsewhere / "mtlv/examples").rglob("*")
    }
    assert built == {path.relative_to(CONFIG) for path in CONFIG.rglob("*")}
