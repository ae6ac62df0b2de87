"""A real SQLite store."""

from __future__ import annotations

import pytest
from uploads import copy_tables

from mtlv.tracking.mlflow_tracker import MlflowTracker


@pytest.fixture(scope="session", autouse=True)
def _tables_are_copied():
    copy_tables()


@pytest.fixture
def tracker(tmp_path):
    return MlflowTracker(f"sqlite:///{tmp_path / 'mlflow.db'}", "my experiment")


@pytest.fixture
def client(tracker):
    from mlflow import MlflowClient

    return MlflowClient(tracker.uri)
