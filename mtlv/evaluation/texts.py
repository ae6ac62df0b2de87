"""Text reports of an evaluation: scikit-learn's classification report, and a CSV line per task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mtlv.evaluation.metrics import (
    Decisions,
    Metrics,
    counts,
    decide,
    f1_per_task,
    precision_per_task,
    ratio,
    recall_per_task,
)
from mtlv.formatting import csv_text
from mtlv.plan.scores import Scores

Row = tuple[str, float, float, float, int]


def classification_report(
    scores: Scores, names: Sequence[str], thresholds: Mapping[str, float], *, digits: int = 4
) -> str:
    """Return precision, recall, F1 and support per task and averaged, in scikit-learn's layout.

    Raises:
        PlanError, TrainingError: see `mtlv.evaluation.metrics.decide`.
    """
    d = decide(scores, names, thresholds)
    _, _, support = counts(d)
    table = np.stack([precision_per_task(d), recall_per_task(d), f1_per_task(d)])  # [3, T]
    rows: list[Row] = [(name, *_floats(table[:, t]), int(support[t])) for t, name in enumerate(names)]
    total = int(support.sum())
    weighted = np.array([np.average(row, weights=support) if total else 0.0 for row in table])
    averages: list[Row] = [
        ("micro avg", *_micro(d), total),
        ("macro avg", *_floats(table.mean(axis=1)), total),
        ("weighted avg", *_floats(weighted), total),
        ("samples avg", *_samples(d), total),
    ]
    return _layout(rows, averages, digits)


def _floats(values: np.ndarray) -> tuple[float, float, float]:
    return float(values[0]), float(values[1]), float(values[2])


def _micro(d: Decisions) -> tuple[float, float, float]:
    hits, predicted, positive = (array.sum() for array in counts(d))
    values = ratio(np.array([hits, hits, 2 * hits]), np.array([predicted, positive, predicted + positive]))
    return _floats(values)


def _samples(d: Decisions) -> tuple[float, float, float]:
    """Return precision, recall and F1 of each document, averaged over the documents."""
    flipped = Decisions(d.truth.T, d.predicted.T, d.known.T)
    each = np.stack([precision_per_task(flipped), recall_per_task(flipped), f1_per_task(flipped)])
    return _floats(np.array([row[d.known.any(axis=1)].mean() for row in each]))


def _layout(rows: Sequence[Row], averages: Sequence[Row], digits: int) -> str:
    width = max([len(row[0]) for row in rows] + [len("weighted avg"), digits])
    head = f"{'':>{width}s} " + "".join(f" {h:>9}" for h in ("precision", "recall", "f1-score", "support"))

    def line(row: Row) -> str:
        figures = "".join(f" {value:>9.{digits}f}" for value in row[1:4])
        return f"{row[0]:>{width}s} {figures} {row[4]:>9}"

    return "\n".join([head, "", *map(line, rows), "", *map(line, averages)]) + "\n"


def per_task_csv(metrics: Metrics) -> str:
    """Return a header and a line per task: `task` and all metrics of any task, with 6 decimals."""
    return csv_text([{"task": name} | _written(task.as_dict()) for name, task in metrics.tasks.items()])


def _written(figures: Mapping[str, float]) -> dict[str, object]:
    return {key: f"{value:.6f}" if isinstance(value, float) else value for key, value in figures.items()}
