"""Curves over all thresholds of a task, with few points and their true shape."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mtlv.evaluation.metrics import Flags

Floats = NDArray[np.float64]


def precision_recall_steps(truth: Flags, outputs: Floats, most: int = 60) -> tuple[Floats, Floats]:
    """Recall and precision [K] of one task's documents ([N] each) as steps, K <= `most`.

    At each recall that is reached, the precision with which it is reached first: under these steps the area
    is the average precision. Where there are more, neighbours become one step with their mean precision,
    weighted by width, so the area stays. Empty for a task without a positive document.
    """
    positive = int(np.count_nonzero(truth))
    if positive == 0:
        return np.zeros(0), np.zeros(0)
    order = np.argsort(outputs)[::-1]
    ordered = outputs[order]
    last = np.append(np.flatnonzero(np.diff(ordered)), ordered.size - 1)  # last document of each output
    hits = np.cumsum(truth[order])[last]
    gain = np.diff(hits, prepend=0)
    area = (gain * hits / (last + 1))[gain > 0]
    hits, gain = hits[gain > 0], gain[gain > 0]
    first = np.unique(np.linspace(0, hits.size, min(most, hits.size), endpoint=False).astype(int))
    ends = np.append(first[1:], hits.size) - 1
    return hits[ends] / positive, np.add.reduceat(area, first) / np.add.reduceat(gain, first)
