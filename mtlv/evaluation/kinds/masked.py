"""Metrics of masked language modelling, from sums over the masked pieces of each document."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from mtlv.evaluation.sums import Floats, Sums

NATS, PIECES, FOUND, WORDS, WORDS_FOUND, CHARACTERS = range(6)
"""Columns of a document's sums."""


def sums(outputs: ArrayLike) -> dict[str, Sums]:
    """Return all metrics as functions of the sums [N, 6] of `mtlv.models.kinds.masked`.

    Loss, perplexity and accuracy depend on the vocabulary and on the share of masked pieces. Between
    vocabularies, compare bits per character; each vocabulary masks its own random words, so use many texts.
    """
    cells = np.asarray(outputs, np.float64).reshape(-1, 6)
    return {name: Sums(cells, metric) for name, metric in METRICS.items()}


def _ratio(cells: Floats, above: int, below: int, factor: float = 1.0) -> Floats:
    return factor * cells[:, above] / np.maximum(cells[:, below], 1)


METRICS: dict[str, Callable[[Floats], Floats]] = {
    "masked_loss": partial(_ratio, above=NATS, below=PIECES),
    "perplexity": lambda cells: np.exp(_ratio(cells, NATS, PIECES)),
    "piece_accuracy": partial(_ratio, above=FOUND, below=PIECES),
    "word_accuracy": partial(_ratio, above=WORDS_FOUND, below=WORDS),
    "bits_per_character": partial(_ratio, above=NATS, below=CHARACTERS, factor=1 / np.log(2)),
}
