"""The BLURB score from the published cells."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from mtlv.errors import PlanError
from mtlv.evaluation.kinds.benchmark import blurb_score, type_means

# Gu et al. 2021, "Domain-Specific Language Model Pretraining for Biomedical Natural Language Processing",
# Table 6 (arXiv 2007.15779), and to which type of task each corpus belongs.
TABLE_6 = Path(__file__).resolve().parents[4] / "experiments" / "blurb" / "expected.csv"
NER = ("BC5-chem", "BC5-disease", "NCBI-disease", "BC2GM", "JNLPBA")
TYPES = {
    **dict.fromkeys(NER, "NER"),
    "EBM PICO": "PICO",
    **dict.fromkeys(("ChemProt", "DDI", "GAD"), "relation"),
    "BIOSSES": "similarity",
    "HoC": "document",
    **dict.fromkeys(("PubMedQA", "BioASQ"), "question"),
}
PUBLISHED = {
    "BERT uncased": 75.99,
    "BERT cased": 75.76,
    "RoBERTa": 76.33,
    "BioBERT": 80.29,
    "SciBERT uncased": 78.80,
    "SciBERT cased": 78.08,
    "ClinicalBERT": 77.19,
    "BlueBERT": 76.19,
    "PubMedBERT": 81.10,
}
"""Its last row, "BLURB score"."""


@pytest.mark.parametrize("encoder", PUBLISHED)
def test_blurb_scores_of_table_6_come_out_to_the_last_digit(encoder):
    with TABLE_6.open(encoding="utf-8", newline="") as file:
        cells = {row["row"]: 100 * float(row["value"]) for row in csv.DictReader(file)}
    scores = {corpus: cells[f"{encoder} {corpus}"] for corpus in TYPES}
    assert f"{blurb_score(scores, TYPES):.2f}" == f"{PUBLISHED[encoder]:.2f}"
    assert cells[f"{encoder} BLURB score"] == pytest.approx(PUBLISHED[encoder])


def test_type_means_by_hand():
    scores, types = {"a": 0.2, "b": 0.4, "c": 0.9}, {"a": "x", "c": "y", "b": "x"}
    assert type_means(scores, types) == pytest.approx({"x": 0.3, "y": 0.9})
    assert list(type_means(scores, types)) == ["x", "y"]
    assert blurb_score(scores, types) == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("scores", "missing"), [({"a": 1.0}, "b"), ({"a": 1.0, "b": 1.0, "c": 1.0}, "c"), ({}, "a, b")]
)
def test_a_score_over_other_corpora_is_refused(scores, missing):
    with pytest.raises(PlanError, match=rf"corpora without a score or a task type \(got {missing}\)"):
        blurb_score(scores, {"a": "x", "b": "y"})
    with pytest.raises(PlanError, match=r"\(got all\)"):
        blurb_score({}, {})
