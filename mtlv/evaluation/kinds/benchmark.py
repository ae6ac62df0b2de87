"""Figures that benchmarks define over several tasks: HoC's, by BLURB and by BLUE, and the BLURB score."""

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
    """HoC by BLURB: F1 of all cells documents x hallmarks taken together, 2 Σ TP / (Σ predicted + Σ true).

    BLURB (Gu et al. 2021, section 4.5) says "average micro F1 across the ten cancer hallmarks" and counts
    abstracts, also those without any hallmark. "Average" is what adds up the hallmarks' counts: LinkBERT's
    released script for BLURB's data (utils_hoc.py) pools them like this. The mean of the ten F1 would be
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
    """HoC by BLUE: harmonic mean 2PR / (P + R) of `example_precision` and `example_recall`.

    BLUE (Peng et al. 2019; eval_hoc.py, whose printed precision and recall have changed places). It is the F1
    of two means, not the mean of the documents' F1 (scikit-learn's `average="samples"`). BLUE's data have no
    document without a hallmark, and its script divides by zero there: such documents are left out.
    """
    p, r = example_precision(d), example_recall(d)
    return float(ratio(2 * p * r, p + r))


def _over_documents(d: Decisions, below: np.ndarray) -> float:
    labelled = d.truth.any(axis=1)
    right = np.count_nonzero(d.truth & d.predicted, axis=1)[labelled]
    shares = ratio(right, np.count_nonzero(below, axis=1)[labelled])
    return float(ratio(shares.sum(), shares.size))


def type_means(scores: Mapping[str, float], types: Mapping[str, str]) -> dict[str, float]:
    """Mean score of each task type, in the order in which `types` names them.

    Args:
        scores: main score of each corpus.
        types: task type of each corpus.

    Raises:
        PlanError: the two do not name the same corpora: a mean over fewer is another figure.
    """
    odd = sorted(scores.keys() ^ types.keys())
    if odd or not types:
        raise PlanError("corpora of which the score or the task type is missing", got=", ".join(odd) or "all")
    members: dict[str, list[float]] = {}
    for corpus, type_ in types.items():
        members.setdefault(type_, []).append(scores[corpus])
    return {type_: float(np.mean(values)) for type_, values in members.items()}


def blurb_score(scores: Mapping[str, float], types: Mapping[str, str]) -> float:
    """Mean over task types of the mean of each type's corpora, in the unit of `scores`.

    BLURB (Gu et al. 2021, section 4 and Table 6): six types; a plain mean would favour the five NER corpora.

    Raises:
        PlanError: see `type_means`.
    """
    return float(np.mean(list(type_means(scores, types).values())))
