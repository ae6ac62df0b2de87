"""From settings to results: the only part that knows the settings, the store and the tracker.

Names are imported on first use, so that `mtlv check` does not wait for what only `mtlv run` needs.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mtlv.running.check import MemberCheck, SuiteCheck, check_suite
    from mtlv.running.cluster import ClusterResult, cluster_suite
    from mtlv.running.observer import Observer
    from mtlv.running.predicting import predict_texts
    from mtlv.running.suite import SuiteResult, run_suite

_HOME = {
    "MemberCheck": "check",
    "SuiteCheck": "check",
    "check_suite": "check",
    "ClusterResult": "cluster",
    "cluster_suite": "cluster",
    "Observer": "observer",
    "predict_texts": "predicting",
    "SuiteResult": "suite",
    "run_suite": "suite",
}

__all__ = [
    "ClusterResult",
    "MemberCheck",
    "Observer",
    "SuiteCheck",
    "SuiteResult",
    "check_suite",
    "cluster_suite",
    "predict_texts",
    "run_suite",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module `mtlv.running` has no `{name}`")
    return getattr(importlib.import_module(f"mtlv.running.{_HOME[name]}"), name)
