"""The suite's table against hand calculations."""

from __future__ import annotations

import csv
import io
import math

import pytest

from mtlv.reporting.suite_table import (
    COLUMNS,
    SuiteMember,
    as_csv,
    as_markdown,
    format_cell,
    make_rows,
)

F1 = next(column for column in COLUMNS if column.key == "f1_macro")


def member(name, f1, seconds):
    return SuiteMember(
        name, tuple({"f1_macro": f, "train_seconds": s} for f, s in zip(f1, seconds, strict=True))
    )


@pytest.fixture
def rows():
    return make_rows([member("stl", [0.5, 0.7], [10, 14]), member("mtl", [0.6, 0.8], [30, 30])])


def test_mean_and_sample_standard_deviation(rows):
    cell = rows[0].cells["f1_macro"]
    assert (cell.mean, cell.n) == (pytest.approx(0.6), 2)
    assert cell.sd == pytest.approx(0.2 / math.sqrt(2))  # ddof 1
    assert format_cell(cell, F1) == "0.6000 ± 0.1414"


def test_the_best_is_the_highest_score_and_the_lowest_time(rows):
    assert [row.cells["f1_macro"].best for row in rows] == [False, True]
    assert [row.cells["train_seconds"].best for row in rows] == [True, False]


def test_equal_members_are_both_best():
    rows = make_rows([member("a", [0.5], [1]), member("b", [0.5], [2])])
    assert [row.cells["f1_macro"].best for row in rows] == [True, True]


def test_one_child_has_no_spread_and_one_member_no_best():
    (row,) = make_rows([member("a", [0.5], [1])])
    assert format_cell(row.cells["f1_macro"], F1) == "0.5000"
    assert not row.cells["f1_macro"].best


def test_what_is_not_known_is_left_out():
    rows = make_rows([SuiteMember("a", ({}, {"f1_macro": math.nan})), member("b", [0.5], [1])])
    assert format_cell(rows[0].cells["f1_macro"], F1) == "-"
    assert as_csv(rows).splitlines()[1].startswith("a,,,0,False,")
    assert not any(row.cells["f1_macro"].best for row in rows)


def test_times_of_earlier_stages_count() -> None:
    stages = {"train_seconds": 5.0, "earlier_stages_seconds": 20.0}
    rows = make_rows([SuiteMember("refined", (stages,)), SuiteMember("one", ({"train_seconds": 10.0},))])
    assert [row.cells["train_seconds"].mean for row in rows] == [25.0, 10.0]
    assert [row.cells["train_seconds"].best for row in rows] == [False, True]


def test_csv_reads_back_in_full_precision(rows):
    read = list(csv.DictReader(io.StringIO(as_csv(rows))))
    assert [line["member"] for line in read] == ["stl", "mtl"]
    assert float(read[1]["f1_macro"]) == rows[1].cells["f1_macro"].mean
    assert read[1]["f1_macro_best"] == "True"


def test_markdown(rows):
    lines = as_markdown(rows).splitlines()
    assert lines[0] == "| run | F1 macro | training s |"
    assert lines[2] == "| stl | 0.6000 ± 0.1414 | **12.0 ± 2.8** |"


def test_markdown_holds_odd_names_in_their_cell():
    text = as_markdown(make_rows([member("a|b\n<b>`x`", [0.5], [1])]))
    assert text.splitlines()[2].startswith("| a\\|b \\<b\\>\\`x\\` |")


def test_the_contracts_columns():
    keys = [
        "score",
        "f1_macro",
        "f1_micro",
        "subset_accuracy",
        "hamming_score",
        "train_seconds",
        "documents_per_second",
    ]
    assert [column.key for column in COLUMNS] == keys


def test_columns_in_which_nobody_has_a_value_are_left_out():
    rows = make_rows([SuiteMember("a", ({"f1_macro": 0.5},)), SuiteMember("b", ({"score": 0.7},))])
    assert as_markdown(rows).splitlines()[0] == "| run | score | F1 macro |"
    assert as_csv(rows).splitlines()[0].split(",")[:3] == ["member", "score", "score_std"]
