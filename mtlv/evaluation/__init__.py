"""Evaluation of saved scores: thresholds fitted on validation, then metrics of the plan and of each task."""

from mtlv.evaluation.metrics import Metrics, PlanMetrics, decide, evaluate
from mtlv.evaluation.texts import classification_report, per_task_csv
from mtlv.evaluation.thresholds import Thresholds, fit_thresholds, grid_values

__all__ = [
    "Metrics",
    "PlanMetrics",
    "Thresholds",
    "classification_report",
    "decide",
    "evaluate",
    "fit_thresholds",
    "grid_values",
    "per_task_csv",
]
