"""Labels that are likely wrong and documents worth annotating, by scores of documents outside training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mtlv.comparison.blocks import Row, TableBlock, TableColumn
from mtlv.comparison.output_readers import Floats
from mtlv.comparison.pooled_scores import PooledTask, by_document
from mtlv.evaluation.compared_runs import Comparison, TaskInfo
from mtlv.formatting import list_first, many
from mtlv.plan import Scores

ROWS = 50  # maximum of a table
EXCERPT = 1_000  # maximum characters of a text
ERRORS = (
    "errors_labels",
    "Likely label errors",
    "Labels that are likely wrong, likeliest first: the mean probability of another reaches its mean over "
    "the documents labelled with it (confident learning). The models may be wrong: read the text first.",
)
UNLABELLED = (
    "errors_unlabelled",
    "Worth annotating",
    "Documents with missing labels of which the models are least sure: by the entropy of the mean "
    "probabilities, as a share of the highest possible. It is high if all are unsure, or if they disagree.",
)

Classes = NDArray[np.int64]
Reviewed = tuple[TaskInfo, PooledTask]
"""A task with mean probabilities [D, C] of D documents, also of one that is yes or no."""


def label_review(comparison: Comparison) -> list[TableBlock]:
    """Return the tables that have rows, of the runs on the baseline's data that are shown at first."""
    with_classes = [task for task in comparison.tasks if task.kind in ("binary", "multiclass")]
    pooled = by_document(_parts(comparison), with_classes)
    ids, texts = pooled.ids, comparison.texts
    tasks = [(task, _by_class(pooled.tasks[task.name])) for task in with_classes if task.name in pooled.tasks]
    judged = f" At most {ROWS}, of {many(len(ids), 'validation or test document')} of all runs and seeds."
    if texts:
        never = len(texts.keys() - set(ids))
        judged += f" Not judged: {never} of {len(texts)} documents, which are in neither part."
    tables = []
    for id, title, text, rows in ((*ERRORS, _errors(ids, tasks)), (*UNLABELLED, _unlabelled(ids, tasks))):
        if texts:
            rows = [{**row, "text": texts.get(row["document"], "")[:EXCERPT]} for row in rows]
        tables += [TableBlock(id, title, text + judged, _columns(rows), rows)] if rows else []
    return tables


def suspected_classes(probabilities: Floats, labels: Classes) -> tuple[Classes, Floats]:
    """Return the class [N] suspected for each document, and the margin [N] of its label.

    The threshold of a class is its mean probability over the documents labelled with it. Suspected is the
    most probable of the classes that reach their thresholds (the confident joint, equation 1). The margin is
    the probability of the label minus that: the lowest are the likeliest errors. It is NaN if no class
    reaches its threshold, or the label is suspected. Northcutt et al., "Confident Learning: Estimating
    Uncertainty in Dataset Labels", JAIR 70, 2021.

    Args:
        probabilities: [N, C], by models that were not trained on the document.
        labels: indices [N] of classes.

    Example:
        >>> probabilities = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.1, 0.9]])
        >>> suspected, margins = suspected_classes(probabilities, np.array([0, 0, 1, 0]))
        >>> suspected.tolist(), margins.round(1).tolist()
        ([0, 0, 1, 1], [nan, nan, nan, -0.8])
    """
    thresholds = np.full(probabilities.shape[1], np.inf)
    for index in np.unique(labels):
        thresholds[index] = probabilities[labels == index, index].mean()
    reaching = np.where(probabilities >= thresholds, probabilities, -np.inf)
    suspected = reaching.argmax(axis=1)
    rows = np.arange(len(labels))
    margins = probabilities[rows, labels] - probabilities[rows, suspected]
    margins[(suspected == labels) | ~np.isfinite(reaching.max(axis=1))] = np.nan
    return suspected, margins


def _columns(rows: Sequence[Row]) -> list[TableColumn]:
    kinds: dict[type, tuple[Literal["text", "number"], int]]
    kinds = {str: ("text", 0), int: ("number", 0), float: ("number", 3)}
    return [TableColumn(key, key, *kinds[type(value)]) for key, value in rows[0].items()]


def _parts(comparison: Comparison) -> list[Scores]:
    """Return the scores outside training; ids of other data than the baseline's may be other documents."""
    digest = comparison.run(comparison.baseline).data_digest
    runs = [run for run in comparison.runs if run.key in comparison.shown and run.data_digest == digest]
    parts = [part for run in runs for child in run.children for part in (child.validation, child.test)]
    return [part for part in parts if part is not None]


def _by_class(pooled: PooledTask) -> PooledTask:
    yes = pooled.outputs
    return pooled if yes.ndim == 2 else replace(pooled, outputs=np.stack([1 - yes, yes], axis=1))


def _errors(ids: Sequence[str], tasks: Sequence[Reviewed]) -> list[Row]:
    ranked = []
    for task, pooled in tasks:
        names, known = task.classes or ("no", "yes"), np.flatnonzero(pooled.known)
        probabilities, targets = pooled.outputs[known], pooled.targets[known].astype(np.int64)
        suspected, margins = suspected_classes(probabilities, targets)
        count = min(ROWS, int(np.isfinite(margins).sum()))
        for place in np.argsort(margins, kind="stable")[:count].tolist():
            n, label = known[place], targets[place]
            row: dict[str, Any] = {"document": ids[n], "task": task.name}
            row |= {"given": names[label], "suspected": names[suspected[place]]}
            row |= {"probability of given": float(probabilities[place, label])}
            ranked.append((margins[place], row | {"models": int(pooled.counts[n])}))
    return [row for _, row in sorted(ranked, key=lambda pair: pair[0])[:ROWS]]


def _unlabelled(ids: Sequence[str], tasks: Sequence[Reviewed]) -> list[Row]:
    sums, missing = np.zeros(len(ids)), [list[str]() for _ in ids]
    for task, pooled in tasks:
        p = pooled.outputs
        entropy = -(p * np.log(np.where(p > 0, p, 1))).sum(axis=1) / np.log(p.shape[1])
        for n in np.flatnonzero(~pooled.known & (entropy > 0)).tolist():  # 0: of another corpus
            sums[n] += entropy[n]
            missing[n].append(task.name)
    means = {n: sums[n] / len(names) for n, names in enumerate(missing) if names}
    best = sorted(means, key=means.__getitem__, reverse=True)[:ROWS]
    return [{"document": ids[n], "missing": list_first(missing[n]), "entropy": float(means[n])} for n in best]
