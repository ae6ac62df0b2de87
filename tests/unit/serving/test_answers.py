"""What `mtlv predict` shows and writes."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mtlv.errors import DataError
from mtlv.plan import Task
from mtlv.serving.answers import PredictionTable, check_target, write_answers
from mtlv.serving.kinds import TaskPrediction
from mtlv.serving.model import Prediction
from mtlv.serving.texts import InputTexts, from_arguments

TASKS = ("heart, large", "lung", "bone")


def answers(*rows: tuple[float, float, float], texts: InputTexts | None = None) -> PredictionTable:
    texts = texts or from_arguments([f"text {n}" for n in range(len(rows))])
    columns = zip(TASKS, np.array(rows).T, (0.5, 0.25, 0.5), strict=True)
    told = tuple(TaskPrediction(Task(name), values, limit) for name, values, limit in columns)
    return PredictionTable(texts, Prediction(told), "mtl · fold 0")


def test_one_text_has_a_row_per_task_with_the_decided_first() -> None:
    shown = answers((0.45, 0.3, 0.9))
    assert shown.header == ("task", "probability", "threshold", "decided")
    assert shown.rows == [
        ("bone", "0.900", "0.5", "yes"),
        ("lung", "0.300", "0.25", "yes"),
        ("heart, large", "0.450", "0.5", "no"),
    ]


def test_several_texts_have_a_row_each() -> None:
    texts = InputTexts(("a\n" + "b" * 100, "short"), (2, 7), "line")
    shown = answers((0.6, 0.3, 0.9), (0.1, 0.1, 0.1), texts=texts)
    assert shown.header == ("line", "text", "decided")
    texts = from_arguments(["c" * 59, "c" * 60, "c" * 61])
    cut = [text for _, text, _ in answers(*[(0.0, 0.0, 0.0)] * 3, texts=texts).rows]
    assert cut == ["c" * 59, "c" * 60, "c" * 59 + "…"]
    assert shown.rows == [
        ("2", "a " + "b" * 57 + "…", "bone 0.90, heart, large 0.60, lung 0.30"),
        ("7", "short", "none"),
    ]


def test_files_hold_every_probability(tmp_path: Path) -> None:
    texts = InputTexts(('a, "b"\nc', "肺炎"), (1, 3), "line")
    told = answers((0.6, 0.3, 1 / 3), (0.1, 0.1, 0.5), texts=texts)
    write_answers(told, tmp_path / "o.csv")
    with (tmp_path / "o.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["text"] for row in rows] == list(texts.texts)
    assert [row["line"] for row in rows] == ["1", "3"]
    assert float(rows[0]["bone probability"]) == 1 / 3
    assert [row["heart, large decided"] for row in rows] == ["1", "0"]
    write_answers(told, tmp_path / "o.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text(encoding="utf-8").splitlines()]
    assert lines[1] == {
        "line": 3,
        "text": "肺炎",
        "probabilities": {"heart, large": 0.1, "lung": 0.1, "bone": 0.5},
        "decided": ["bone"],
    }
    assert {path.name for path in tmp_path.iterdir()} == {"o.csv", "o.jsonl"}


def test_decisions_that_are_not_sure_are_left_out(tmp_path: Path) -> None:
    told = answers((0.6, 0.3, 0.9), (0.1, 0.1, 0.2), (0.9, 0.9, 0.9))
    unsure = tuple(replace(one, least=0.76) for one in told.prediction.predictions)
    told = replace(told, prediction=Prediction(unsure))
    assert [text for *_, text in told.rows] == [
        "bone 0.90, heart, large abstain, lung abstain",
        "lung abstain",  # 0.1 at the threshold 0.25 is a confidence of 0.75
        "heart, large 0.90, lung 0.90, bone 0.90",
    ]
    write_answers(told, tmp_path / "o.csv")
    with (tmp_path / "o.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["heart, large decided"] for row in rows] == ["", "0", "1"]
    assert float(rows[0]["heart, large probability"]) == 0.6
    first = told.record(0)
    assert (first["decided"], first["abstained"]) == (["bone"], ["heart, large", "lung"])
    assert told.record(2)["abstained"] == []


def test_a_class_that_is_not_sure_is_left_out(tmp_path: Path) -> None:
    task = Task("tone", kind="multiclass", classes=("mild", "severe"))
    one = TaskPrediction(task, np.array([[0.4, 0.6], [0.95, 0.05]]), least=0.7)
    told = PredictionTable(from_arguments(["a", "b"]), Prediction((one,)), "mtl · fold 0")
    assert [text for *_, text in told.rows] == ["tone: abstain (severe) 0.60", "tone: mild 0.95"]
    assert [told.record(row)["classes"]["tone"]["class"] for row in (0, 1)] == [None, "mild"]
    write_answers(told, tmp_path / "o.csv")
    with (tmp_path / "o.csv").open(encoding="utf-8", newline="") as file:
        assert [row["tone class"] for row in csv.DictReader(file)] == ["", "mild"]


def test_where_nothing_can_be_written_is_said_first(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"unknown file type; allowed: a file ending in .csv, .jsonl"):
        check_target(tmp_path / "o.xlsx")
    with pytest.raises(DataError, match=r"cannot be written; give a file in an existing folder"):
        check_target(tmp_path / "no" / "o.csv")
    (tmp_path / "in.csv").write_text("text\na\n", encoding="utf-8")
    (tmp_path / "link.csv").symlink_to(tmp_path / "in.csv")
    for name in ("in.csv", "link.csv"):
        with pytest.raises(DataError, match="is the file of the texts; give another file"):
            check_target(tmp_path / name, tmp_path / "in.csv")
    assert check_target(tmp_path / "o.csv", tmp_path / "in.csv") == tmp_path / "o.csv"
    assert check_target(tmp_path / "o.CSV") == tmp_path / "o.CSV"
