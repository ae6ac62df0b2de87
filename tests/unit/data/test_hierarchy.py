"""Hierarchies of labels: levels of ancestors, and tables that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtlv.data.hierarchy import read_levels
from mtlv.errors import DataError

ICD = "label,parent\nI50.1,I50\nI50,IX\nIX,\nJ18,X\n"


@pytest.fixture
def table(tmp_path):
    def write(text: str) -> Path:
        path = tmp_path / "parents.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_ancestors_stand_by_level_from_the_top(table):
    levels = read_levels(table(ICD), ["I50.1", "J18", "IX"])
    assert levels == {"I50.1": (("IX",), ("I50",), ("I50.1",)), "J18": (("X",), ("J18",)), "IX": (("IX",),)}


def test_a_label_with_several_parents_is_below_the_lowest(table):
    rows = "label,parent\nd,top\nd,b\nb,a\n"  # as in MeSH
    assert read_levels(table(rows), ["d"]) == {"d": (("top", "a"), ("b",), ("d",))}


@pytest.mark.parametrize("rows", ["a,b\nb,c\nc,a\n", "a,a\n"])
def test_a_label_is_not_its_own_ancestor(table, rows):
    with pytest.raises(DataError, match=r"`data\.parents`.*own ancestor.*remove one"):
        read_levels(table(f"label,parent\n{rows}"), ["a"])


def test_each_label_has_a_row(table):
    with pytest.raises(DataError, match=r"`parents\.csv` has no row of `I50\.2`, `cough`.*add it"):
        read_levels(table(ICD), ["IX", "I50.2", "cough"])


def test_both_columns_are_needed(table):
    with pytest.raises(DataError, match="has no column `parent`"):
        read_levels(table("label,above\na,b\n"), ["a"])
