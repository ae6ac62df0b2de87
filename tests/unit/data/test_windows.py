"""Windows: every word is answered for once, from where it has most context, and nothing is lost."""

from __future__ import annotations

import inspect
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtlv.data.windowed import Window, cut, owners, put_together, spans_in, windows
from mtlv.plan.spans import Span
from mtlv.plan.tagging import SCHEMES, Tags

TYPES = ("X", "Y")
sizes = st.integers(1, 12).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1)))
words_of = st.integers(0, 60)


@st.composite
def tagged_texts(draw, least_overlap=0):
    size = draw(st.integers(least_overlap + 1, 12))
    overlap, words = draw(st.integers(least_overlap, size - 1)), draw(words_of)
    spans, at = [], 0
    while at < words:
        end = at + draw(st.integers(1, 5))
        if draw(st.booleans()) and end <= words:
            spans.append(Span(at, end, draw(st.sampled_from(TYPES))))
        at = end
    return words, tuple(spans), windows(words, size=size, overlap=overlap)


@given(words_of, sizes)
def test_windows_cover_the_text_with_their_overlap(words, how):
    size, overlap = how
    parts = windows(words, size=size, overlap=overlap)
    assert parts[0].start == 0
    assert parts[-1].end == words
    assert all(part.end - part.start == min(size, words) for part in parts)
    assert all(a.end - b.start >= overlap and a.start < b.start for a, b in pairwise(parts))


def test_windows_by_hand():
    assert windows(30, size=30, overlap=10) == ((0, 30),)
    assert windows(31, size=30, overlap=10) == ((0, 30), (1, 31))
    assert windows(75, size=30, overlap=10) == ((0, 30), (20, 50), (40, 70), (45, 75))
    assert windows(60, size=30, overlap=0) == ((0, 30), (30, 60))
    assert windows(0, size=30, overlap=10) == ((0, 0),)


def test_where_a_text_is_cut_depends_on_its_length_alone():
    assert list(inspect.signature(windows).parameters) == ["words", "size", "overlap"]


@given(words_of, sizes)
def test_the_owner_is_the_window_with_most_context(words, how):
    parts = windows(words, size=how[0], overlap=how[1])
    owner = owners(parts)
    assert owner.shape == (words,)
    assert (np.diff(owner) >= 0).all()
    for word, at in enumerate(owner):
        depth = [min(word - p.start, p.end - 1 - word) if p.start <= word < p.end else -1 for p in parts]
        assert at == depth.index(max(depth)), "the earlier one of two equals"


def test_owners_by_hand():
    assert owners((Window(0, 6), Window(4, 10))).tolist() == [0] * 5 + [1] * 5
    assert owners((Window(0, 5), Window(2, 7))).tolist() == [0] * 4 + [1] * 3


def test_fragments_of_several_windows_by_hand():
    parts = windows(17, size=6, overlap=3)
    assert [part.start for part in parts] == [0, 3, 6, 9, 11]
    owner = [0] * 5 + [1] * 3 + [2] * 3 + [3] * 2 + [4] * 4
    assert owners(parts).tolist() == owner
    words = np.arange(17)
    fragments = [100 * at + piece for at, piece in enumerate(cut(words, parts))]
    assert put_together(fragments, parts).tolist() == [100 * at + word for word, at in enumerate(owner)]


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
@given(made=tagged_texts())
def test_gold_spans_come_back_from_their_tags(scheme, made):
    words, spans, parts = made
    tags = Tags(scheme, TYPES)
    gold = tags.encode(spans, words)
    back = put_together(cut(gold, parts), parts)
    assert (back == gold).all()
    assert tags.decode(back) == tags.decode(gold)
    if not scheme.opening:  # IO merges neighbours, with windows or without
        return
    assert tags.decode(back) == spans


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
@given(made=tagged_texts(least_overlap=2))
def test_spans_clipped_to_windows_come_back_with_an_overlap_of_two(scheme, made):
    words, spans, parts = made
    tags = Tags(scheme, TYPES)
    seen = [tags.encode(spans_in(spans, part), part.end - part.start) for part in parts]
    assert (put_together(seen, parts) == tags.encode(spans, words)).all()


def test_spans_clipped_without_overlap_may_fall_into_two():
    spans, parts = [Span(1, 4, "X"), Span(5, 6, "Y")], windows(6, size=3, overlap=0)
    seen = [spans_in(spans, part) for part in parts]
    assert seen == [((1, 3, "X"),), ((0, 1, "X"), (2, 3, "Y"))]
    tags = Tags(SCHEMES["bio"], TYPES)
    back = put_together([tags.encode(s, 3) for s in seen], parts)
    assert tags.decode(back) == ((1, 3, "X"), (3, 4, "X"), (5, 6, "Y"))


def test_scores_of_tags_are_put_together_too():
    parts = windows(5, size=4, overlap=3)
    values = [np.full((4, 3), at, float) for at in range(2)]
    assert put_together(values, parts)[:, 0].tolist() == [0, 0, 0, 1, 1]
