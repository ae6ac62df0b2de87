"""What must answer at once imports nothing heavy; the time itself is measured in benchmarks/startup.py."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {
    "torch",
    "transformers",
    "mlflow",
    "pandas",
    "sklearn",
    "scipy",
    "matplotlib",
    "pyarrow",
    "tokenizers",
}
SCRIPT = """
import sys
from mtlv.cli import main
try:
    code = main(sys.argv[1:])
except SystemExit as stop:
    code = stop.code
print(code, *sorted({name.split(".")[0] for name in sys.modules}), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "argv",
    [
        ["--help"],
        ["run", "--help"],
        ["check", "config/suite.yml"],
        ["check", "config/quickstart.yml"],
        ["check", "config/table.yml"],
        ["data", "list"],
    ],
    ids=" ".join,
)
def test_nothing_heavy_is_imported(argv, mtlv):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *argv], cwd=ROOT, env=mtlv.env, capture_output=True, text=True
    )
    code, *modules = done.stderr.splitlines()[-1].split()
    assert code == "0", done.stderr
    assert not HEAVY & set(modules)


def test_check_writes_nothing(small, mtlv):
    assert mtlv.run(small, "check", "c.yml").returncode == 0
    assert [path.name for path in small.iterdir()] == ["c.yml"]
