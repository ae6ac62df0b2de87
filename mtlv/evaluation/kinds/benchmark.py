"""Metrics that benchmarks define over several tasks: HoC's, by BLURB and by BLUE, and the BLURB score."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mtlv.errors import PlanError
from mtlv.evaluation.metrics import Decisions, f1_micro, ratio

BLURB: Mapping[str, str] = {
    "bc5cdr_chem": "named entities",
    "bc5cdr_disease": "named entities",
    "ncbi_disease": "named entities",
    "bc2gm": "named entities",
    "jnlpba": "named entities",
    "ebmnlp": "PICO",
    "chemprot": "relations",
    "ddi2013": "relations",
    "gad": "relations",
    "biosses": "sentence similarity",
    "hoc": "document classes",
    "pubmedqa": "question answering",
    "bioasq": "question answering",
}
"""Task type of each of BLURB's corpora (Gu et al. 2021, Table 3), by their names in `mtlv data list`."""


def average_f1_micro(d: Decisions) -> float:
    """F1 of HoC by BLURB: all cells documents x hallmarks pooled, 2 Σ TP / (Σ predicted + Σ true).

    BLURB (Gu et al. 2021, section 4.5) says "average micro F1 across the ten cancer hallmarks" and counts
    all abstracts, including those without any hallmark. LinkBERT's released script for BLURB's data
    (utils_hoc.py) adds up the counts of the hallmarks in this way. The mean of the ten F1 would be
    `mtlv.evaluation.metrics.f1_macro`.
    """
    return f1_micro(d)


def example_precision(d: Decisions) -> float:
    """Mean over documents with a true label of |true and predicted| / |predicted|; 0 if none is predicted."""
    return _over_documents(d, d.predicted)


def example_recall(d: Decisions) -> float:
    """Mean over documents with a true label of |true and predicted| / |true|."""
    return _over_documents(d, d.truth)


def example_f1(d: Decisions) -> float:
    """F1 of HoC by BLUE: harmonic mean 2PR / (P + R) of `example_precision` and `example_recall`.

    BLUE (Peng et al. 2019; eval_hoc.py, which prints precision and recall in swapped places). It is the F1
    of two means, not the mean of the documents' F1 (scikit-learn's `average="samples"`). BLUE's data have no
    documents without a hallmark, for which its script would divide by zero; they are left out here.
    """
    p, r = example_precision(d), example_recall(d)
    return float(ratio(2 * p * r, p + r))


def _over_documents(d: Decisions, below: np.ndarray) -> float:
    labelled = d.truth.any(axis=1)
    right = np.count_nonzero(d.truth & d.predicted, axis=1)[labelled]
    shares = ratio(right, np.count_nonzero(below, axis=1)[labelled])
    return float(ratio(shares.sum(), shares.size))


def type_means(scores: Mapping[str, float], types: Mapping[str, str]) -> dict[str, float]:
    """Return the mean score of each task type, in the order of `types`.

    Args:
        scores: main score of each corpus.
        types: task type of each corpus.

    Raises:
        PlanError: the corpora of the two differ, so the mean would not be comparable.
    """
    odd = sorted(scores.keys() ^ types.keys())
    if odd or not types:
        raise PlanError("corpora without a score or a task type", got=", ".join(odd) or "all")
    members: dict[str, list[float]] = {}
    for corpus, type_ in types.items():
        members.setdefault(type_, []).append(scores[corpus])
    return {type_: float(np.mean(values)) for type_, values in members.items()}


def blurb_score(scores: Mapping[str, float], types: Mapping[str, str]) -> float:
    """Return the mean over task types of the mean of each type's corpora, in the unit of `scores`.

    BLURB (Gu et al. 2021, section 4 and Table 6): six types; a plain mean would favour the five NER corpora.

    Raises:
        PlanError: see `type_means`.
    """
    return float(np.mean(list(type_means(scores, types).values())))
