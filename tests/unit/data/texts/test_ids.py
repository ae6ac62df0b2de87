"""Arrays on disk as one: every slice is that of the array in memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtlv.data.texts.ids import JoinedIds
from mtlv.data.tokens import Tokens, in_chunks, join_tokens

PARTS = [np.arange(5), np.arange(0), np.arange(10, 13), np.arange(20, 21)]


@given(st.integers(0, 9), st.integers(0, 9))
def test_slices_of_joined_arrays(start: int, length: int) -> None:
    stop = start + length
    found = JoinedIds(PARTS)[start:stop]
    assert found.tolist() == np.concatenate(PARTS)[start:stop].tolist()


def uncut(lengths: list[int]) -> Tokens:
    ids = np.concatenate([[1, *range(10 * n, 10 * n + length), 2] for n, length in enumerate(lengths, 1)])
    return Tokens(ids.astype(np.int32), np.cumsum([0, *(length + 2 for length in lengths)]), 0, 0)


@given(st.integers(0, 40), st.integers(0, 40))
def test_slices_of_cut_texts(start: int, length: int) -> None:
    stop = start + length
    ids = in_chunks(uncut([7, 0, 4, 3, 9]), 5).ids
    whole = np.concatenate([ids[at : at + 1] for at in range(len(ids))])
    assert len(whole) == 23 + 2 * 10
    assert ids[start:stop].tolist() == whole[start:stop].tolist()
    assert whole.tolist()[:13] == [1, 10, 11, 12, 2, 1, 13, 14, 15, 2, 1, 16, 2]


def test_texts_are_batched_beside_documents_with_pairs() -> None:
    """The segments of texts are 0, and take no memory."""
    cut = in_chunks(uncut([4, 1]), 4)
    pairs = Tokens(np.array([7, 8, 9], np.int32), np.array([0, 2, 3]), 0, 1, np.array([0, 1, 0], np.int8))
    found = join_tokens([cut, pairs, cut])
    rows = np.array([1, 3, 7])
    assert found.pad_rows(rows)[0].tolist() == [[1, 12, 13, 2], [7, 8, 0, 0], [1, 20, 2, 0]]
    segments = found.pad_segments(rows)
    assert segments is not None
    assert segments.tolist() == [[0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    assert found.documents(np.arange(8)).tolist() == [0, 0, 1, 2, 3, 4, 4, 5]
    assert found.rows(np.array([0, 3, 4])).tolist() == [0, 1, 4, 5, 6]
    assert found.truncated == 1


@pytest.mark.parametrize("lengths", [[0], [3], [6], [1, 12, 0]])
def test_lengths_of_rows(lengths: list[int]) -> None:
    found = in_chunks(uncut(lengths), 5)
    given = [min(3, length - at) for length in lengths for at in range(0, max(length, 1), 3)]
    assert found.lengths.tolist() == [length + 2 for length in given]
