"""Text reports of an evaluation: scikit-learn's classification report, and a CSV line per task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mtlv.evaluation.metrics import Metrics, decide
from mtlv.formatting import csv_text
from mtlv.plan.scores import Scores


def classification_report(scores: Scores, names: Sequence[str], thresholds: Mapping[str, float]) -> str:
    """Return precision, recall, F1 and support per task and averaged, in scikit-learn's layout.

    Raises:
        PlanError, TrainingError: see `mtlv.evaluation.metrics.decide`.
    """
    from sklearn.metrics import classification_report as report

    d = decide(scores, names, thresholds)
    known = np.flatnonzero(d.known.any(axis=1)).tolist() or [0]  # scikit-learn needs a document
    # With a column that is not reported: scikit-learn takes a single task, or a single document, for classes.
    truth, predicted = (np.pad(part[known], ((0, 0), (0, 1))) for part in (d.truth, d.predicted))
    labels = range(len(names))
    return report(truth, predicted, labels=labels, target_names=names, digits=4, zero_division=0)


def per_task_csv(metrics: Metrics) -> str:
    """Return a header and a line per task: `task` and all metrics of any task, with 6 decimals."""
    rows = [{"task": name} | task.as_dict() for name, task in metrics.tasks.items()]
    return csv_text([{k: f"{x:.6f}" if isinstance(x, float) else x for k, x in row.items()} for row in rows])
