"""Tasks that were tested on the same documents by runs on different data, and are therefore comparable."""

from __future__ import annotations

import numpy as np

from mtlv.evaluation.compared_runs import ComparedFold, ComparedRun, Comparison, TaskInfo
from mtlv.seeding import content_key


def same_documents(comparison: Comparison) -> tuple[list[str], list[str]]:
    """Return the tasks that all runs on different data tested on the same documents and targets, and the
    others, of those whose scores were read: runs on one and on several corpora may share a test part."""
    same: list[str] = []
    different: list[str] = []
    for task in comparison.tasks:
        having = [run for run in comparison.runs if run.of_task(task.name, task.main_metric)]
        if len({run.data_digest for run in having}) < 2:
            continue
        tested = {_tested(run, task) for run in having}
        if None not in tested:
            (same if len(tested) == 1 else different).append(task.name)
    return same, different


def _tested(run: ComparedRun, task: TaskInfo) -> frozenset[str] | None:
    """Return a digest for each test part of the run's children; None if scores of one were not read."""
    digests = [_digest(child, task) for child in run.children]
    return None if None in digests else frozenset(filter(None, digests))


def _digest(child: ComparedFold, task: TaskInfo) -> str | None:
    """Return a digest of ids and targets; joined corpora prefix an id with its source."""
    if child.test is None or task.name not in child.test.tasks:
        return None
    scores, before = child.test.tasks[task.name], f"{task.source}/"
    rows = np.flatnonzero(scores.mask)
    targets = scores.targets[rows].tolist()
    ids = [child.test.ids[row].removeprefix(before) for row in rows]
    return content_key(sorted(zip(ids, targets, strict=True), key=lambda pair: pair[0]))
