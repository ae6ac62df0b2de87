"""Scores of a run's folds and seeds, put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtlv.compare.comparison import ComparedRun
from mtlv.plan import Scores, TaskScores


@dataclass(frozen=True)
class DocumentMeans:
    """Mean probabilities of a run by document, [N, T] each; NaN where no child scored a cell.

    Args:
        ids: of the N documents, sorted.
        outputs: mean over the children that tested the document.
        targets: 1 where the task applies.
    """

    ids: tuple[str, ...]
    outputs: NDArray[np.float64]
    targets: NDArray[np.bool_]


def one_after_the_other(run: ComparedRun, split: str) -> Scores | None:
    """The children's scores of `validation` or `test` below each other; a document can come several times.

    Only tasks that all of them scored; nothing where no child has scores.
    """
    parts = _parts(run, split)
    if not parts:
        return None
    names = [name for name in parts[0].tasks if all(name in part.tasks for part in parts)]
    tasks = {name: _below([part.tasks[name] for part in parts]) for name in names}
    units = tuple(unit for part in parts for unit in part.units)
    return Scores(units, split, tuple(i for part in parts for i in part.ids), tasks)


def _parts(run: ComparedRun, split: str) -> list[Scores]:
    found = [child.validation if split == "validation" else child.test for child in run.children]
    return [part for part in found if part is not None and part.ids]


def _below(parts: Sequence[TaskScores]) -> TaskScores:
    return TaskScores(
        np.concatenate([part.outputs for part in parts]),
        np.concatenate([part.targets for part in parts]),
        np.concatenate([part.mask for part in parts]).astype(bool),
    )


def by_document(run: ComparedRun, names: Sequence[str]) -> DocumentMeans | None:
    """Means over the children of the test probabilities of the tasks `names`, by document."""
    scores = one_after_the_other(run, "test")
    if scores is None or any(name not in scores.tasks for name in names):
        return None
    ids, place = np.unique(np.array(scores.ids), return_inverse=True)
    outputs, targets = scores.matrix(names)
    known = np.stack([scores.tasks[name].mask for name in names], axis=1)
    sums = _sums(place, np.where(known, outputs, 0.0))
    count = _sums(place, known)
    positive = _sums(place, (targets == 1) & known)
    means = np.divide(sums, count, out=np.full(sums.shape, np.nan), where=count > 0)
    return DocumentMeans(tuple(ids.tolist()), means, positive > 0)


def _sums(place: NDArray[np.int64], values: NDArray[Any]) -> NDArray[np.float64]:
    """Sums of the rows of `values` [M, T] that have the same place [M]; `np.add.at` takes far longer."""
    return np.stack([np.bincount(place, weights=column) for column in values.T], axis=1)
