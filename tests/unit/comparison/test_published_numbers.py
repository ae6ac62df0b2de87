"""Published numbers from CSV: each beside its run, and every wrong line named."""

from __future__ import annotations

import pytest

from mtlv.comparison.published_numbers import is_fraction, metric_values, read_expected
from mtlv.errors import DataError

HEAD = "row,metric,value,spread,note,architecture,encoder,dataset,grouping.features,grouping.k\n"


@pytest.fixture
def read(tmp_path, comparison_of):
    def read(text, runs=6):
        path = tmp_path / "expected.csv"
        path.write_text(text, encoding="utf-8")
        return read_expected(path, comparison_of(runs=runs).runs)

    return read


def refused(read, text):
    with pytest.raises(DataError) as error:
        read(text)
    return str(error.value)


def test_rows_find_their_runs(read):
    found = read(
        HEAD
        + "STL,f1_macro,0.914,0.0079,printed as 91.4,stl,,,,\n"
        + "GMTL 5,f1/Opacity,0.5,,,gmtl,minilm,openi,label_description,5\n"
    )
    assert [(one.row, one.metric, one.value, one.spread, one.measured) for one in found] == [
        ("STL", "f1_macro", 0.914, 0.0079, "r0"),
        ("GMTL 5", "f1/Opacity", 0.5, None, "r5"),
    ]
    assert [one.note for one in found] == ["printed as 91.4", ""]


def test_a_row_that_fits_none_or_several_says_so(read):
    none, several, unknown = read(
        HEAD.replace("grouping.k", "grouping.kk")
        + "a,f1_macro,0.5,,swapped,stl,bert,,,\n"
        + "b,f1_macro,0.5,,,gmtl,,,,\n"
        + "c,f1_macro,0.5,,,gmtl,,,,5\n"
    )
    assert (none.measured, none.note) == (None, "swapped; not measured: no run matches")
    assert (several.measured, several.note) == (None, "not measured: 3 runs match")
    assert unknown.note == "not measured: no run has the setting `grouping.kk`"


def test_numbers_of_settings_are_compared_as_numbers(read):
    found = read(HEAD.replace("grouping.k", "training.learning_rate") + "a,f1_macro,0.5,,,stl,,,,0.00002\n")
    assert found[0].measured == "r0"


def test_all_wrong_lines_are_named_at_once(read, tmp_path):
    text = refused(
        read,
        HEAD
        + "a,f1_macro,91.4,,,stl,,,,\n"
        + "\n"
        + "b,f1_macro,n/a,,,stl,,,,\n"
        + "c,f1_macro,0.9,-0.1,,stl,,,,\n"
        + "d,f1_macro,0.9\n"
        + ",f1_macro,0.9,,,stl,,,,\n"
        + "e,,0.9,,,stl,,,,\n"
        + "f,f1_macro,nan,,,stl,,,,\n",
    )
    file = tmp_path / "expected.csv"
    assert text.splitlines() == [
        f"`{file}:2`: `value` is not a fraction (got 91.4); allowed: 0 to 1; divide percentages by 100.",
        f"`{file}:4`: `value` is not a number (got n/a).",
        f"`{file}:5`: `spread` is not a fraction (got -0.1); allowed: 0 to 1; divide percentages by 100.",
        f"`{file}:6` has 3 cells; allowed: 10, as in the header.",
        f"`{file}:7`: `row` is empty.",
        f"`{file}:8`: `metric` is empty.",
        f"`{file}:9`: `value` is not a number (got nan).",
    ]


def test_counts_and_seconds_are_no_fractions(read):
    found = read(HEAD + "a,train_seconds,12600,,,stl,,,,\nb,support/Opacity,25,,,stl,,,,\n")
    assert [one.value for one in found] == [12600, 25]
    assert is_fraction("f1/train_seconds")
    assert is_fraction("test/f1_macro")
    assert is_fraction("p_wilcoxon/f1_macro")
    assert not is_fraction("time/train_seconds")


def test_a_wrong_header_is_refused(read, tmp_path):
    file = tmp_path / "expected.csv"
    assert refused(read, "row,value\na,1\n") == (
        f"`{file}` has no column `metric` (got row, value); allowed: a header with row, metric, value."
    )
    assert refused(read, "row,metric,value,architectur\n").endswith("did you mean `architecture`?")
    assert refused(read, "row,metric,value,note,note\n") == f"`{file}` has a duplicate column (got note)."
    assert refused(read, "").startswith(f"`{file}` is empty; allowed: a header with the columns row, metric")


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(DataError, match="cannot be read: No such file"):
        read_expected(tmp_path / "none.csv", ())
    (tmp_path / "binary.csv").write_bytes(b"row,metric,value\n\xff\xfe\n")
    with pytest.raises(DataError, match="give a CSV file in UTF-8"):
        read_expected(tmp_path / "binary.csv", ())


def test_a_byte_order_mark_is_no_part_of_a_column(read):
    assert read("\ufeff" + HEAD + "a,f1_macro,0.5,,,stl,,,,\n")[0].measured == "r0"


def test_measured_values_by_the_names_of_a_file(comparison_of):
    run = comparison_of(runs=1).runs[0]
    assert (
        metric_values(run, "f1_macro") == metric_values(run, "test/f1_macro") == run.values("test/f1_macro")
    )
    assert metric_values(run, "train_seconds") == run.values("time/train_seconds")
    assert metric_values(run, "f1/Opacity") == run.of_task("Opacity", "f1")
    assert metric_values(run, "support/Opacity") == run.of_task("Opacity", "support")
    assert metric_values(run, "f1/none") == []


def test_more_than_anyone_reads_is_counted(read):
    text = refused(read, HEAD + "a,f1_macro,91.4,,,stl,,,,\n" * 3000)
    assert len(text.splitlines()) == 51
    assert text.splitlines()[-1].endswith("and 2950 more wrong lines.")
    assert len(refused(read, HEAD + f"a,f1_macro,{'9' * 100_000},,,stl,,,,\n")) < 1000
    (found,) = read(HEAD + f"{'a' * 100_000},f1_macro,0.9,,,stl,,,,\n")
    assert len(found.row) == 100_000


@pytest.mark.parametrize("value", ["1e400", "-inf", "NaN", "0x1", "[0.9]"])
def test_values_that_are_no_numbers(read, value):
    assert "is not a" in refused(read, HEAD + f"a,f1_macro,{value},,,stl,,,,\n")
