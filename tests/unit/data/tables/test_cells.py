"""Cells of tables: whatever they hold, they are read or refused."""

from __future__ import annotations

import math
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtlv.data.tables.cells import is_missing, mentions_of, second_of, text_or_joined, words_of
from mtlv.plan.spans import Span

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("cell", [None, math.nan, "", " \n", [], (), np.array([])])
def test_nothing(cell: object) -> None:
    assert is_missing(cell)


@pytest.mark.parametrize("cell", [0, 0.0, False, "a", [""], np.array(["a"]), {"a": 1}])
def test_something(cell: object) -> None:
    assert not is_missing(cell)


@pytest.mark.parametrize(
    "cell", [["The", "heart"], ("The", "heart"), np.array(["The", "heart"]), '["The", "heart"]']
)
def test_words(cell: object) -> None:
    assert words_of(cell) == ("The", "heart")
    assert text_or_joined(cell) == "The heart"


@pytest.mark.parametrize(
    "cell", ["The heart", '["The", 3', "(The heart)", ["The", ""], ["The", 3], [], 3, None]
)
def test_what_is_no_list_of_words_is_not_joined(cell: object) -> None:
    assert text_or_joined(cell) is cell


@pytest.mark.parametrize(
    "cell",
    [
        [[0, 7, "A"], [9, 12]],
        np.array([[0, 7, "A"], [9, 12, ""]], dtype=object),
        '[[0, 7, "A"], {"start": 9, "end": 12}]',
        [{"start": np.int64(0), "end": 7, "type": "A"}, (9, 12)],
    ],
)
def test_mentions(cell: object) -> None:
    assert mentions_of(cell) == (Span(0, 7, "A"), Span(9, 12))


@given(PLAIN)
def test_anything_is_read_or_refused(cell: object) -> None:
    for read in (second_of, words_of, mentions_of):
        with suppress(ValueError):
            read(cell)
    is_missing(cell)
