"""What the outputs of each kind of task are to those who asked."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mtlv.data.targets import spans_column
from mtlv.data.words import split_words
from mtlv.plan import Task
from mtlv.plan.spans import Span
from mtlv.serving.answers import PredictionTable, write_answers
from mtlv.serving.frame import as_columns, column_types
from mtlv.serving.kinds import ANSWERS, COLUMNS, TaskPrediction
from mtlv.serving.model import Prediction
from mtlv.serving.texts import InputTexts, from_arguments

TEXTS = ("Aspirin, not ether.", "Clear.")
CLASSES = ("none", "blocks", "drives", "feeds", "binds")
TOLD = {
    "binary": TaskPrediction(Task("heart"), np.array([0.7, 0.2]), 0.5),
    "multiclass": TaskPrediction(
        Task("relation", "multiclass", classes=CLASSES),
        np.array([[0.1, 0.6, 0.2, 0.05, 0.05], [0.4, 0.4, 0.1, 0.05, 0.05]]),
    ),
    "regression": TaskPrediction(Task("likeness", "regression"), np.array([3.14159, -1.0], np.float32)),
    "tagging": TaskPrediction(
        Task("drugs", "tagging", classes=("Drug",)),
        spans_column([[Span(0, 1, "Drug"), Span(2, 4, "Drug")], []]),
        words=tuple(map(split_words, TEXTS)),
    ),
}


def answers(*kinds: str, count: int = 2) -> PredictionTable:
    told = (TOLD[kind] for kind in kinds)
    part = tuple(TaskPrediction(t.task, t.outputs[:count], t.threshold, t.words[:count]) for t in told)
    return PredictionTable(from_arguments(TEXTS[:count]), Prediction(part), "run")


def test_a_temperature_changes_probabilities_and_no_decision() -> None:
    told = replace(TOLD["binary"], outputs=np.array([0.8, 0.2]), threshold=0.8, temperature=2.0)
    assert told.values.tolist() == pytest.approx([2 / 3, 1 / 3])  # odds of 4 and 1/4 become 2 and 1/2
    assert told.decided.tolist() == [True, False]
    assert told.kind.cells(told, 0) == ("0.667", "0.667", "yes")
    shown = PredictionTable(from_arguments(TEXTS), Prediction((told,)), "run")
    assert shown.record(0) == {"probabilities": {"heart": told.values[0]}, "decided": ["heart"]}
    assert told.kind.short(told, 0) == "heart 0.67"
    assert as_columns(Prediction((told,)), "both")["heart probability"].tolist() == told.values.tolist()
    assert replace(told, threshold=0.0, temperature=1.0).limit == 0
    classes = replace(TOLD["multiclass"], temperature=0.5)
    squares = np.square([0.1, 0.6, 0.2, 0.05, 0.05])
    assert classes.values[0].tolist() == pytest.approx((squares / squares.sum()).tolist())
    assert classes.kind.cells(classes, 0)[:2] == ("blocks", f"{0.36 / squares.sum():.3f}")
    columns = as_columns(Prediction((classes,)), "both")
    assert columns["relation probability of blocks"][0] == pytest.approx(0.36 / squares.sum())
    assert columns["relation class"].tolist() == ["blocks", "none"]


def test_answers_of_every_kind_are_tested() -> None:
    assert set(ANSWERS) == {*TOLD, "mlm"}, "which is not asked for"
    assert ANSWERS["mlm"].columns(Task("text", "mlm"), COLUMNS[0]) == []


@pytest.mark.parametrize(
    ("kind", "cells", "line"),
    [
        ("binary", ("heart", "0.700", "0.5", "yes"), "heart 0.70"),
        (
            "multiclass",
            ("relation", "blocks", "0.600", "drives 0.200, none 0.100, feeds 0.050 and 1 more"),
            "relation: blocks 0.60",
        ),
        ("regression", ("likeness", "3.142"), "likeness: 3.14"),
        (
            "tagging",
            ("drugs", "Drug 'Aspirin' 0-7, Drug 'not ether' 9-18"),
            "drugs: Aspirin (Drug), not ether (Drug)",
        ),
    ],
)
def test_tables_of_one_kind(kind: str, cells: tuple[str, ...], line: str) -> None:
    one, both = answers(kind, count=1), answers(kind)
    assert one.rows == [cells]
    assert one.header == ("task", *ANSWERS[kind].header)
    assert 1 <= one.text_columns <= len(one.header)
    assert both.header == ("text", "text", ANSWERS[kind].title)
    assert both.rows[0] == ("1", TEXTS[0], line)


def test_tables_of_several_kinds() -> None:
    assert answers(*TOLD, count=1).header == ("task", "answer", "more")
    assert answers(*TOLD, count=1).rows == [
        ("relation", "blocks", "probability 0.600; drives 0.200, none 0.100, feeds 0.050 and 1 more"),
        ("likeness", "3.142", ""),
        ("drugs", "Drug 'Aspirin' 0-7, Drug 'not ether' 9-18", ""),
        ("heart", "yes", "probability 0.700, threshold 0.5"),
    ]
    assert answers(*TOLD).header == ("text", "text", "answers")
    assert answers(*TOLD).rows[1] == ("2", "Clear.", "relation: none 0.40; likeness: -1.00")


def test_columns_are_those_that_are_announced() -> None:
    found = answers(*TOLD).prediction
    announced = column_types([told.task for told in found.predictions])
    both = as_columns(found, "both")
    assert list(both) == list(announced)
    kinds = {"double": "f", "boolean": "b", "string": "O"}
    assert [values.dtype.kind for values in both.values()] == [kinds[kind] for kind in announced.values()]
    assert all(
        len(as_columns(found, wanted)[name]) == 2 for wanted in COLUMNS for name in as_columns(found, wanted)
    )
    assert list(as_columns(found, "decisions")) == ["heart", "relation", "likeness", "drugs"]
    assert as_columns(found, "decisions")["relation"].tolist() == ["blocks", "none"]  # of equals the first
    shown = [f"relation probability of {name}" for name in CLASSES]
    assert list(as_columns(found, "probabilities")) == ["heart", *shown]


def test_a_class_with_the_name_of_a_column_of_another_task() -> None:
    tasks = [Task("a", "multiclass", classes=("b probability", "b")), Task("a probability of b")]
    assert len(column_types(tasks)) == 3 + 2


def test_files(tmp_path: Path) -> None:
    write_answers(answers(*TOLD), tmp_path / "o.jsonl")
    first, second = map(json.loads, (tmp_path / "o.jsonl").read_text().splitlines())
    assert first["classes"]["relation"]["class"] == "blocks"
    assert first["classes"]["relation"]["probabilities"]["drives"] == 0.2
    assert first["values"]["likeness"] == pytest.approx(3.14159)
    assert first["decided"] == ["heart"]
    assert second["spans"] == {"drugs": []}
    drug = {
        "type": "Drug",
        "text": "not ether",
        "start": 9,
        "end": 18,
        "words": ["not", "ether"],
        "first_word": 2,
    }
    assert first["spans"]["drugs"][1] == drug
    write_answers(answers(*TOLD), tmp_path / "o.csv")
    with (tmp_path / "o.csv").open(newline="") as file:
        row = next(csv.DictReader(file))
    assert json.loads(row["drugs spans"])[1] == drug
    assert (row["relation class"], row["heart decided"]) == ("blocks", "1")


def test_rows_without_an_answer_are_empty_everywhere(tmp_path: Path) -> None:
    """Five rows, of which each task cannot read others; the first two of no task."""
    texts = InputTexts((None, "", "a b", "c d", "e f"), (2, 3, 5, 6, 8), "line", ids={"case": tuple("vwxyz")})
    task = Task("relation", "multiclass", classes=("no", "yes"))
    words = tuple(split_words(text or "") for text in texts.texts)
    spans = spans_column([[], [], [], [Span(0, 2, "X")], [Span(1, 2, "X")]])
    empty = {"heart": [0, 1, 3], "lung": [0, 1], "relation": [0, 1, 4], "drugs": [0, 1, 2]}
    answered = (
        TaskPrediction(Task("heart"), np.array([0.9, 0.9, 0.6, 0.9, 0.7]), 0.5),
        TaskPrediction(Task("lung"), np.array([0.9, 0.9, 0.8, 0.9, 0.4]), 0.5),
        TaskPrediction(task, np.array([[0.1, 0.9], [0.1, 0.9], [0.8, 0.2], [0.3, 0.7], [0.1, 0.9]])),
        TaskPrediction(Task("drugs", "tagging", classes=("X",)), spans, words=words),
    )
    predictions = tuple(replace(one, empty=np.array(empty[one.task.name])) for one in answered)
    shown = PredictionTable(texts, Prediction(predictions), "run")
    assert shown.rows == [
        ("2", "", ""),
        ("3", "", ""),
        ("5", "a b", "relation: no 0.80; lung 0.80; heart 0.60"),
        ("6", "c d", "relation: yes 0.70; drugs: c d (X); lung 0.90"),
        ("8", "e f", "drugs: f (X); heart 0.70"),
    ]
    records = [shown.record(row) for row in range(5)]
    assert [record["decided"] for record in records] == [None, None, ["heart", "lung"], ["lung"], ["heart"]]
    assert [record["probabilities"] for record in records[2:]] == [
        {"heart": 0.6, "lung": 0.8},
        {"heart": None, "lung": 0.9},
        {"heart": 0.7, "lung": 0.4},
    ]
    columns = as_columns(Prediction(predictions), "both")
    for name, values in columns.items():
        unread = empty[name.split()[0]]
        assert [row for row, value in enumerate(values) if value is None or value != value] == unread
    write_answers(shown, tmp_path / "o.csv")
    with (tmp_path / "o.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["line"], row["case"], row["heart decided"], row["relation class"]) for row in rows] == [
        ("2", "v", "", ""),
        ("3", "w", "", ""),
        ("5", "x", "1", "no"),
        ("6", "y", "", "yes"),
        ("8", "z", "1", ""),
    ]
    assert [row["lung probability"] for row in rows] == ["", "", "0.8", "0.9", "0.4"]


def test_a_kind_that_is_not_there_leaves_no_key(tmp_path: Path) -> None:
    write_answers(answers("regression"), tmp_path / "o.jsonl")
    assert set(json.loads((tmp_path / "o.jsonl").read_text().splitlines()[0])) == {"text", "values"}
