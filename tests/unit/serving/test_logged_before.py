"""A model that MLflow has had since before its class moved: commit 3283b97 trained and logged it."""

from __future__ import annotations

from pathlib import Path

import mlflow
import pytest

HEART, LUNG = [0.99566, 0.00023], [0.00078, 0.95422]
LOGGED = Path(__file__).parent / "logged_by_0.1.0"  # without what names its run and its machine


def test_a_model_that_was_logged_before_loads_and_says_the_same() -> None:
    assert "from mtlv.running.pyfunc_model import PyfuncPlan" in (LOGGED / "model.py").read_text()
    told = mlflow.pyfunc.load_model(str(LOGGED)).predict(
        ["report 5 large cardiac shadow", "hazy airspace change"]
    )
    assert told["heart probability"].tolist() == pytest.approx(HEART, abs=1e-4)
    assert told["lung probability"].tolist() == pytest.approx(LUNG, abs=1e-4)
    assert told["heart decided"].tolist() == [True, False]
    assert told["lung decided"].tolist() == [False, True]
