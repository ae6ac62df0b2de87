"""Optional engines: the same groups, and an exact message where one cannot be imported."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from mtlv.errors import GroupingError
from mtlv.grouping import GroupingSpec, distances, engines, group, kmedoids

FEATURES = np.random.default_rng(7).normal(size=(24, 6))


def test_the_code_here_searches_as_the_settings_say():
    """With one restart each start ends elsewhere, so that none can stand for another."""
    table = distances(FEATURES, "euclidean")
    found = set()
    for settings in (
        GroupingSpec(algorithm="alternate", init="build"),
        GroupingSpec(algorithm="alternate", init="heuristic"),
        GroupingSpec(algorithm="alternate", init="random", restarts=1, seed=3),
        GroupingSpec(algorithm="alternate", init="random", restarts=1, seed=4),
        GroupingSpec(algorithm="alternate", init="random", restarts=30, seed=3),
    ):
        one, other = engines.solve(table, 5, settings), kmedoids(table, 5, settings)
        assert (one.medoids.tolist(), one.inertia) == (other.medoids.tolist(), other.inertia)
        found.add(tuple(one.medoids))
    assert len(found) == 5


def _fail_with(monkeypatch, error):
    def fail(name):
        raise error

    monkeypatch.setattr(importlib, "import_module", fail)


def test_scikit_learn_extra_under_numpy_2_says_what_is_wrong(monkeypatch):
    _fail_with(monkeypatch, ValueError("numpy.dtype size changed, may indicate binary incompatibility"))
    monkeypatch.setattr(engines.np, "__version__", "2.4.1")
    with pytest.raises(GroupingError) as caught:
        group(FEATURES, GroupingSpec(engine="scikit-learn-extra"), k=3)
    text = str(caught.value)
    assert "its 0.3.0 wheels do not import under NumPy 2 (dtype size error)" in text
    assert "do under NumPy 1.26.4 with scikit-learn 1.9 (got NumPy 2.4.1)" in text
    assert "pip install scikit-learn-extra==0.3.0 numpy==1.26.4" in text
    assert "`grouping.engine: builtin`" in text
    assert "numpy.dtype size changed" in text


def test_the_code_here_needs_no_package(monkeypatch):
    _fail_with(monkeypatch, ImportError("nothing can be imported"))
    engines.check_engine("builtin")
