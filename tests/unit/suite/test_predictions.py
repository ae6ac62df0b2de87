"""Predictions of other models are members of a suite: judged and tracked as any other, but not trained."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from memory_tracker import MemoryRun, MemoryTracker

from mtlv.errors import ConfigError, DataError
from mtlv.events import NoteGiven, UnitEnded, ignore
from mtlv.plan import Task
from mtlv.planning.check import check_suite
from mtlv.settings import Suite, default_settings
from mtlv.suite.run import run_suite
from mtlv.units.predictions import read_predictions

TASKS = ("heart", "lung", "bone")
RUNS = "runs=[{name: mtl, architecture: mtl}, {name: LLM, predictions: %s}]"
Rows = list[dict[str, object]]


def written(folder: Path, rows: Rows, name: str = "llm.csv") -> str:
    path = folder / name
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]])
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


def rows_of(table: Path, value: Callable[[str, Mapping[str, str]], object]) -> Rows:
    """Return the ids of a table with predictions by `value`, a function of the task and the row."""
    with table.open() as file:
        return [
            {"id": row["id"]} | {task: value(task, row) for task in TASKS} for row in csv.DictReader(file)
        ]


def score(task: str, row: Mapping[str, str]) -> float:
    """Return a score that is right with a threshold of 0.3, and wrong with one of 0.5."""
    return 0.4 if row[task] == "1" else 0.2


def ran(suite: Suite, **parts: Callable) -> tuple[dict[str, MemoryRun], list[object]]:
    tracker, events = MemoryTracker(), []
    run_suite(suite, events.append, tracker, **parts)
    return {run.spec.name: run for run in tracker.runs.values()}, events


def test_scores_are_judged_at_thresholds_from_validation_and_cost_nothing(
    tmp_path: Path, table: Callable[..., Path], suite: Callable[..., Suite]
) -> None:
    data = table("t")
    config = RUNS % written(tmp_path, rows_of(data, score))
    runs, events = ran(suite(data, config))
    run, trained = runs["LLM"], runs["mtl"]
    assert run.last("test/f1_macro") == run.last("test/average_precision_macro") == 1
    assert run.tags["mtlv.encoder"] == "not trained here"
    assert not [
        point.key for point in run.points if point.key.startswith(("cost/", "time/", "train", "best"))
    ]
    assert not [key for key in run.params if key.startswith(("training.", "encoder."))]
    assert run.tags["mtlv.data_digest"] == trained.tags["mtlv.data_digest"]
    assert run.model is None
    assert trained.model is not None
    assert "epoch" not in run.description.lower()
    ended = {event.name.split()[0]: event for event in events if isinstance(event, UnitEnded)}
    assert ended["LLM"].documents == 0 < ended["mtl"].documents
    assert not ended["LLM"].cached
    assert not [event for event in events if isinstance(event, NoteGiven) and "not logged" in event.text]
    _, again = ran(suite(data, config))
    assert sum(isinstance(event, UnitEnded) and event.cached for event in again) == 2
    written(tmp_path, rows_of(data, lambda task, row: 1 - score(task, row)))
    _, changed = ran(suite(data, config))
    assert [event.cached for event in changed if isinstance(event, UnitEnded)] == [True, False]


def test_decisions_have_no_metrics_that_order_documents(
    tmp_path: Path, table: Callable[..., Path], suite: Callable[..., Suite]
) -> None:
    data = table("t")
    decided = rows_of(data, lambda task, row: "yes" if row[task] == "1" else "no")
    runs, _ = ran(suite(data, f"predictions={written(tmp_path, decided)}"))
    (run,) = (run for run in runs.values() if run.spec.kind == "suite member")
    assert run.last("test/f1_macro") == 1
    assert not [point.key for point in run.points if "average_precision" in point.key or "roc" in point.key]


@pytest.mark.parametrize("scope", ["per_plan", "per_task"])
def test_without_validation_documents_thresholds_stay(
    tmp_path: Path, table: Callable[..., Path], suite: Callable[..., Suite], scope: str
) -> None:
    data = table("t")
    tested = rows_of(data, score)[4::5]  # see `write_table`
    path = written(tmp_path, tested)
    runs, events = ran(suite(data, f"predictions={path}", f"evaluation.threshold={scope}"))
    (run,) = (run for run in runs.values() if run.spec.kind == "suite member")
    assert run.last("test/f1_macro") == 0
    assert "Nothing was learned" in run.description
    assert "train longer" not in run.description
    notes = [event.text for event in events if isinstance(event, NoteGiven)]
    assert any("12 of 12 validation documents" in text for text in notes)


def test_ids_must_be_those_of_the_corpus(
    tmp_path: Path, table: Callable[..., Path], suite: Callable[..., Suite]
) -> None:
    data = table("t")
    rows, tracker = rows_of(data, score), MemoryTracker()
    for changed, words in (
        ([*rows, {**rows[0], "id": "other"}], ("line 62", "'other'", "0, 1")),
        (rows[:59], ("1 of 12", "59")),
    ):
        with pytest.raises(DataError) as error:
            run_suite(suite(data, f"predictions={written(tmp_path, changed)}"), ignore, tracker)
        (problem,) = error.value.problems
        assert all(word in problem for word in words)
    assert not tracker.runs


def test_a_check_counts_no_unit_of_theirs(
    tmp_path: Path, table: Callable[..., Path], suite: Callable[..., Suite]
) -> None:
    data = table("t")
    path = written(tmp_path, rows_of(data, score))
    checked = check_suite(suite(data, RUNS % path))
    assert [member.units for member in checked.members] == [1, 0]
    assert checked.units == 1
    assert path in "".join(checked.members[1].lines)


def test_problems_of_the_file_are_found_by_the_check(
    tmp_path: Path, table: Callable[..., Path], suite: Callable[..., Suite]
) -> None:
    data = table("t")
    rows = rows_of(data, score)
    rows[0]["heart"], rows[1]["heart"], rows[2]["lung"] = 1.5, "", "perhaps"
    with pytest.raises(ConfigError) as error:
        check_suite(suite(data, f"predictions={written(tmp_path, [*rows, rows[3]])}"))
    doubled, empty, heart, lung = error.value.problems
    assert "line 5, column `id`" in doubled
    assert "line 62" in doubled
    assert "line 2, column `heart`" in heart
    assert "'1.5'" in heart
    assert "line 3, column `heart` is empty" in empty
    assert "'perhaps'" in lung
    for row in rows:
        del row["bone"]
    with pytest.raises(ConfigError, match="`bone`"):
        check_suite(suite(data, f"predictions={written(tmp_path, rows)}"))


def test_the_architecture_follows_from_the_file(
    table: Callable[..., Path], suite: Callable[..., Suite]
) -> None:
    with pytest.raises(ConfigError, match=r"`architecture\.name`"):
        suite(table("t"), "architecture=imported")
    shared = ("stages=[{name: one}, {name: two}]", "architecture.private_layers=1")
    (member,) = suite(table("t"), "predictions=x.csv", *shared).members
    assert (member.settings.architecture.name, member.settings.stages) == ("imported", None)
    assert not member.settings.architecture.private_layers


def test_classes_and_numbers_are_read_and_other_kinds_are_named(tmp_path: Path) -> None:
    path = written(tmp_path, [{"id": "a", "stage": "T2", "age": "3,5"}, {"id": "b", "stage": "T1", "age": 7}])
    settings = default_settings().model_copy(update={"predictions": path})
    stage = Task("stage", kind="multiclass", classes=("T1", "T2"), main_metric="accuracy")
    age = Task("age", kind="regression", main_metric="pearson")
    predictions = read_predictions(settings, [stage, age])
    assert np.array_equal(predictions.outputs["stage"], [[0, 1], [1, 0]])
    assert np.array_equal(predictions.outputs["age"], np.float32([3.5, 7]))
    tagged = Task("drug", kind="tagging", classes=("DRUG",), main_metric="f1")
    with pytest.raises(DataError, match="drug"):
        read_predictions(settings, [stage, tagged])
    other = Task("stage", kind="multiclass", classes=("T1", "T3"), main_metric="accuracy")
    with pytest.raises(DataError, match=r"'T2'.* T1, T3"):
        read_predictions(settings, [other])
