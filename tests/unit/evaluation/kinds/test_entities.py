"""Entity F1 is that of conlleval and of seqeval's default mode on the same tags, whatever the tags are."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from conlleval import conlleval
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics import f1_score
from seqeval.metrics.sequence_labeling import get_entities, precision_recall_fscore_support
from seqeval.scheme import BILOU, IOB1, IOB2

from mtlv.data.targets import SpanTargets
from mtlv.evaluation.kinds import entities
from mtlv.evaluation.kinds.entities import entity_counts, entity_f1
from mtlv.evaluation.sums import values
from mtlv.plan import Task
from mtlv.plan.spans import Span
from mtlv.plan.tagging import BIO, SCHEMES, Tags

TYPES = ("Drug", "Gene-x")
STRICT = {"bio": IOB2, "bioul": BILOU, "io": IOB1}  # with `I` alone IOB1 is IO, which seqeval has not
AS_SEQEVAL = str.maketrans({"L": "E", "U": "S"})  # its default mode knows IOBES, not BILOU


def metrics(gold, predicted):
    return values(entities.sums(gold, predicted))


def some_spans(words: int):
    """Spans that do not overlap, often side by side."""

    def build(cuts: list[tuple[int, bool, str]]) -> list[Span]:
        spans, at = [], 0
        for length, inside, type_ in cuts:
            if inside and at + length <= words:
                spans.append(Span(at, at + length, type_))
            at += length
        return spans

    piece = st.tuples(st.integers(1, 4), st.booleans(), st.sampled_from(TYPES))
    return st.lists(piece, max_size=12).map(build)


@st.composite
def sentences(draw, scheme):
    """Gold spans, and any tags at all as predicted, near the gold ones or far from them."""
    tags, rows = Tags(scheme, TYPES), []
    for words in draw(st.lists(st.integers(1, 14), min_size=1, max_size=4)):
        gold = tags.encode(draw(some_spans(words)), words)
        noise = draw(st.lists(st.integers(-8, len(tags.names) - 1), min_size=words, max_size=words))
        rows.append((gold, [n if n >= 0 else int(g) for n, g in zip(noise, gold, strict=True)]))
    return tags, rows


def names(tags: Tags, ids) -> list[str]:
    return [tags.names[i] for i in ids]


def both_sides(tags: Tags, rows) -> tuple[list[list[str]], list[list[str]]]:
    return [names(tags, gold) for gold, _ in rows], [names(tags, guess) for _, guess in rows]


@given(st.sampled_from(["bio", "io"]).flatmap(lambda name: sentences(SCHEMES[name])))
def test_counts_are_those_of_conlleval(made):
    tags, rows = made
    gold, guessed = [tags.decode(g) for g, _ in rows], [tags.decode(p) for _, p in rows]
    oracle = conlleval(*both_sides(tags, rows))
    assert tuple(entity_counts(gold, guessed).sum(axis=0)) == oracle
    assert entity_f1(gold, guessed) == pytest.approx(oracle.f1)


@given(sentences(SCHEMES["bioul"]))
def test_bioul_is_scored_as_conlleval_scores_the_same_spans_in_bio(made):
    tags, rows = made
    bio = Tags(BIO, TYPES)
    spans = [(tags.decode(g), tags.decode(p)) for g, p in rows]
    texts = [
        [names(bio, bio.encode(side[which], len(row[0]))) for side, row in zip(spans, rows, strict=True)]
        for which in (0, 1)
    ]
    assert tuple(entity_counts(*zip(*spans, strict=True)).sum(axis=0)) == conlleval(*texts)


@given(st.sampled_from(sorted(SCHEMES)).flatmap(lambda name: sentences(SCHEMES[name])))
def test_decoding_is_that_of_seqevals_default_mode(made):
    tags, rows = made
    for _, ids in rows:
        text = [n[:1].translate(AS_SEQEVAL) + n[1:] for n in names(tags, ids)]
        assert tags.decode(ids) == tuple(Span(s, e + 1, t) for t, s, e in get_entities(text))


@pytest.mark.parametrize("name", sorted(SCHEMES))
def test_a_runs_figures_are_those_of_seqevals_default_mode_and_not_of_its_strict_one(name):
    """500 random sequences of tags, most of them invalid, read by the code that reads a run's predictions."""
    rng, task = np.random.default_rng(0), Task("organs", "tagging", classes=TYPES)
    tags, targets = Tags(SCHEMES[name], TYPES), SpanTargets(SCHEMES[name])
    differs = 0
    for words in rng.integers(1, 12, 500):
        gold, guess = rng.integers(0, len(tags.names), (2, words))
        gold = tags.encode(tags.decode(gold), words)  # what is true is valid
        figures = metrics(targets.read(task, [gold]), targets.read(task, [guess]))
        plain = [names(tags, gold)], [names(tags, guess)]
        iobes = [[[n[:1].translate(AS_SEQEVAL) + n[1:] for n in row] for row in side] for side in plain]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of figures that are 0 for want of entities
            precision, recall, f1, _ = precision_recall_fscore_support(*iobes, average="micro")
            strict = f1_score(*plain, mode="strict", scheme=STRICT[name])
        assert list(figures.values()) == pytest.approx([f1, precision, recall])
        valid = np.array_equal(tags.encode(tags.decode(guess), words), guess)
        differs += (other := figures["entity_f1"] != pytest.approx(strict))
        assert not (valid and other)
    assert differs == 0 if name == "io" else differs > 150  # of `I` alone every sequence is valid


def test_figures_by_hand():
    gold = [(Span(0, 2, "A"), Span(3, 4, "B")), (Span(0, 1, "A"),)]
    guessed = [(Span(0, 2, "A"), Span(3, 4, "A")), ()]
    figures = metrics(gold, guessed)
    assert figures == pytest.approx({"entity_f1": 2 / 5, "entity_precision": 1 / 2, "entity_recall": 1 / 3})
    assert entity_counts(gold, guessed).tolist() == [[1, 2, 2], [0, 0, 1]]


def test_without_entities_all_is_zero():
    assert set(metrics([(), ()], [(), ()]).values()) == {0.0}
    assert set(metrics([], []).values()) == {0.0}


@given(
    st.lists(st.tuples(some_spans(12), some_spans(12)), min_size=1, max_size=5),
    st.randoms(use_true_random=False),
)
def test_order_of_documents_and_spans_does_not_matter(rows, random):
    before = metrics(*zip(*rows, strict=True))
    assert all(0 <= value <= 1 for value in before.values())
    turned = [(list(g), list(p)) for g, p in rows]
    random.shuffle(turned)
    for gold, guessed in turned:
        random.shuffle(gold)
        random.shuffle(guessed)
    assert metrics(*zip(*turned, strict=True)) == pytest.approx(before)
    swapped = metrics([p for _, p in rows], [g for g, _ in rows])
    assert swapped["entity_precision"] == before["entity_recall"]
    assert swapped["entity_f1"] == pytest.approx(before["entity_f1"])
