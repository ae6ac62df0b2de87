"""Where runs are written to. `mtlv.tracking.mlflow_tracker` is loaded by those who need it only."""

from mtlv.tracking.address import DEFAULT_URI, page_url
from mtlv.tracking.memory import MemoryTracker
from mtlv.tracking.tracker import Metric, NullTracker, RunSpec, Status, TrackedModel, Tracker

__all__ = [
    "DEFAULT_URI",
    "MemoryTracker",
    "Metric",
    "NullTracker",
    "RunSpec",
    "Status",
    "TrackedModel",
    "Tracker",
    "page_url",
]
