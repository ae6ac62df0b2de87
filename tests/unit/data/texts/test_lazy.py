"""Lazy sequences: the same values as held ones, and digests as of lists."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

import numpy as np
import pytest

from mtlv import seeding
from mtlv.data.texts.lazy import Chained, Lazy, Made, Picked, chain_lazily, pick
from mtlv.seeding import content_key

TEN = Made(np.arange(10, 20, dtype=np.uint64), str)
HELD = tuple(map(str, range(10, 20)))
MIXED = Chained([TEN, (), ("a", "b"), TEN], ["x/", "-", "y/", "z/"])
ALL = (*(f"x/{t}" for t in HELD), "y/a", "y/b", *(f"z/{t}" for t in HELD))


@pytest.mark.parametrize(
    ("lazy", "held"),
    [(TEN, HELD), (MIXED, ALL), (Picked(TEN, np.array([3, 0, 3])), ("13", "10", "13"))],
    ids=["made", "chained", "picked"],
)
def test_a_lazy_sequence_has_the_values_of_a_held_one(lazy: Sequence[str], held: tuple[str, ...]) -> None:
    assert tuple(lazy) == held
    assert len(lazy) == len(held)
    assert [lazy[at] for at in range(-len(held), len(held))] == [*held, *held]
    assert lazy[1:3] == held[1:3]
    assert lazy[::-1] == held[::-1]
    assert tuple(pickle.loads(pickle.dumps(lazy))) == held
    with pytest.raises(IndexError):
        lazy[len(held)]
    with pytest.raises(IndexError):
        pick(lazy, np.array([len(held)]))[0]


def test_rows_are_read_in_any_order() -> None:
    rows = np.array([21, 0, 11, 12, 10, 9])
    assert tuple(pick(MIXED, rows)) == tuple(ALL[row] for row in rows)


def test_what_is_held_stays_held() -> None:
    assert chain_lazily([("a",), ("b", "c")], ["1", "2"]) == ("1a", "2b", "2c")
    assert pick(("a", "b"), np.array([1])) == ("b",)
    assert isinstance(chain_lazily([("a",), TEN]), Lazy)
    assert isinstance(pick(TEN, np.array([1])), Lazy)


@pytest.mark.parametrize("together", [1, 3, 10, 4096])
def test_a_digest_is_that_of_lists(together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeding, "VALUES_AT_ONCE", together)
    empty = Picked(TEN, np.zeros(0, np.int64))
    lazy = {"z": [TEN, {"b": MIXED, "a": empty}], "ä": ["\n", TEN], "n": 1}
    held = {"n": 1, "ä": ["\n", list(HELD)], "z": [list(HELD), {"a": [], "b": list(ALL)}]}
    assert content_key(lazy) == content_key(held)
    assert content_key(TEN) == content_key(HELD)
    assert content_key([TEN]) != content_key(HELD)


def test_what_is_no_json_has_no_digest() -> None:
    with pytest.raises(TypeError, match="a digest of set"):
        content_key([TEN, {1}])
