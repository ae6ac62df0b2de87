"""A real SQLite store, made once and copied: MLflow takes seconds to make its tables."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mtlv
from mtlv.tracking.mlflow_tracker import MlflowTracker

MINIMAL = """
from mtlv.tracking import Metric, RunSpec
from mtlv.tracking.mlflow_tracker import MlflowTracker
tracker = MlflowTracker(None, "first")
run = tracker.open_run(RunSpec("u", "name"))
tracker.metrics(run, [Metric("a", 1.0)])
tracker.close(run)
"""


@pytest.fixture(scope="session")
def first(tmp_path_factory):
    """A folder where a program made the default store, and what it said on the terminal.

    MLflow takes seconds to make the tables, so they are made once and copied.
    """
    folder = tmp_path_factory.mktemp("first")
    env = {**os.environ, "PYTHONPATH": str(Path(mtlv.__file__).parents[1])}
    command = [sys.executable, "-c", MINIMAL]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    return folder, done.stdout + done.stderr


@pytest.fixture
def tracker(first, tmp_path):
    shutil.copy(first[0] / "mlflow.db", tmp_path / "mlflow.db")
    return MlflowTracker(f"sqlite:///{tmp_path / 'mlflow.db'}", "my experiment")


@pytest.fixture
def client(tracker):
    from mlflow import MlflowClient

    return MlflowClient(tracker.uri)
