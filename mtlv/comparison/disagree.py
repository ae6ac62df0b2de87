"""The test documents on which two runs disagree most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from mtlv.comparison.blocks import Disagreement, DocumentRow, ShownOutput
from mtlv.comparison.output_readers import READINGS, describe_distances
from mtlv.comparison.pooled_scores import PooledScores, PooledTask, by_document
from mtlv.evaluation.compared_runs import ComparedRun, Comparison
from mtlv.evaluation.mixed import by_source
from mtlv.evaluation.pairs import comparable, tasks_of
from mtlv.plan import Task

DOCUMENTS = 8  # documents shown per pair
SCORES = 6  # tasks shown per document, besides its positive ones
MISSING = "Some texts are not available; give the corpus with `mtlv compare --data PATH`."
OTHER_DATA = "Texts are from the baseline's data; documents of runs on other data are shown without text."


def disagreement(comparison: Comparison, runs: Sequence[ComparedRun]) -> list[Disagreement]:
    """Return the most different documents for all pairs of `runs` with the same data; [] without scores."""
    tasks = comparison.tasks
    outputs: dict[str, tuple[Sequence[Task], PooledScores]] = {}
    for run in runs:
        learned = [task for task in tasks if task.name in tasks_of(run)]
        pooled = by_document([child.test for child in run.children if child.test is not None], learned)
        if learned and len(pooled.tasks) == len(learned):
            outputs[run.key] = learned, pooled
    pairs = {
        (a.key, b.key): _documents(*outputs[a.key], outputs[b.key][1])
        for a, b in combinations([run for run in runs if run.key in outputs], 2)
        if comparable(a, b)
    }
    if not pairs:
        return []
    texts, missing = _texts(comparison, pairs)
    caption = (
        f"The {DOCUMENTS} test documents on which two runs differ most: by the mean over tasks of "
        f"{describe_distances(tasks)}, averaged over folds and seeds. The table shows the tasks that "
        "differ most and all positive ones."
        + (" Documents of the corpora alternate." if len(by_source(tasks)) > 1 else "")
    )
    return [Disagreement("errors_documents", "Where two runs disagree", caption, pairs, texts, missing)]


def _texts(
    comparison: Comparison, pairs: Mapping[tuple[str, str], Sequence[DocumentRow]]
) -> tuple[dict[str, str], str]:
    """Return texts by document, and why some are missing. Ids of another corpus may be other documents."""
    digest = comparison.run(comparison.baseline).data_digest
    of_baseline: set[str] = set()
    others: set[str] = set()
    for (key, _), documents in pairs.items():
        same = comparison.run(key).data_digest == digest
        (of_baseline if same else others).update(document.id for document in documents)
    texts = {i: comparison.texts[i] for i in sorted(of_baseline - others) if i in comparison.texts}
    if others and texts:
        return texts, OTHER_DATA
    return texts, "" if len(texts) == len(of_baseline | others) else MISSING


def _documents(tasks: Sequence[Task], one: PooledScores, other: PooledScores) -> list[DocumentRow]:
    """Return the documents that differ most, among those tested by both runs."""
    ids, mine, theirs = np.intersect1d(one.ids, other.ids, return_indices=True)
    pairs = [(one.tasks[task.name].rows(mine), other.tasks[task.name].rows(theirs)) for task in tasks]
    columns = [_distances(task, *pair) for task, pair in zip(tasks, pairs, strict=True)]
    distances, known = (
        np.stack(columns_of, axis=1) for columns_of in zip(*columns, strict=True)
    )  # both [D, T]
    distance = distances.sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    documents = []
    for n in _in_turn(np.lexsort((ids, -distance)), known, tasks)[:DOCUMENTS]:
        if distance[n] == 0:
            break
        order = np.argsort(-distances[n], kind="stable")
        most = set(order[:SCORES].tolist())
        rows = [(t, _formatted(tasks[t], n, *pairs[t])) for t in order.tolist() if known[n, t]]
        scores = [row for t, row in rows if t in most or row[-1] is True]
        documents.append(DocumentRow(str(ids[n]), float(distance[n]), scores))
    return documents


def _in_turn(order: NDArray[np.int64], known: NDArray[np.bool_], tasks: Sequence[Task]) -> list[int]:
    """Sort D documents by `order`, but alternate between sources: distances of different kinds of tasks are
    not comparable.

    `known` [D, T] is whether there is a target.
    """
    sources = [task.source for task in tasks]
    turn: Counter[str] = Counter()
    at: dict[int, int] = {}
    for n in order.tolist():
        source = next((source for t, source in enumerate(sources) if known[n, t]), "")
        at[n] = turn[source]
        turn[source] += 1
    return sorted(order.tolist(), key=at.__getitem__)  # a stable sort


def _distances(
    task: Task, one: PooledTask, other: PooledTask
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return distances [D] of documents tested by both runs (0 without a target), and a mask of targets."""
    known = one.known & other.known
    distances = np.zeros(len(known))
    distances[known] = READINGS[task.kind].distances(
        one.outputs[known], other.outputs[known], one.targets[known]
    )
    return distances, known


def _formatted(
    task: Task, row: int, one: PooledTask, other: PooledTask
) -> tuple[str, ShownOutput, ShownOutput, ShownOutput]:
    reading = READINGS[task.kind]
    left, right = (
        reading.format_output(task, one.outputs[row]),
        reading.format_output(task, other.outputs[row]),
    )
    return task.name, left, right, reading.format_target(task, one.targets[row])
