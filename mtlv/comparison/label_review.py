"""What to look at next: labels that are likely wrong, and the documents most worth annotating.

From the scores of validation and test documents only, which the models that scored them were not trained on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mtlv.comparison.blocks import Row, TableBlock, TableColumn
from mtlv.evaluation.compared_runs import Comparison, TaskInfo
from mtlv.evaluation.label_errors import Classes, Floats, suspected_classes
from mtlv.formatting import list_first, many
from mtlv.plan import Scores

ROWS = 50  # maximum of each table
EXCERPT = 1_000  # maximum characters of a text in a table
UNKNOWN = -1  # target of a document without a label
CLASS_PROBABILITIES: Mapping[str, Callable[[NDArray], Floats]] = {
    "binary": lambda outputs: np.stack([1.0 - outputs, outputs], axis=1),
    "multiclass": lambda outputs: np.asarray(outputs, np.float64),
}
"""By kind of task: outputs to probabilities [N, C]; other kinds are left out."""


@dataclass(frozen=True)
class ReviewedTask:
    """A task's probabilities [D, C] for D documents, averaged over `runs` [D] runs, their standard deviation
    over these, averaged over classes [D], and targets [D]."""

    task: TaskInfo
    probabilities: Floats
    spread: Floats
    runs: Classes
    targets: Classes

    def class_name(self, index: int) -> str:
        return (self.task.classes or ("no", "yes"))[index]


def label_review(comparison: Comparison) -> list[TableBlock]:
    """Return the tables that have rows; for the runs on the baseline's data that are shown at first."""
    ids, tasks = _reviewed(comparison)
    judged = (
        f"From the scores of {many(len(ids), 'document')} in a validation or test part, averaged over runs"
    )
    errors = TableBlock(
        "errors_labels",
        "Likely label errors",
        f"The labels that are likeliest to be wrong, at most {ROWS}, likeliest first. {judged}, folds and "
        "seeds: a label is suspected if the probability of another reaches its mean over the documents "
        "labelled with it (confident learning). The runs may be wrong instead: read the text first.",
        [
            *(TableColumn(key, key, "text") for key in ("document", "task", "given", "suspected")),
            TableColumn("probability", "probability of the given", digits=3),
            TableColumn("runs", "runs", digits=0),
        ],
        _error_rows(ids, tasks),
    )
    unlabelled = TableBlock(
        "errors_unlabelled",
        "Worth annotating",
        f"The documents with missing labels that the runs are least sure of, at most {ROWS}. {judged}, folds "
        "and seeds: the entropy of the probabilities, as a share of the highest possible, is averaged over "
        "the missing labels. It is high if each run is unsure, and if runs disagree: the disagreement is the "
        "standard deviation of their probabilities.",
        [
            *(TableColumn(key, key, "text") for key in ("document", "missing")),
            TableColumn("entropy", "entropy", digits=3),
            TableColumn("disagreement", "disagreement", digits=3),
        ],
        _unlabelled_rows(ids, tasks),
    )
    return [table for table in (errors, unlabelled) if table.rows]


def add_text_column(table: TableBlock, comparison: Comparison) -> TableBlock:
    """Return a table of documents with their texts, and how many of the corpus it could not have."""
    if not comparison.texts or not any("document" in row for row in table.rows):
        return table
    rows = [row | {"text": comparison.texts.get(row["document"], "")[:EXCERPT]} for row in table.rows]
    never = len(comparison.texts.keys() - {i for _, part in _parts(comparison) for i in part.ids})
    caption = f"{table.caption} Of the corpus, {many(never, 'document')} had no scores outside training."
    return replace(
        table, caption=caption, columns=[*table.columns, TableColumn("text", "text", "text")], rows=rows
    )


def _parts(comparison: Comparison) -> list[tuple[str, Scores]]:
    """Return (run key, scores) of the parts that no child was trained on; other data has other ids."""
    digest = comparison.run(comparison.baseline).data_digest
    return [
        (run.key, scores)
        for run in comparison.runs
        if run.key in comparison.shown and run.data_digest == digest
        for child in run.children
        for scores in (child.validation, child.test)
        if scores is not None
    ]


def _reviewed(comparison: Comparison) -> tuple[tuple[str, ...], list[ReviewedTask]]:
    """Return the ids of all D documents of these parts, and each task that has classes."""
    parts = _parts(comparison)
    ids = sorted({i for _, scores in parts for i in scores.ids})
    place = {i: row for row, i in enumerate(ids)}
    rows = [np.array([place[i] for i in scores.ids], np.int64) for _, scores in parts]
    tasks = []
    for task in comparison.tasks:
        of_task = [
            (key, documents, scores.tasks[task.name])
            for (key, scores), documents in zip(parts, rows, strict=True)
            if task.name in scores.tasks and task.kind in CLASS_PROBABILITIES
        ]
        keys = sorted({key for key, _, _ in of_task})
        if not keys:
            continue
        targets = np.full(len(ids), UNKNOWN)
        sums = np.zeros((len(keys), len(ids), len(task.classes) or 2))
        counts = np.zeros((len(keys), len(ids), 1))
        for key, documents, scores in of_task:
            sums[keys.index(key), documents] += CLASS_PROBABILITIES[task.kind](scores.outputs)
            counts[keys.index(key), documents] += 1
            targets[documents[scores.mask]] = scores.targets[scores.mask]
        means = np.ma.masked_array(sums, np.broadcast_to(counts == 0, sums.shape)) / np.maximum(counts, 1)
        mean, spread = means.mean(axis=0).filled(0.0), means.std(axis=0).mean(axis=1).filled(0.0)
        tasks.append(ReviewedTask(task, mean, spread, (counts > 0).sum(axis=(0, 2)), targets))
    return tuple(ids), tasks


def _error_rows(ids: tuple[str, ...], tasks: list[ReviewedTask]) -> list[Row]:
    ranked = []
    for reviewed in tasks:
        known = np.flatnonzero(reviewed.targets != UNKNOWN)
        given, probabilities = reviewed.targets[known], reviewed.probabilities[known]
        suspected, margins = suspected_classes(probabilities, given)
        for n in np.argsort(margins, kind="stable")[:ROWS].tolist():  # NaN is last
            if np.isnan(margins[n]):
                break
            row = {
                "document": ids[known[n]],
                "task": reviewed.task.name,
                "given": reviewed.class_name(given[n]),
                "suspected": reviewed.class_name(suspected[n]),
                "probability": float(probabilities[n, given[n]]),
                "runs": int(reviewed.runs[known[n]]),
            }
            ranked.append((float(margins[n]), row))
    return [row for _, row in sorted(ranked, key=lambda pair: pair[0])[:ROWS]]


def _unlabelled_rows(ids: tuple[str, ...], tasks: list[ReviewedTask]) -> list[Row]:
    entropy, spread, count = np.zeros((3, len(ids)))
    missing: list[list[str]] = [[] for _ in ids]
    for reviewed in tasks:
        p = reviewed.probabilities
        of_task = -(p * np.log(np.where(p > 0, p, 1))).sum(axis=1) / np.log(p.shape[1])
        rows = np.flatnonzero((reviewed.targets == UNKNOWN) & (of_task > 0))  # 0: not read for this task
        entropy[rows] += of_task[rows]
        spread[rows] += reviewed.spread[rows]
        count[rows] += 1
        for row in rows.tolist():
            missing[row].append(reviewed.task.name)
    entropy, spread = entropy / np.maximum(count, 1), spread / np.maximum(count, 1)
    return [
        {
            "document": ids[row],
            "missing": list_first(missing[row]),
            "entropy": float(entropy[row]),
            "disagreement": float(spread[row]),
        }
        for row in np.argsort(-entropy, kind="stable")[:ROWS].tolist()
        if count[row]
    ]
