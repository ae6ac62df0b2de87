"""Which epochs are kept, and when there is nothing left to wait for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from memory_tracker import MemoryTracker

from mtlv.events import ignore
from mtlv.plan import Scores, Task, TaskScores
from mtlv.store.local import Store
from mtlv.suite.run import SuiteResult, run_suite
from mtlv.units import validation
from mtlv.units.best_epochs import EpochSelection
from mtlv.units.criteria import value

TASKS = ("a", "b", "c")
ROWS = st.lists(st.tuples(*[st.integers(0, 4).map(float)] * 3), min_size=1, max_size=12)


def selection(per: str, *, best: bool = True, patience: int | None = None) -> EpochSelection:
    groups = {"model": (TASKS,), "task": tuple((name,) for name in TASKS)}[per]
    return EpochSelection(groups, best, patience)


def told(it: EpochSelection, rows: Sequence[Sequence[float]]) -> EpochSelection:
    for number, row in enumerate(rows):
        values = row if len(it.groups) > 1 else [float(np.mean(row))]
        it.add(values, lambda number=number: {"epoch": torch.tensor(number)})  # type: ignore[misc]
    return it


@given(ROWS)
def test_each_task_gets_its_first_best_epoch_and_its_weights(rows: list[tuple[float, ...]]) -> None:
    it = told(selection("task"), rows)
    for task, column in zip(TASKS, np.array(rows).T, strict=True):
        expected = int(column.argmax()) if np.ptp(column) else it.epoch
        assert it.epochs[task] == expected
    assert set(it.weights) == {it.epoch, *it.epochs.values()}
    assert all(int(weights["epoch"]) == epoch for epoch, weights in it.weights.items())


def test_a_taken_state_stays_as_it_was() -> None:
    """A checkpoint is written while the next epoch is judged."""
    it = told(selection("task"), [(0.1, 0.2, 0.3)])
    state = it.take()
    told(it, [(0.5, 0.5, 0.5)])
    assert state["values"] == [[0.1, 0.2, 0.3]]
    assert list(state["kept"]) == [0]
    again = selection("task")
    again.put_back(state)
    assert again.epochs == dict.fromkeys(TASKS, 0)


@given(ROWS)
def test_the_model_as_a_whole_is_judged_the_same_either_way(rows: list[tuple[float, ...]]) -> None:
    whole = told(selection("model"), rows)
    assert whole.epochs == dict.fromkeys(TASKS, whole.epoch)
    assert list(whole.weights) == list(whole.kept) == [whole.epoch]
    assert whole.epoch == told(selection("task"), rows).epoch == int(np.mean(rows, axis=1).argmax())


@given(ROWS, st.integers(1, 3), st.sampled_from(["model", "task"]))
def test_it_is_done_once_nothing_got_better_for_so_long(
    rows: list[tuple[float, ...]], patience: int, per: str
) -> None:
    it = told(selection(per, best=False, patience=patience), rows)
    columns = np.array(rows).T if per == "task" else np.mean(rows, axis=1)[None]
    assert it.done == all(len(rows) - 1 - int(column.argmax()) >= patience for column in columns)
    assert not it.kept


@given(ROWS, st.data())
def test_it_goes_on_from_what_it_gave(rows: list[tuple[float, ...]], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(rows)))
    first, whole = told(selection("task"), rows[:at]), told(selection("task"), rows)
    again = selection("task")
    again.put_back(first.take())
    for number, row in enumerate(rows[at:], at):
        again.add(row, lambda number=number: {"epoch": torch.tensor(number)})  # type: ignore[misc]
    assert again.values == whole.values
    assert {e: int(w["epoch"]) for e, w in again.kept.items()} == {e: e for e in whole.kept}


def test_without_a_rule_nothing_is_judged() -> None:
    assert selection("model", best=False).idle
    assert not selection("model", best=False, patience=1).idle
    assert not selection("model", best=False).done


def test_a_mean_over_tasks_counts_each_yes_no_task_of_a_source() -> None:
    tasks = [
        Task("a", source="x"),
        Task("b", source="x"),
        Task("n", "regression", "y", main_metric="pearson"),
    ]
    here = np.arange(6) < 4
    yes, no = np.array([1, 1, 0, 0, 0, 0]), np.array([1, 0, 1, 0, 0, 0])
    sure = np.array([0.9, 0.8, 0.2, 0.1, 0.7, 0.6], np.float32)
    of_tasks = {name: TaskScores(sure, targets, here) for name, targets in (("a", yes), ("b", no))}
    of_tasks["n"] = TaskScores(np.arange(6.0), -np.arange(6.0), ~here)
    scores = Scores(("u",), "validation", tuple("012345"), of_tasks)
    of_a, of_b, of_n = 1.0, (1 / 1 + 2 / 3) / 2, -1.0
    assert value(scores, tasks, "average_precision") == pytest.approx((of_a + of_b + of_n) / 3)
    assert value(scores, tasks[:2], "average_precision") == pytest.approx((of_a + of_b) / 2)
    assert value(scores, tasks[:2], "f1_macro") == pytest.approx((1.0 + 0.5) / 2)
    likely = [np.where(truth == 1, sure, 1 - sure)[here] for truth in (yes, no)]
    assert value(scores, tasks[:2], "loss") == pytest.approx(np.log(likely).mean(), rel=1e-5)


def test_only_known_labels_judge_an_epoch() -> None:
    outputs = np.array([0.9, 0.8, 0.2, 0.1], np.float32)
    truth = {"a": np.array([1, -1, 0, 1]), "b": np.array([-1, 1, 0, -1])}
    of_tasks = {name: TaskScores(outputs, targets, targets >= 0) for name, targets in truth.items()}
    scores, tasks = Scores(("u",), "validation", tuple("0123"), of_tasks), [Task("a"), Task("b")]
    assert value(scores, tasks, "average_precision") == pytest.approx(((1 + 2 / 3) / 2 + 1) / 2)
    assert value(scores, tasks, "f1_macro") == pytest.approx((2 / 3 + 1) / 2)
    assert value(scores, tasks, "loss") == pytest.approx(np.log([0.9, 0.8, 0.1, 0.8, 0.8]).mean(), rel=1e-5)


BEST = {"heart": 1, "lung": 3, "bone": 5}


def as_written(scores: object, tasks: Sequence[Task], rule: str) -> float:
    """In place of validation: each task is best after its own epoch, whatever a processor computes."""
    if len(tasks) > 1:
        return value(scores, tasks, rule)  # type: ignore[arg-type]
    SEEN[tasks[0].name] += 1
    return -abs(SEEN[tasks[0].name] - 1 - BEST[tasks[0].name])


SEEN: Counter[str] = Counter()


@pytest.fixture(scope="module")
def ran(writers: tuple, tmp_path_factory: pytest.TempPathFactory) -> tuple[SuiteResult, MemoryTracker, Store]:
    write_table, write_suite = writers
    folder, tracker = tmp_path_factory.mktemp("selected"), MemoryTracker()
    changes = ("training.select=best", "training.select_per=task", "training.epochs=6")
    suite = write_suite(folder, write_table(folder, "t"), *changes, "architecture=mtl")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(validation, "value", as_written)
        return run_suite(suite, ignore, tracker), tracker, Store(folder / "store")


def test_each_task_is_validated_and_tested_by_the_weights_of_its_epoch(ran: tuple) -> None:
    """Where validation is never used, the last epoch is tested whichever was the best."""
    result, tracker, store = ran
    (found,) = result.members[0].outcomes
    (record,) = found.records
    tasks = {task.name: task for task in result.members[0].resolved.tasks}
    files = store.weights_of(record)
    assert files is not None
    assert record.chosen_epochs == BEST
    assert {path.name for path in (store.units / record.key).glob("*.safetensors")} == {
        "model.safetensors",
        *(path.name for path in files.values()),
    }
    for name in tasks:
        kept = record.validation.tasks[name].outputs
        assert np.array_equal(kept, record.curve[record.chosen_epochs[name]][name])
    (child,) = [run for run in tracker.runs.values() if run.spec.kind == "fold"]
    tracked = {
        p.key.split("/")[1]: p.value for p in child.points if p.key.startswith("train.tasks.chosen_epoch/")
    }
    assert tracked == record.chosen_epochs


def test_the_kept_model_answers_each_task_as_it_was_tested(ran: tuple, tmp_path: Path) -> None:
    from mtlv.serving.model import ServedPlan
    from mtlv.tracking.mlflow_model import place_files

    result, tracker, _ = ran
    (found,) = result.members[0].outcomes
    (model,) = [run.model for run in tracker.runs.values() if run.spec.kind == "suite member"]
    place_files(model.files, model.texts, tmp_path / "model", (lambda a, b: b.symlink_to(a),))
    plan = ServedPlan.load(tmp_path / "model" / model.content, device="cpu")
    texts = _texts(result, found.test.ids)
    told = plan.predict(texts)
    for name in told.tasks:
        assert np.array_equal(told[name].outputs, found.test.tasks[name].outputs.astype(float))
    one = plan.predict(texts, tasks=["lung"])
    assert one.tasks == ("lung",)
    assert np.array_equal(one["lung"].outputs, told["lung"].outputs)


def _texts(result: SuiteResult, ids: Sequence[str]) -> list[str]:
    from mtlv.units.input_cache import InputCache

    corpus = InputCache(None).corpus(result.members[0].resolved.member.settings.data)
    where = {name: row for row, name in enumerate(corpus.ids)}
    return [corpus.texts[where[name]] for name in ids]


def test_a_later_stage_starts_from_the_best_epoch_of_the_whole(table: Callable, suite: Callable) -> None:
    stages = "[{name: first, tasks: [heart, lung, bone]}, {name: then, start: {from: first}}]"
    changes = ("training.select=best", "training.select_per=task", "training.epochs=3", "architecture=mtl")
    result = run_suite(
        suite(table("t"), *changes, "training.learning_rate=2e-2", f"stages={stages}"),
        ignore,
        MemoryTracker(),
    )
    (found,) = result.members[0].outcomes
    (first,) = found.earlier
    values = [np.mean(row) for row in _values(first, result)]
    assert first.chosen_epoch == int(np.argmax(values))


def _values(record: object, result: SuiteResult) -> list[list[float]]:
    tasks = result.members[0].resolved.tasks
    return [
        [value(record.validation_at(epoch), [task], "average_precision") for task in tasks]  # type: ignore[attr-defined]
        for epoch in range(3)
    ]
