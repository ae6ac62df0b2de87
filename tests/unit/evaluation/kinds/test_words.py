"""Word-level F1 is scikit-learn's on words, whatever the spans are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import precision_recall_fscore_support

from mtlv.evaluation.kinds.entities import word_sums
from mtlv.evaluation.sums import values
from mtlv.plan.spans import Span
from mtlv.plan.tagging import IO, Tags

PICO = ("PAR", "INT", "OUT")
LENGTH = 15
TAGS = Tags(IO, PICO)

rows = st.lists(
    st.tuples(*[st.lists(st.integers(0, 3), min_size=LENGTH, max_size=LENGTH)] * 2), min_size=1, max_size=4
)


def metrics(gold, guessed, elements):
    return values(word_sums(gold, guessed, elements))


@given(rows)
def test_figures_are_scikit_learns_on_words(tagged):
    gold, guessed = ([TAGS.decode(ids) for ids in side] for side in zip(*tagged, strict=True))
    flat = [np.concatenate(side) for side in zip(*tagged, strict=True)]
    theirs = precision_recall_fscore_support(*flat, labels=[1, 2, 3], zero_division=0)
    each = {f"word_f1_{name}": theirs[2][place] for place, name in enumerate(PICO)}
    assert metrics(gold, guessed, PICO) == pytest.approx({"word_f1_macro": theirs[2].mean(), **each})


@given(rows, st.randoms(use_true_random=False))
def test_where_spans_are_cut_does_not_matter(tagged, random):
    gold, guessed = ([TAGS.decode(ids) for ids in side] for side in zip(*tagged, strict=True))
    single = [[Span(w, w + 1, s.type) for s in spans for w in range(s.start, s.end)] for spans in guessed]
    order = random.sample(range(len(gold)), len(gold))
    assert metrics(gold, guessed, PICO) == metrics([gold[i] for i in order], [single[i] for i in order], PICO)


def test_figures_by_hand_with_elements_that_overlap():
    gold = [(Span(0, 4, "PAR"), Span(2, 3, "INT"))]
    guessed = [(Span(0, 2, "PAR"), Span(2, 4, "INT"))]
    figures = metrics(gold, guessed, PICO)
    assert figures == pytest.approx(
        {"word_f1_macro": 4 / 9, "word_f1_PAR": 2 / 3, "word_f1_INT": 2 / 3, "word_f1_OUT": 0.0}
    )
