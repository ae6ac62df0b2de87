"""Threshold curves of a task, reduced to few points without changing their shape."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mtlv.evaluation.metrics import Flags, hits_from

Floats = NDArray[np.float64]


def precision_recall_steps(truth: Flags, outputs: Floats, most: int = 60) -> tuple[Floats, Floats]:
    """Return recall and precision [K] of one task's documents ([N] each) as steps, K <= `most`.

    Each recall has the precision at which it is first reached; the area under these steps
    is the average precision. If there are more steps, neighbours are merged to their mean precision,
    weighted by width, which keeps the area. Empty for a task without positive documents.
    """
    positive = int(np.count_nonzero(truth))
    if positive == 0:
        return np.zeros(0), np.zeros(0)
    hits, predicted = hits_from(truth, outputs)
    gain = np.diff(hits, prepend=0)
    area = (gain * hits / predicted)[gain > 0]
    hits, gain = hits[gain > 0], gain[gain > 0]
    first = np.unique(np.linspace(0, hits.size, min(most, hits.size), endpoint=False).astype(int))
    ends = np.append(first[1:], hits.size) - 1
    return hits[ends] / positive, np.add.reduceat(area, first) / np.add.reduceat(gain, first)
