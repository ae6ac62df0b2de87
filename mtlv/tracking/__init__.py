"""Tracking of runs. `mtlv.tracking.mlflow_tracker` is only loaded when needed.

Names are imported on first use, because `mtlv check` needs only the address.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mtlv.tracking.address import DEFAULT_URI
    from mtlv.tracking.memory import MemoryTracker
    from mtlv.tracking.tracker import (
        DataPart,
        Metric,
        NullTracker,
        RunSpec,
        TableFile,
        TrackedModel,
        Tracker,
    )
    from mtlv.tracking.views import Chart, View

_HOME = {
    "DEFAULT_URI": "address",
    "MemoryTracker": "memory",
    "DataPart": "tracker",
    "Metric": "tracker",
    "NullTracker": "tracker",
    "RunSpec": "tracker",
    "TableFile": "tracker",
    "TrackedModel": "tracker",
    "Tracker": "tracker",
    "Chart": "views",
    "View": "views",
}

__all__ = [
    "DEFAULT_URI",
    "Chart",
    "DataPart",
    "MemoryTracker",
    "Metric",
    "NullTracker",
    "RunSpec",
    "TableFile",
    "TrackedModel",
    "Tracker",
    "View",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module `mtlv.tracking` has no `{name}`")
    return getattr(importlib.import_module(f"mtlv.tracking.{_HOME[name]}"), name)
