"""HoC's two F1, and the BLURB score from the published cells."""

from __future__ import annotations

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
# Table 6 (arXiv 2007.15779). Columns: BERT uncased, cased, RoBERTa cased, BioBERT cased, SciBERT uncased,
# cased, ClinicalBERT cased, BlueBERT cased, PubMedBERT uncased.
TABLE_6 = """
BC5-chem     | NER        | 89.25 89.99 89.43 92.85 92.49 92.51 90.80 91.19 93.33
BC5-disease  | NER        | 81.44 79.92 80.65 84.70 84.54 84.70 83.04 83.69 85.62
NCBI-disease | NER        | 85.67 85.87 86.62 89.13 88.10 88.25 86.32 88.04 87.82
BC2GM        | NER        | 80.90 81.23 80.90 83.82 83.36 83.36 81.71 81.87 84.52
JNLPBA       | NER        | 78.63 78.52 78.81 79.35 79.45 79.56 78.59 78.68 80.06
EBM PICO     | PICO       | 72.34 71.70 73.02 73.18 73.12 73.06 72.06 72.54 73.38
ChemProt     | relation   | 71.86 71.54 72.98 76.14 75.24 75.00 72.04 71.46 77.24
DDI          | relation   | 80.04 79.34 79.52 80.88 81.06 81.22 78.20 77.78 82.36
GAD          | relation   | 77.72 77.28 77.72 80.94 80.90 79.66 78.40 77.24 82.34
BIOSSES      | similarity | 82.68 81.40 81.25 89.52 86.25 87.15 91.23 85.38 92.30
HoC          | document   | 80.20 80.12 79.66 81.54 80.66 81.16 80.74 80.48 82.32
PubMedQA     | question   | 51.62 49.96 52.84 60.24 57.38 51.40 49.08 48.44 55.84
BioASQ       | question   | 70.36 74.44 75.20 84.14 78.86 74.22 68.50 68.71 87.56
"""
PUBLISHED = (75.99, 75.76, 76.33, 80.29, 78.80, 78.08, 77.19, 76.19, 81.10)  # its last row, "BLURB score"
ROWS = [[cell.strip() for cell in line.split("|")] for line in TABLE_6.strip().splitlines()]
TYPES = {corpus: type_ for corpus, type_, _ in ROWS}


@pytest.mark.parametrize(("column", "published"), enumerate(PUBLISHED))
def test_blurb_scores_of_table_6_come_out_to_the_last_digit(column, published):
    scores = {corpus: float(cells.split()[column]) for corpus, _, cells in ROWS}
    assert f"{blurb_score(scores, TYPES):.2f}" == f"{published:.2f}"


def test_type_means_by_hand():
    scores, types = {"a": 0.2, "b": 0.4, "c": 0.9}, {"a": "x", "c": "y", "b": "x"}
    assert type_means(scores, types) == pytest.approx({"x": 0.3, "y": 0.9})
    assert list(type_means(scores, types)) == ["x", "y"]
    assert blurb_score(scores, types) == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("scores", "missing"), [({"a": 1.0}, "b"), ({"a": 1.0, "b": 1.0, "c": 1.0}, "c"), ({}, "a, b")]
)
def test_a_score_over_other_corpora_is_refused(scores, missing):
    with pytest.raises(PlanError, match=rf"score or the task type is missing \(got {missing}\)"):
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
