"""Documents as windows: nothing of words, spans and values is lost on the way there and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtlv.data.columns import of_objects
from mtlv.data.targets import SpanTargets, spans_column
from mtlv.data.tokens import Tokens, join_tokens, tokenise
from mtlv.data.windowed import WindowLayout
from mtlv.models.encoder import load_encoder
from mtlv.plan import Task
from mtlv.plan.spans import Span
from mtlv.plan.tagging import BIO, BIOUL, IO, Scheme, Tags

LENGTHS = (3, 10, 0, 30, 31)
TASK = Task("t", kind="tagging", classes=("X",))


def cuts(size: int = 10, overlap: int = 3) -> WindowLayout:
    return WindowLayout.of(LENGTHS, size=size, overlap=overlap)


def test_rows_and_documents_are_each_others_inverse() -> None:
    made = cuts()
    assert made.counts.tolist() == [1, 1, 1, 4, 4]
    assert made.rows(np.array([3, 0])).tolist() == [3, 4, 5, 6, 0]
    assert made.documents[made.rows(np.array([4, 1]))].tolist() == [4, 4, 4, 4, 1]
    assert made.rows(np.zeros(0, np.int64)).tolist() == []


def test_fragments_of_documents_in_any_order_are_theirs() -> None:
    made = cuts()
    texts = [list(range(100 * n, 100 * n + length)) for n, length in enumerate(LENGTHS)]
    words = made.words(texts)
    assert [row[:1] for row in words] == [
        [0],
        [100],
        [],
        [300],
        [307],
        [314],
        [320],
        [400],
        [407],
        [414],
        [421],
    ]
    for order in ([4, 1, 3], [3, 2, 4], [0, 3], [2]):
        rows = [np.array(words[row], int) for row in made.rows(np.array(order))]
        assert [values.tolist() for values in made.combine(rows, order)] == [texts[n] for n in order]
    spans = made.spans([[Span(0, 1, "X")]] * 4 + [[Span(8, 12, "X"), Span(30, 31, "Y")]])
    assert spans[7:] == [
        (Span(8, 10, "X"),),
        (Span(1, 5, "X"),),
        (),
        (Span(9, 10, "Y"),),
    ]


def test_rows_of_documents_with_unknown_words_are_values_of_documents() -> None:
    made = WindowLayout.unread(np.array([1, 1, 1]))
    rows = [np.arange(n, n + 5) for n in range(2)]
    assert [values.tolist() for values in made.combine(rows, [2, 0])] == [row.tolist() for row in rows]


@given(st.lists(st.integers(0, 40), min_size=1, max_size=5), st.integers(1, 12), st.data())
def test_values_of_rows_put_together_are_those_of_the_documents(
    lengths: list[int], size: int, data: st.DataObject
) -> None:
    made = WindowLayout.of(lengths, size=size, overlap=data.draw(st.integers(0, size - 1)))
    texts = [list(range(100 * n, 100 * n + length)) for n, length in enumerate(lengths)]
    rows = [np.array(row, int) for row in made.words(texts)]
    assert len(rows) == made.counts.sum()
    assert max(map(len, rows)) <= size
    assert [row.tolist() for row in made.combine(rows, range(len(lengths)))] == texts


@pytest.mark.parametrize("scheme", [BIO, BIOUL, IO], ids=lambda scheme: scheme.name)
def test_spans_come_back_from_the_tags_of_windows(scheme: Scheme) -> None:
    true = [(Span(0, 2, "X"),), (Span(9, 10, "X"),), (), (Span(5, 12, "X"), Span(20, 21, "X")), ()]
    made = cuts()
    words = [[f"w{n}" for n in range(length)] for length in LENGTHS]
    encoder = load_encoder("tiny", texts=[" ".join(row) for row in words])
    tokens = tokenise(made.words(words), encoder.tokenizer, max_length=64, pad=0)
    tokens = Tokens(tokens.ids, tokens.offsets, 0, 0, words=tokens.words, cuts=made)
    column = SpanTargets(scheme).column(TASK, spans_column(true), tokens)
    rows = [column.batch(np.array([row])).numpy()[0] for row in range(len(tokens))]
    tags = Tags(scheme, TASK.classes)
    assert [tags.decode(row) for row in made.combine(rows, range(len(LENGTHS)))] == true


def test_joined_tokens_hold_the_windows_of_each_source() -> None:
    def plain(rows: int, made: WindowLayout | None) -> Tokens:
        return Tokens(np.zeros(rows, np.int32), np.arange(rows + 1), 0, 0, cuts=made)

    joined = join_tokens([plain(2, None), plain(11, cuts()), plain(1, None)])
    assert joined.rows(np.array([1, 5, 7])).tolist() == [1, 5, 6, 7, 8, 13]
    assert joined.documents(np.array([0, 13])).tolist() == [0, 7]
    assert join_tokens([plain(2, None), plain(1, None)]).cuts is None


def test_rows_of_equal_length_stay_rows() -> None:
    assert of_objects([np.zeros(2), np.zeros(2)]).shape == (2,)
