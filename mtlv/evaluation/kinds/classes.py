"""Metrics of multiclass tasks: accuracy, and F1 with or without the negative class.

Classes are indices into the task's classes [N]. Those that count are listed explicitly, not taken from a
confusion matrix, where a class without documents shifts the others (a possible error in MT-BERT's scripts).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from mtlv.errors import DataError, nearest
from mtlv.evaluation.kinds.counts import Counts, f1_of, mean_f1
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
    indices = np.array(sorted(classes), np.int64)
    is_true, is_predicted = np.isin(truth, indices), np.isin(predicted, indices)
    return np.stack([is_true & (truth == predicted), is_predicted, is_true], axis=-1).astype(np.int64)


def sums(
    truth: Classes, predicted: Classes, *, classes: int, positive: Collection[int] | None = None
) -> dict[str, Sums]:
    """All metrics by name.

    - `accuracy`: share of documents whose class is right. BLURB: question answering.
    - `f1_micro`: F1 of all classes taken together. With one class per document it is the accuracy (BLUE:
      MedNLI).
    - `f1_macro`: mean of the F1 of each class against all others, also of those that no document has.
    - `f1_micro_positive`, if `positive` is given: F1 of the positive classes taken together,
      2 Σ TP / (Σ predicted + Σ true). A document that is truly negative and predicted so counts nowhere; one
      wrongly predicted positive lowers precision, one missed lowers recall. BLURB and BLUE: relations.

    Args:
        truth: [N] class indices.
        predicted: [N] class indices.
        classes: number of classes of the task.
        positive: indices of the classes that are not negative.
    """
    right = np.asarray(truth) == np.asarray(predicted)
    counts = np.stack([right, np.ones_like(right)], axis=1).astype(np.int64)
    share = Sums(counts, lambda sums: ratio(sums[..., 0], sums[..., 1]))
    metrics = {
        "accuracy": share,
        "f1_micro": share,
        "f1_macro": mean_f1([class_counts(truth, predicted, [place]) for place in range(classes)]),
    }
    if positive is not None:
        metrics["f1_micro_positive"] = Sums(class_counts(truth, predicted, positive), f1_of)
    return metrics
