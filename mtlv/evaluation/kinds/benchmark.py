"""The BLURB score, which is defined over several tasks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mtlv.errors import PlanError

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
