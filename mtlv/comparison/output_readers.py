"""Reads the outputs of each kind of task for a document, and measures the distance between two runs' outputs.

A new kind needs one more entry in `READINGS`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mtlv.comparison.blocks import ShownOutput
from mtlv.evaluation.kinds.entities import entity_f1
from mtlv.evaluation.kinds.masked import FOUND, PIECES
from mtlv.plan import Task
from mtlv.plan.spans import Span

Floats = NDArray[np.float64]


class OutputReader(Protocol):
    """Interface for reading the outputs of one kind of task."""

    distance_title: str
    """Description of the distance between two outputs, shown to users."""

    def combine(self, outputs: NDArray, place: NDArray[np.int64], documents: int) -> NDArray:
        """Combine outputs of M rows, of documents `place`, into one per document: [D, ...]."""
        ...

    def distances(self, left: NDArray, right: NDArray, truth: NDArray) -> Floats:
        """Return distances [D] between two runs' outputs, from 0 to 1, for documents with a target."""
        ...

    def format_output(self, task: Task, output: Any) -> ShownOutput:
        """Return an output as it is shown."""
        ...

    def format_target(self, task: Task, target: Any) -> ShownOutput:
        """Return a target as it is shown."""
        ...


class _Means:
    """Mean over the models that scored a document; NaN if none did."""

    def combine(self, outputs: NDArray, place: NDArray[np.int64], documents: int) -> NDArray:
        columns = outputs.reshape(len(outputs), -1).T
        # `np.add.at` is much slower.
        sums = np.stack([np.bincount(place, column, documents) for column in columns], axis=1)
        with np.errstate(invalid="ignore"):
            means = sums / np.bincount(place, minlength=documents)[:, None]
        return means.reshape(documents, *outputs.shape[1:])


class ProbabilityReader(_Means):
    """A probability, shown as a bar."""

    distance_title = "the distance between their probabilities"

    def distances(self, left: NDArray, right: NDArray, truth: NDArray) -> Floats:
        return np.abs(left - right)

    def format_output(self, task: Task, output: Any) -> ShownOutput:
        return float(output)

    def format_target(self, task: Task, target: Any) -> ShownOutput:
        return bool(target == 1)


class ClassReader(_Means):
    """Probabilities of classes [D, C]; the most probable class is shown."""

    distance_title = "half the sum of the distances between their class probabilities"

    def distances(self, left: NDArray, right: NDArray, truth: NDArray) -> Floats:
        return np.asarray(np.abs(left - right).sum(axis=1) / 2)

    def format_output(self, task: Task, output: Any) -> ShownOutput:
        best = int(np.argmax(output))
        return f"{task.classes[best]} ({output[best]:.2f})"

    def format_target(self, task: Task, target: Any) -> ShownOutput:
        return str(task.classes[int(target)])


class NumberReader(_Means):
    """A number."""

    distance_title = "the distance between their numbers, as a share of the range of the true ones"

    def distances(self, left: NDArray, right: NDArray, truth: NDArray) -> Floats:
        reach = float(np.ptp(truth)) if truth.size else 0.0
        return np.clip(np.abs(left - right) / (reach or 1.0), 0, 1)

    def format_output(self, task: Task, output: Any) -> ShownOutput:
        return f"{output:.2f}"

    def format_target(self, task: Task, target: Any) -> ShownOutput:
        return f"{target:.4g}"


class MaskedReader(_Means):
    """Sums over masked pieces [D, 6]; the share that was found is shown."""

    distance_title = "the distance between their shares of masked pieces that were found"

    def distances(self, left: NDArray, right: NDArray, truth: NDArray) -> Floats:
        return np.abs(self._share(left) - self._share(right))

    def format_output(self, task: Task, output: Any) -> ShownOutput:
        return f"{float(self._share(output)):.2f} of the masked pieces"

    def format_target(self, task: Task, target: Any) -> ShownOutput:
        return "the text itself"

    def _share(self, output: NDArray) -> NDArray:
        return np.asarray(output[..., FOUND] / np.maximum(output[..., PIECES], 1))


class SpanReader:
    """Spans; with several models, those found by more than half of them."""

    distance_title = "1 − F1 between the spans they found"

    def combine(self, outputs: NDArray, place: NDArray[np.int64], documents: int) -> NDArray:
        counts: list[Counter[Span]] = [Counter() for _ in range(documents)]
        for at, spans in zip(place.tolist(), outputs, strict=True):
            counts[at].update(set(spans))
        models = np.bincount(place, minlength=documents)
        rows = np.empty(documents, object)
        for at, count in enumerate(counts):
            rows[at] = tuple(sorted(span for span, times in count.items() if 2 * times > models[at]))
        return rows

    def distances(self, left: NDArray, right: NDArray, truth: NDArray) -> Floats:
        pairs = zip(left, right, strict=True)
        return np.array([0.0 if set(a) == set(b) else 1 - entity_f1([a], [b]) for a, b in pairs], np.float64)

    def format_output(self, task: Task, output: Any) -> ShownOutput:
        return tuple(output)

    def format_target(self, task: Task, target: Any) -> ShownOutput:
        return self.format_output(task, target)


READINGS: Mapping[str, OutputReader] = {
    "binary": ProbabilityReader(),
    "multiclass": ClassReader(),
    "regression": NumberReader(),
    "tagging": SpanReader(),
    "mlm": MaskedReader(),
}


def describe_distances(tasks: Sequence[Task]) -> str:
    """Describe the distances between two runs for these tasks."""
    ways = list(dict.fromkeys(READINGS[task.kind].distance_title for task in tasks))
    return ways[0] if len(ways) == 1 else f"the distance between their outputs ({'; '.join(ways)})"
