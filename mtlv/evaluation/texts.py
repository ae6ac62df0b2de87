"""Text reports of an evaluation: scikit-learn's classification report, and a CSV line per task."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from mtlv.evaluation.metrics import Decisions, Metrics, counts, decide, precision_recall_f1
from mtlv.formatting import csv_text
from mtlv.plan.scores import Scores

TITLES = ("precision", "recall", "f1-score", "support")


def classification_report(scores: Scores, names: Sequence[str], thresholds: Mapping[str, float]) -> str:
    """Return precision, recall, F1 and support per task and averaged, in scikit-learn's layout.

    Raises:
        PlanError, TrainingError: see `mtlv.evaluation.metrics.decide`.
    """
    d = decide(scores, names, thresholds)
    hits, predicted, support = counts(d)
    each = precision_recall_f1(hits, predicted, support)  # [3, T]
    by_document = precision_recall_f1(*counts(Decisions(d.truth.T, d.predicted.T, d.known.T)))  # [3, N]
    total, known = support.sum(), d.known.any(axis=1)
    averages: dict[str, Iterable[float]] = {
        "micro avg": precision_recall_f1(hits.sum(), predicted.sum(), total),
        "macro avg": each.mean(axis=1),
        "weighted avg": [np.average(row, weights=support) if total else 0.0 for row in each],
        "samples avg": [row[known].mean() for row in by_document],
    }
    width = max(map(len, [*names, *averages]))

    def line(name: str, figures: Iterable[float], count: int) -> str:
        return f"{name:>{width}} " + "".join(f" {value:>9.4f}" for value in figures) + f" {count:>9}"

    head = f"{'':>{width}} " + "".join(f" {title:>9}" for title in TITLES)
    tasks = map(line, names, each.T, support)
    ends = (line(name, figures, total) for name, figures in averages.items())
    return "\n".join([head, "", *tasks, "", *ends]) + "\n"


def per_task_csv(metrics: Metrics) -> str:
    """Return a header and a line per task: `task` and all metrics of any task, with 6 decimals."""
    return csv_text([{"task": name} | _written(task.as_dict()) for name, task in metrics.tasks.items()])


def _written(figures: Mapping[str, float]) -> dict[str, object]:
    return {key: f"{value:.6f}" if isinstance(value, float) else value for key, value in figures.items()}
