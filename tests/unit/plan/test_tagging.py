"""Tags: what goes in comes out, in every scheme."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtlv.errors import DataError
from mtlv.plan.spans import Span
from mtlv.plan.tagging import BIO, BIOUL, IO, SCHEMES, Tags, count_merged_spans, spans_of

TYPES = ("X", "Y")
WORDS = 20


def build(pieces: list[tuple[int, int, str]]) -> tuple[Span, ...]:
    spans, at = [], 0
    for gap, length, type_ in pieces:
        start = at + gap
        at = start + length
        if at <= WORDS:
            spans.append(Span(start, at, type_))
    return tuple(spans)


piece = st.tuples(st.integers(0, 2), st.integers(1, 4), st.sampled_from(TYPES))
some_spans = st.lists(piece, max_size=8).map(build)


def texts(scheme, spans, words):
    tags = Tags(scheme, TYPES)
    return " ".join(tags.names[i] for i in tags.encode(spans, words))


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [
        (BIO, "B-X I-X I-X B-X O B-Y I-Y"),
        (BIOUL, "B-X I-X L-X U-X O B-Y L-Y"),
        (IO, "I-X I-X I-X I-X O I-Y I-Y"),
    ],
)
def test_tags_by_hand(scheme, expected):
    assert texts(scheme, [Span(0, 3, "X"), Span(3, 4, "X"), Span(5, 7, "Y")], 7) == expected


def test_ids_are_o_and_then_the_letters_of_each_type():
    assert Tags(BIO, TYPES).names == ("O", "B-X", "I-X", "B-Y", "I-Y")
    assert Tags(BIOUL, ("X",)).names == ("O", "B-X", "I-X", "L-X", "U-X")
    assert Tags(IO, TYPES).names == ("O", "I-X", "I-Y")
    assert Tags(BIO, ("",)).names == ("O", "B", "I"), "JNLPBA's tags have no type"
    assert list(SCHEMES) == ["bio", "bioul", "io"]


@pytest.mark.parametrize("scheme", [BIO, BIOUL])
@given(spans=some_spans)
def test_spans_come_back(scheme, spans):
    tags = Tags(scheme, TYPES)
    ids = tags.encode(spans, WORDS)
    assert ids.shape == (WORDS,)
    assert tags.decode(ids) == spans
    assert spans_of([tags.names[i] for i in ids], scheme) == spans


@given(some_spans)
def test_io_gives_the_words_back_and_merges_neighbours(spans):
    tags = Tags(IO, TYPES)
    back = tags.decode(tags.encode(spans, WORDS))
    touching = sum(a.end == b.start and a.type == b.type for a, b in pairwise(spans))
    assert len(spans) - len(back) == touching == count_merged_spans([spans], IO)
    assert count_merged_spans([spans], BIO) == count_merged_spans([spans], BIOUL) == 0
    assert (tags.encode(back, WORDS) == tags.encode(spans, WORDS)).all()


def test_merged_counts_over_documents_and_types():
    row = (Span(0, 1, "X"), Span(1, 2, "X"), Span(2, 4, "X"), Span(4, 5, "Y"), Span(6, 7, "Y"))
    assert count_merged_spans([row, (), row[:2]], IO) == 3


@given(some_spans)
def test_bio_and_bioul_convert_without_loss(spans):
    bio, bioul = Tags(BIO, TYPES), Tags(BIOUL, TYPES)
    ids = bio.encode(spans, WORDS)
    there = bioul.encode(bio.decode(ids), WORDS)
    assert (there == bioul.encode(spans, WORDS)).all()
    assert (bio.encode(bioul.decode(there), WORDS) == ids).all()


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
@given(data=st.data())
def test_any_sequence_decodes(scheme, data):
    """Every word inside is in exactly one span, of its type; and what is read once is read so again."""
    tags = Tags(scheme, TYPES)
    ids = data.draw(st.lists(st.integers(0, len(tags.names) - 1), max_size=15))
    spans = tags.decode(ids)
    types = [tags.names[i][2:] for i in ids]
    covered = [""] * len(ids)
    for span in spans:
        assert not any(covered[span.start : span.end])
        covered[span.start : span.end] = [span.type] * (span.end - span.start)
    assert covered == types
    assert tags.decode(tags.encode(spans, len(ids))) == spans


@pytest.mark.parametrize(
    ("scheme", "text", "spans"),
    [
        (BIO, "I-X I-X O", [(0, 2, "X")]),
        (BIO, "B-X I-Y I-Y", [(0, 1, "X"), (1, 3, "Y")]),
        (BIO, "O I-X B-X", [(1, 2, "X"), (2, 3, "X")]),
        (BIOUL, "B-X I-X O", [(0, 2, "X")]),
        (BIOUL, "L-X L-X", [(0, 1, "X"), (1, 2, "X")]),
        (BIOUL, "U-X I-X L-X", [(0, 1, "X"), (1, 3, "X")]),
        (BIOUL, "B-X B-X L-X", [(0, 1, "X"), (1, 3, "X")]),
        (IO, "I-X I-Y O I-Y", [(0, 1, "X"), (1, 2, "Y"), (3, 4, "Y")]),
    ],
)
def test_invalid_sequences(scheme, text, spans):
    tags = Tags(scheme, TYPES)
    ids = [tags.names.index(name) for name in text.split()]
    assert list(tags.decode(ids)) == spans == list(spans_of(text.split(), scheme))


def test_types_may_hold_hyphens_or_be_empty():
    assert spans_of(["B-cell-type", "I-cell-type"]) == (Span(0, 2, "cell-type"),)
    assert spans_of(["B", "I", "O", "I"]) == (Span(0, 2, ""), Span(3, 4, ""))
    assert spans_of(["I-PAR", "I-PAR", "I-INT"]) == (Span(0, 2, "PAR"), Span(2, 3, "INT")), "IO, as EBM-NLP"


@pytest.mark.parametrize("ids", [[], np.array([], np.int64)])
def test_no_words(ids):
    tags = Tags(BIO, TYPES)
    assert tags.decode(ids) == spans_of([]) == ()
    assert tags.encode([], 0).shape == (0,)


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([Span(0, 0, "X")], r"does not lie in its text of 4 words \(got 0 to 0\)"),
        ([Span(3, 5, "X")], r"does not lie in its text of 4 words \(got 3 to 5\)"),
        ([Span(-1, 2, "X")], r"does not lie in its text of 4 words \(got -1 to 2\)"),
        ([Span(0, 1, "Z")], r"type of a span is unknown \(got Z\); allowed: X, Y"),
        ([Span(0, 2, "X"), Span(1, 3, "Y")], r"two spans overlap.*\(got 1 to 3 \(Y\)\)"),
    ],
)
def test_spans_that_cannot_be_tags(spans, message):
    with pytest.raises(DataError, match=message):
        Tags(BIO, TYPES).encode(spans, 4)


def test_tags_that_are_none():
    with pytest.raises(DataError, match=r"a tag is unknown \(got -100\); allowed: 0 to 4"):
        Tags(BIO, TYPES).decode([0, -100])
    with pytest.raises(DataError, match=r"a tag is unknown \(got 5\)"):
        Tags(BIO, TYPES).decode([5, 0])
    with pytest.raises(DataError, match=r"a tag is unknown \(got U-X\); allowed: O, B-TYPE, I-TYPE"):
        spans_of(["O", "U-X"])
    with pytest.raises(DataError, match=r"named twice \(got X, X\)"):
        Tags(BIO, ("X", "X"))
