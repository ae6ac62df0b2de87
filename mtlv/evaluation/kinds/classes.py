"""Metrics of multiclass tasks: accuracy, and F1 with or without the negative class.

Classes are indices into the task's classes [N]. Those that count are listed explicitly, not taken from a
confusion matrix, where a class without documents shifts the others (a possible error in MT-BERT's scripts).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from mtlv.errors import DataError, nearest
from mtlv.evaluation.kinds.counts import Counts, f1, f1_of, mean_f1
from mtlv.evaluation.metrics import ratio
from mtlv.evaluation.sums import Sums

Classes = NDArray[np.integer]


def positive_classes(classes: Sequence[str], negative: Collection[str]) -> tuple[int, ...]:
    """Return the indices of the classes that are not negative.

    Raises:
        DataError: a negative class is not a class of the task, or there is no other class.
    """
    unknown = [name for name in negative if name not in classes]
    if unknown:
        raise DataError(
            f"the negative class `{unknown[0]}` is not a class of the task",
            allowed=", ".join(classes),
            then=nearest(unknown[0], classes),
        )
    positive = tuple(place for place, name in enumerate(classes) if name not in negative)
    if not positive:
        raise DataError("every class of the task is negative", then="leave at least one positive")
    return positive


def class_counts(truth: Classes, predicted: Classes, classes: Collection[int]) -> Counts:
    """Return per document [N, 3], each 0 or 1, whether one of `classes` is correct, predicted, and true."""
    truth, predicted = np.asarray(truth), np.asarray(predicted)
    wanted = np.array(sorted(classes), np.int64)
    there, found = np.isin(truth, wanted), np.isin(predicted, wanted)
    return np.stack([there & (truth == predicted), found, there], axis=-1).astype(np.int64)


def accuracy(truth: Classes, predicted: Classes) -> float:
    """Share of documents with the correct class. BLURB: question answering."""
    right = np.asarray(truth) == np.asarray(predicted)
    return float(ratio(right.sum(), right.size))


def f1_micro(truth: Classes, predicted: Classes) -> float:
    """F1 of all classes pooled. With one class per document, it equals the accuracy (BLUE: MedNLI)."""
    return accuracy(truth, predicted)


def f1_micro_positive(truth: Classes, predicted: Classes, positive: Collection[int]) -> float:
    """F1 of the positive classes pooled.

    2 Σ TP / (Σ predicted + Σ true), with sums over `positive`: a negative document predicted as negative
    does not count, a false positive lowers precision, and a missed one lowers recall. BLURB and BLUE:
    relation extraction.
    """
    return f1(class_counts(truth, predicted, positive))


def f1_per_class(truth: Classes, predicted: Classes, classes: Sequence[int]) -> NDArray[np.float64]:
    """Return the F1 of each of `classes` against all others, in order."""
    return np.array([f1(class_counts(truth, predicted, [place])) for place in classes])


def f1_macro(truth: Classes, predicted: Classes, classes: Sequence[int]) -> float:
    """Mean of the F1 of `classes`, including classes without documents."""
    return float(f1_per_class(truth, predicted, classes).mean())


def figures(
    truth: Classes, predicted: Classes, *, classes: int, positive: Collection[int] | None = None
) -> dict[str, float]:
    """Return all metrics by name; `f1_micro_positive` only if `positive` is given.

    Args:
        truth: [N] class indices.
        predicted: [N] class indices.
        classes: number of classes of the task.
        positive: indices of the classes that are not negative.
    """
    found = {
        "accuracy": accuracy(truth, predicted),
        "f1_micro": f1_micro(truth, predicted),
        "f1_macro": f1_macro(truth, predicted, range(classes)),
    }
    if positive is not None:
        found["f1_micro_positive"] = f1_micro_positive(truth, predicted, positive)
    return found


def sums(
    truth: Classes, predicted: Classes, *, classes: int, positive: Collection[int] | None = None
) -> dict[str, Sums]:
    """Return the same metrics as functions of sums over documents."""
    right = np.asarray(truth) == np.asarray(predicted)
    share = Sums(np.stack([right, np.ones_like(right)], axis=1).astype(np.int64), _share)
    found = {
        "accuracy": share,
        "f1_micro": share,
        "f1_macro": mean_f1([class_counts(truth, predicted, [place]) for place in range(classes)]),
    }
    if positive is not None:
        found["f1_micro_positive"] = Sums(class_counts(truth, predicted, positive), f1_of)
    return found


def _share(sums: NDArray) -> NDArray[np.float64]:
    return ratio(sums[..., 0], sums[..., 1])
