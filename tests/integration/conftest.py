"""The installed command, run as a user runs it: in a folder of its own, in a process of its own."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# services.py, what MLflow's image runs, and what unit tests share
for folder in (Path(__file__).parent, ROOT / "server", ROOT / "tests" / "unit" / "helpers"):
    if str(folder) not in sys.path:
        sys.path.append(str(folder))  # `importlib` mode imports no sibling by itself

from browser import browser, screenshots  # noqa: E402, F401
from uploads import uploads_here  # noqa: E402, F401

SMALL = """\
experiment: small
data:
  name: synthetic
  documents: 120
  max_length: 32
encoder: tiny
architecture: mtl
training:
  epochs: 1
  learning_rate: 1e-3
  precision: fp32
"""
"""A config that trains in a second: lines 1 to 10."""


class Command:
    """`mtlv` beside this Python, or from the checkout where it is not installed."""

    def __init__(self) -> None:
        script = Path(sys.executable).parent / "mtlv"
        self.start = [str(script)] if script.is_file() else [sys.executable, "-m", "mtlv"]
        self.env = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "COLUMNS": "200"}

    def run(self, folder: Path, *argv: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        """Run to the end in `folder`."""
        return subprocess.run(
            [*self.start, *argv], cwd=folder, env=self.env, capture_output=True, text=True, timeout=timeout
        )

    def begin(self, folder: Path, *argv: str) -> subprocess.Popen[str]:
        """Start in `folder`; what it writes to stderr can be read line by line."""
        return subprocess.Popen(
            [*self.start, *argv],
            cwd=folder,
            env=self.env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=_hear_ctrl_c,
        )


class Here(Command):
    """`mtlv` in this process, which has imported torch already, where no process of its own is tested.

    MLflow keeps the store of a relative address in any later folder: give an absolute one.
    """

    def run(self, folder: Path, *argv: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        from mtlv.cli import main

        out, err = StringIO(), StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.setenv("COLUMNS", self.env["COLUMNS"])
            patch.chdir(folder)
            code = main(argv)
        return subprocess.CompletedProcess(argv, code, out.getvalue(), err.getvalue())


def _hear_ctrl_c() -> None:
    """A shell's background jobs, and all that they start, are deaf to SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture(scope="session")
def mtlv() -> Command:
    return Command()


@pytest.fixture(scope="module")
def undrawn() -> Iterator[None]:
    """No figure is drawn in this process."""
    from pixel import draw_nothing, lay_out_nothing

    with pytest.MonkeyPatch.context() as patch:
        draw_nothing(patch)
        lay_out_nothing(patch)
        yield


@pytest.fixture(scope="session")
def here() -> Here:
    return Here()


def statuses(folder: Path) -> Sequence[str]:
    """Statuses of all runs in the default store of `folder`; nothing where there is no store yet."""
    store = folder / "mlflow.db"
    if not store.exists():
        return []
    with sqlite3.connect(store) as database:
        return [row[0] for row in database.execute("SELECT status FROM runs ORDER BY start_time")]


@pytest.fixture(scope="session")
def run_statuses():
    return statuses


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A folder with `c.yml`, which runs as it is."""
    (tmp_path / "c.yml").write_text(SMALL, encoding="utf-8")
    return tmp_path
