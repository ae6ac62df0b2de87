"""Tracking of runs. MLflow is only imported by `mlflow_*.py`, which are loaded when needed."""

from mtlv.tracking.address import DEFAULT_URI
from mtlv.tracking.tracker import DataPart, Metric, NullTracker, RunSpec, TableFile, TrackedModel, Tracker
from mtlv.tracking.views import Chart, View

__all__ = [
    "DEFAULT_URI",
    "Chart",
    "DataPart",
    "Metric",
    "NullTracker",
    "RunSpec",
    "TableFile",
    "TrackedModel",
    "Tracker",
    "View",
]
