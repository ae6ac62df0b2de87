"""HoC's two F1, and the BLURB score from the published cells."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, precision_score, recall_score

from mtlv.errors import PlanError
from mtlv.evaluation.kinds.benchmark import (
    average_f1_micro,
    blurb_score,
    example_f1,
    example_precision,
    example_recall,
    type_means,
)
from mtlv.evaluation.metrics import Decisions

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


cells = st.lists(
    st.tuples(*[st.lists(st.booleans(), min_size=4, max_size=4)] * 2), min_size=1, max_size=12
).map(lambda rows: Decisions.of(*np.array(rows, bool).swapaxes(0, 1)))


@given(cells)
def test_figures_of_hoc_are_scikit_learns(d):
    pooled = f1_score(d.truth, d.predicted, average="micro", zero_division=0)
    assert average_f1_micro(d) == pytest.approx(pooled)
    labelled = d.truth.any(axis=1)
    if not labelled.any():
        assert example_f1(d) == 0.0
        return
    sides, how = (d.truth[labelled], d.predicted[labelled]), {"average": "samples", "zero_division": 0}
    p, r = precision_score(*sides, **how), recall_score(*sides, **how)
    assert (example_precision(d), example_recall(d)) == pytest.approx((p, r))
    assert example_f1(d) == pytest.approx(2 * p * r / (p + r) if p + r else 0.0)


@given(cells, st.permutations(range(4)), st.randoms(use_true_random=False))
def test_order_of_documents_and_hallmarks_does_not_matter(d, columns, random):
    order = np.array(random.sample(range(len(d.truth)), len(d.truth)))
    turned = Decisions.of(d.truth[order][:, columns], d.predicted[order][:, columns])
    for figure in (average_f1_micro, example_f1):
        assert 0 <= figure(d) <= 1
        assert figure(turned) == pytest.approx(figure(d))


def test_blurbs_and_blues_figure_differ_by_hand():
    """A document without a hallmark that gets one: an error for BLURB, left out by BLUE."""
    truth = np.array([[1, 1, 1, 1], [1, 0, 0, 0], [0, 0, 0, 0]], bool)
    guessed = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 0, 0]], bool)
    d = Decisions.of(truth, guessed)
    assert average_f1_micro(d) == pytest.approx(2 * 2 / (4 + 5))
    p, r = (1 + 1 / 2) / 2, (1 / 4 + 1) / 2
    assert example_f1(d) == pytest.approx(2 * p * r / (p + r))
    alone = f1_score(truth[:2], guessed[:2], average="samples")
    assert example_f1(d) != pytest.approx(alone), "the F1 of means is not the mean of F1"
