"""Where runs are written to. `mtlv.tracking.mlflow_tracker` is loaded by those who need it only."""

from mtlv.tracking.address import DEFAULT_URI, page_url
from mtlv.tracking.memory import MemoryTracker
from mtlv.tracking.tracker import (
    DataPart,
    Metric,
    NullTracker,
    RunSpec,
    Status,
    TableFile,
    TrackedModel,
    Tracker,
)
from mtlv.tracking.views import Chart, View

__all__ = [
    "DEFAULT_URI",
    "Chart",
    "DataPart",
    "MemoryTracker",
    "Metric",
    "NullTracker",
    "RunSpec",
    "Status",
    "TableFile",
    "TrackedModel",
    "Tracker",
    "View",
    "page_url",
]
