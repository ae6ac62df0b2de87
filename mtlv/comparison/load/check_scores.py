"""Checks of scores that `mtlv compare` reads from a store, whose files may contain anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mtlv.errors import MtlvError
from mtlv.evaluation.scoring import SCORING, task_figures
from mtlv.plan import Scores, Task, TaskScores
from mtlv.store.scores_file import read_scores

MOST_WORDS = 1_000_000  # of a document in spans
CLOSE = 1e-6  # tolerance between metrics of the same scores, computed on two machines
Figures = Mapping[str, Mapping[str, float]]


def scores_of(path: Path, split: str, figures: Figures, tasks: Sequence[Task] = ()) -> Scores:
    """Read the scores from a Parquet file and check that they agree with the metrics of their run.

    Args:
        path: the file.
        split: `validation` or `test`.
        figures: the run's test metrics by task, empty if unknown; `support` is the number of
            positive documents of a yes/no task.
        tasks: the tasks of the run; any other task is a yes/no task.

    Raises:
        ValueError: they do not agree; other errors if `mtlv` did not write the file.
    """
    scores = read_scores(path)
    if scores.part != split:
        raise ValueError(f"scores of the part `{scores.part}`")
    if not all(isinstance(id_, str) for id_ in scores.ids):
        raise ValueError("a document id that is not text")
    if len(set(scores.ids)) < len(scores.ids):
        raise ValueError("a document twice")
    if not all(isinstance(group, str) for group in scores.groups or ()):
        raise ValueError("a document group that is not text")
    unknown = sorted(scores.tasks.keys() - figures.keys())
    if unknown and figures:
        raise ValueError(f"scores of `{unknown[0]}`, which is not a label of the run")
    known = {task.name: task for task in tasks}
    for name, of_task in scores.tasks.items():
        tracked = figures.get(name, {}) if split == "test" else {}
        task = known.get(name, Task(name))
        fault = _no_numbers(of_task)
        if not fault:
            decided = SCORING[task.kind].needs_threshold
            fault = _no_probabilities(of_task, tracked) if decided else _not_its_kind(of_task, task, tracked)
        if fault:
            raise ValueError(f"label `{name}`: {fault}")
    return scores


def _no_numbers(scores: TaskScores) -> str:
    """Return what is wrong with the scores of a task of any kind; empty if nothing is."""
    if scores.mask.dtype.kind != "b":
        return "values that are not numbers"
    for values, kinds in ((scores.outputs, "f"), (scores.targets[scores.mask], "iufb")):
        if _are_spans(values):
            if not all(0 <= span.start < span.end <= MOST_WORDS for spans in values for span in spans):
                return "an invalid span"
            continue
        if values.dtype.kind not in kinds:
            return "values that are not numbers"
        if not np.isfinite(values).all():
            return "a number that is not finite"
    return ""


def _are_spans(values: NDArray) -> bool:
    return values.dtype == object and all(isinstance(value, tuple) for value in values)


def _not_its_kind(scores: TaskScores, task: Task, tracked: Mapping[str, float]) -> str:
    """Return what is wrong with the scores of a task without a threshold, given its metrics in the run."""
    if not scores.mask.any():
        return "no document with a target"
    try:
        again = task_figures(task, scores)
    except (MtlvError, AttributeError, IndexError, TypeError, ValueError) as error:
        return f"not scores of the kind `{task.kind}` ({error or type(error).__name__})"
    for name, value in again.items():
        if abs(value - tracked.get(name, value)) > CLOSE:
            return f"{name} {value:.4f}, but {tracked[name]:.4f} in the run"
    return ""


def _no_probabilities(scores: TaskScores, tracked: Mapping[str, float]) -> str:
    """Return what is wrong with the scores of a yes/no task, given its metrics in the run."""
    if scores.outputs.ndim != 1 or _are_spans(scores.outputs):
        return "more than one value per document"
    known = scores.targets[scores.mask]
    if not ((scores.outputs >= 0) & (scores.outputs <= 1)).all():
        return "a probability outside 0 to 1"
    if not np.isin(known, (0, 1)).all():
        return "a target that is not 0 or 1"
    positive = int((known == 1).sum())
    if positive != tracked.get("support", positive):
        return f"{positive} positive documents, but {tracked['support']:g} in the run"
    return ""
