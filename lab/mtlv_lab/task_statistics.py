"""Features of tasks that need no other model than one of each task alone: size, labels, curve, difficulty."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mtlv.planning.measured import validation_score
from mtlv.planning.task_vectors import VectorSource, task_feature
from mtlv.store.records import UnitRecord
from mtlv_lab.changed_weights import alone, each_alone
from mtlv_lab.transferability import of_classes, rows_and_labels

LEAST_PROBABILITY = 1e-6  # of a label: outputs are rounded, and the log of 0 would outweigh all others
Column = NDArray[np.float64]
Value = Callable[[VectorSource, str, UnitRecord], float]


@task_feature()
def log_size(view: VectorSource) -> Column:
    """Return the natural log of the number of training documents of each task [T, 1].

    The distance of two tasks is the log of the ratio of their sizes. Labels of one data set may all have the
    same size: see `label_count`.
    """
    return np.log([[float(len(rows))] for rows, _ in rows_and_labels(view)])


@task_feature(fits=partial(of_classes, "label_entropy"))
def label_entropy(view: VectorSource) -> Column:
    """Return the entropy of the labels of each task among its training documents [T, 1], in bits.

    Source: Bingel and Søgaard, "Identifying beneficial task relations for multi-task learning in deep neural
    networks" (EACL 2017).

    Raises:
        GroupingError: a task has no class per text.
    """
    of_classes("label_entropy", view.corpus.tasks)
    return np.array([[_entropy_bits(labels)] for _, labels in rows_and_labels(view)])


def _entropy_bits(labels: ArrayLike) -> float:
    shares = np.unique(np.asarray(labels), return_counts=True)[1] / np.size(labels)
    return float(-(shares * np.log2(shares)).sum())


@task_feature(cover=partial(each_alone, "curve_slope"))
def curve_slope(view: VectorSource) -> Column:
    """Return the slope of the validation score of each task alone over its training [T, 1].

    The score is the metric that is logged per epoch, its slope that of a straight line over the share of the
    epochs, by least squares; the mean over seeds. Source: Bingel and Søgaard (EACL 2017), who take the slope
    of the loss.

    Raises:
        GroupingError: a task was not learned alone.
    """
    return _means(view, "curve_slope", _slope)


def _slope(view: VectorSource, name: str, record: UnitRecord) -> float:
    scores = [_score(view, name, record, epoch) for epoch in range(len(record.curve))]
    shares = np.arange(1, len(scores) + 1) / len(scores)
    return float(np.polyfit(shares, scores, 1)[0]) if len(scores) > 1 else 0.0


@task_feature(cover=partial(each_alone, "difficulty"))
def difficulty(view: VectorSource) -> Column:
    """Return 1 minus the validation score of each task alone [T, 1]; the mean over seeds.

    Raises:
        GroupingError: a task was not learned alone.
    """
    return _means(view, "difficulty", lambda view, name, record: 1 - _score(view, name, record))


@task_feature(cover=partial(each_alone, "pvi"), fits=partial(of_classes, "pvi"))
def pvi(view: VectorSource) -> Column:
    """Return the mean pointwise V-usable information of each task alone [T, 1], in bits; the mean over seeds.

    Of a validation document x with label y it is log2 g(y | x) - log2 g(y), with the outputs g(y | x) of the
    model of the task alone, and the shares g(y) of the labels in the training part in place of a model of
    empty texts. Sources: Ethayarajh et al., "Understanding dataset difficulty with V-usable information"
    (ICML 2022); Li et al., "Identifying task groupings for multi-task learning using pointwise V-usable
    information" (J Biomed Inform 2025), who join tasks whose values do not differ significantly.

    Raises:
        GroupingError: a task was not learned alone, or has no class per text.
    """
    of_classes("pvi", view.corpus.tasks)
    training = dict(zip(view.corpus.names, (labels for _, labels in rows_and_labels(view)), strict=True))

    def of_unit(view: VectorSource, name: str, record: UnitRecord) -> float:  # noqa: ARG001
        scores = record.validation.tasks[name]
        known = np.asarray(scores.mask, bool)
        return mean_pvi(np.asarray(scores.outputs)[known], scores.targets[known], training[name])

    return _means(view, "pvi", of_unit)


def mean_pvi(outputs: ArrayLike, labels: ArrayLike, training: ArrayLike) -> float:
    """Return the mean pointwise V-usable information of labels, in bits.

    At most the entropy of the labels (of all classes alike), 0 if the outputs are the shares in training, and
    negative if they are worse.

    Args:
        outputs: probabilities of the classes [N, C], or of 1 [N].
        labels: a class each [N].
        training: labels of the training part [M].

    Example:
        >>> mean_pvi([0.0, 1.0], [0, 1], [0, 0, 1, 1])
        1.0
    """
    probabilities, numbers = np.asarray(outputs, dtype=np.float64), np.asarray(labels)
    if probabilities.ndim == 1:
        probabilities = np.stack([1 - probabilities, probabilities], axis=1)
    counts = np.bincount(np.asarray(training), minlength=probabilities.shape[1])
    rows = np.stack([probabilities[np.arange(len(numbers)), numbers], (counts / counts.sum())[numbers]])
    usable, null = np.log2(np.clip(rows, LEAST_PROBABILITY, 1.0))
    return float((usable - null).mean())


def _score(view: VectorSource, name: str, record: UnitRecord, epoch: int | None = None) -> float:
    """Return the validation score of the kept weights, or after an epoch."""
    scores = record.validation if epoch is None else record.validation_at(epoch)
    task = next(task for task in view.corpus.tasks if task.name == name)
    return validation_score(task, scores.tasks[name])


def _means(view: VectorSource, feature: str, value: Value) -> Column:
    """Return the mean of a value over the units of each task alone [T, 1]."""
    values: dict[str, list[float]] = {name: [] for name in view.corpus.names}
    for name, record in alone(view, feature):
        values[name].append(value(view, name, record))
    return np.array([[np.mean(of_task)] for of_task in values.values()])
