"""Labels in cells: yes and no in several languages, what is uncertain, and lists."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mtlv.data import catalog
from mtlv.data.options import Columns, DataOptions
from mtlv.data.tables.labels import by_number, flag_of, labels_of, positions_of
from mtlv.errors import DataError

YES = (
    1,
    1.0,
    True,
    "1",
    "1.0",
    " Yes ",
    "TRUE",
    "y",
    "t",
    "ja",
    "Oui",
    "sí",
    "si",
    "wahr",
    "Positive",
    "present",
)
NO = (
    0,
    0.0,
    False,
    "0",
    "0.0",
    "no",
    "False",
    "N",
    "f",
    "Nein",
    "non",
    "no ",
    "falsch",
    "negative",
    "ABSENT",
)
UNCERTAIN = (-1, -1.0, "-1", "-1.0", "uncertain", "Unknown", "unsicher", "NA", "n/a", "?")


@pytest.mark.parametrize(("cells", "flag"), [(YES, 1), (NO, 0), (UNCERTAIN, -1)])
def test_words_and_numbers_of_yes_and_no(cells, flag) -> None:
    assert {flag_of(cell) for cell in cells} == {flag}


@pytest.mark.parametrize("cell", ["", None, "2", 2, 0.5, "maybe", [], "yes please", "0,5", float("nan"), {}])
def test_others_are_neither(cell) -> None:
    assert flag_of(cell) is None


@pytest.mark.parametrize(
    ("cell", "separator", "labels"),
    [
        (["b", "a"], ";", ["b", "a"]),
        ([3, 17], ";", ["3", "17"]),
        ('["a, b", "c"]', ";", ["a, b", "c"]),
        ("['a', 'b']", ";", ["a", "b"]),
        ("['a' 'b']", ";", ["a", "b"]),
        ("[3, 17]", ";", ["3", "17"]),
        ("[0 0 1]", ";", ["0", "0", "1"]),
        ("[0. 1.]", ";", ["0", "1"]),
        ("[True, False]", ";", ["1", "0"]),
        ("(1, 0, 1)", ";", ["1", "0", "1"]),
        ("{'a', 'b'}", ";", ["a", "b"]),
        ("[]", ";", []),
        ("set()", ";", []),
        ("", ";", []),
        (None, ";", []),
        ("2,5", ",", ["2", "5"]),
        ("anger, neutral", ",", ["anger", "neutral"]),
        ("a | b|", "|", ["a", "b"]),
        (5, ";", ["5"]),
        (np.array([1, 0]), ";", ["1", "0"]),
    ],
)
def test_lists_in_every_form(cell, separator, labels) -> None:
    assert labels_of(cell, separator) == (labels, "")


@pytest.mark.parametrize("cell", ["[0.5, 0.2]", "[sic]", [None], [["a"]], {"a": 1}, 0.5, '[{"a": 1}]'])
def test_other_cells_are_no_lists(cell) -> None:
    labels, fault = labels_of(cell, ";")
    assert not labels
    assert "is not a" in fault


def test_positions_are_told_from_names() -> None:
    assert positions_of([["0", "0", "1"], [], ["1.0", "0", "no"]]) == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
    assert positions_of([["010"], ["110"]]) == [[0, 1, 0], [1, 1, 0]]
    for names in (
        [["0", "1"], ["1", "0"]],
        [["0"], ["1"]],
        [["0", "0", "1"], ["1"]],
        [["0", "0", "2"]],
        [["110"]],
        [],
    ):
        assert positions_of(names) is None


def load(folder: Path, rows: list[dict], **columns: object):
    path = folder / "t.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return catalog.load("table", DataOptions(path=path, columns=Columns(**columns)))


ROWS = [{"text": f"t{n}", "l": cell} for n, cell in enumerate(("0 1 1", "1 0 1", "", "0 0 1"))]


def test_a_task_for_each_position(tmp_path) -> None:
    corpus = load(tmp_path, ROWS, label_list="l", separator=" ")
    assert {name: column.tolist() for name, column in corpus.targets.items()} == {
        "l 1": [0, 1, 0, 0], "l 2": [1, 0, 0, 0], "l 3": [1, 1, 0, 1],
    }  # fmt: skip
    named = load(tmp_path, ROWS, label_list="l", separator=" ", classes=("joy", "fear", "rage"))
    assert named.names == ("joy", "fear", "rage")
    assert named.targets["rage"].tolist() == [1, 1, 0, 1]
    with pytest.raises(DataError, match=r"has 0 or 1 for 3 labels, which `data.columns.classes`.*joy, fear"):
        load(tmp_path, ROWS, label_list="l", separator=" ", classes=("joy", "fear"))


def test_numbers_are_named_by_classes(tmp_path) -> None:
    rows = [{"text": f"t{n}", "l": cell} for n, cell in enumerate(([0, 2], [1], [], [2]))]
    assert load(tmp_path, rows, label_list="l").names == ("0", "1", "2")
    corpus = load(tmp_path, rows, label_list="l", classes=("joy", "fear", "rage"))
    assert {x: y.tolist() for x, y in corpus.targets.items()} == {
        "joy": [1, 0, 0, 0], "fear": [0, 1, 0, 0], "rage": [1, 0, 0, 1],
    }  # fmt: skip
    with pytest.raises(DataError, match=r"has 2, which `data.columns.classes` does not name"):
        load(tmp_path, rows, label_list="l", classes=("joy", "fear"))


FLAGS = [{"text": f"t{n}", "a": a, "b": b} for n, (a, b) in enumerate([(1, 0), (-1, 1), ("", "NA"), (0, "")])]


@pytest.mark.parametrize(
    ("settings", "a", "b"),
    [
        ({"uncertain": "unknown", "missing_labels": "unknown"}, [1, -1, -1, 0], [0, 1, -1, -1]),
        ({"uncertain": "yes", "missing_labels": "unknown"}, [1, 1, -1, 0], [0, 1, 1, -1]),
        ({"uncertain": "no", "missing_labels": "unknown"}, [1, 0, -1, 0], [0, 1, 0, -1]),
        ({"uncertain": "yes", "missing_labels": "no"}, [1, 1, 0, 0], [0, 1, 1, 0]),
    ],
)
def test_what_is_uncertain_or_empty_has_a_meaning(tmp_path, settings, a, b) -> None:
    corpus = load(tmp_path, FLAGS, labels=("a", "b"), **settings)
    assert (corpus.targets["a"].tolist(), corpus.targets["b"].tolist()) == (a, b)


def test_uncertain_cells_are_an_error_of_all_columns_at_once(tmp_path) -> None:
    with pytest.raises(
        DataError, match=r"such as -1.*\(got a: 1, b: 1\).*set `data.columns.uncertain`"
    ) as caught:
        load(tmp_path, FLAGS, labels=("a", "b"), missing_labels="unknown")
    assert len(caught.value.problems) == 1
    with pytest.raises(DataError, match=r"missing_labels: no` is for columns of `labels`"):
        load(tmp_path, FLAGS, kind="multiclass", target="a", missing_labels="no")


def test_numbers_are_in_the_order_of_numbers_before_names() -> None:
    assert sorted(["10", "b", "9", "-1", "a", "2"], key=by_number) == ["2", "9", "10", "-1", "a", "b"]
