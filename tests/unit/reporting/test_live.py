"""Metrics are sent to the tracker while the models of a plan train, and none is ever sent twice."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from listening import Listening, Watcher
from memory_tracker import MemoryRun, MemoryTracker

from mtlv.errors import TrackingError
from mtlv.events import EpochEnded, Event, ignore
from mtlv.reporting import live
from mtlv.sealed import seal
from mtlv.store.timestamps import EpochTimestamps
from mtlv.suite.run import run_suite
from mtlv.tracking import Metric

EPOCHS = 3


def child(tracker: MemoryTracker) -> MemoryRun:
    return next(run for run in tracker.runs.values() if run.spec.kind == "fold")


def steps(run: MemoryRun, key: str) -> list[int]:
    return [point.step for point in run.history(key)]


def nothing_twice(tracker: MemoryTracker) -> bool:
    """Whether each run has one point for each key and step."""
    return all(
        max(Counter((point.key, point.step) for point in run.points).values(), default=1) == 1
        for run in tracker.runs.values()
    )


class Stopper(Listening):
    """Ctrl-C at the end of an epoch of the unit that is the `unit`-th."""

    def __init__(self, unit: int, epoch: int) -> None:
        self.at, self.units = (unit, epoch), 0

    def unit_started(self, *_: object) -> None:
        self.units += 1

    def epoch(self, name: str, epoch: int, *_: object) -> None:
        if (self.units, epoch) == self.at:
            raise KeyboardInterrupt


def test_an_epoch_of_one_model_tells_everything_of_that_epoch_at_once(
    table: Callable, suite: Callable
) -> None:
    tracker = MemoryTracker()
    with pytest.raises(KeyboardInterrupt):
        run_suite(suite(table("t"), f"training.epochs={EPOCHS}"), Stopper(1, 2), tracker)
    run = child(tracker)
    for key in (
        "train/loss",
        "train/learning_rate",
        "val/f1_macro",
        "val/average_precision_macro",
        "val.tasks.f1/heart",
        "val.tasks.average_precision/heart",
    ):
        assert steps(run, key) == [0, 1], key
    (head,) = {point.key for point in run.points if point.key.startswith("val.heads.f1_macro/")}
    assert steps(run, head) == [0, 1]


def test_an_epoch_of_one_model_of_several_tells_what_concerns_that_model(
    table: Callable, suite: Callable
) -> None:
    tracker = MemoryTracker()
    changes = ("architecture=stl", f"training.epochs={EPOCHS}")
    with pytest.raises(KeyboardInterrupt):
        run_suite(suite(table("t"), *changes), Stopper(2, 1), tracker)
    run = child(tracker)
    assert steps(run, "train.heads.loss/heart") == [0, 1, 2]
    assert steps(run, "train.heads.loss/lung") == [0], "of each model by itself, not all under one name"
    assert steps(run, "val.tasks.average_precision/lung") == [0]
    assert steps(run, "val.heads.average_precision_macro/lung") == [0]
    assert not steps(run, "val/f1_macro"), "the plan's figures need all of its models"
    assert not steps(run, "val.tasks.f1/heart"), "so do thresholds"


@pytest.mark.parametrize("per", ["task", "head"])
def test_factors_of_a_balancer_are_tracked_and_kept(table: Callable, suite: Callable, per: str) -> None:
    changes = "architecture=gmhl", "grouping.k=2", f"training.objective={{name: uncertainty, per: {per}}}"
    given = suite(table("t"), f"training.epochs={EPOCHS}", *changes)
    values = []
    for _ in range(2):  # trained, and taken from the store
        tracker = MemoryTracker()
        run_suite(given, Listening(), tracker)
        run = child(tracker)
        keys = {point.key for point in run.points if point.key.startswith(f"train.{per}s.factor/")}
        known = {p.key for p in run.points if p.key.startswith(("train.heads.loss", "val.tasks.f1"))}
        assert {key.rpartition("/")[2] for key in keys} <= {key.rpartition("/")[2] for key in known}
        assert len(keys) == (3 if per == "task" else 2)
        assert all(steps(run, key) == list(range(EPOCHS)) for key in keys)
        values.append({key: [point.value for point in run.history(key)] for key in keys})
    assert values[0] == values[1]


def test_epochs_of_the_last_model_complete_the_plan(table: Callable, suite: Callable) -> None:
    tracker = MemoryTracker()
    changes = ("architecture=stl", f"training.epochs={EPOCHS}")
    with pytest.raises(KeyboardInterrupt):
        run_suite(suite(table("t"), *changes), Stopper(3, 2), tracker)
    run = child(tracker)
    assert steps(run, "val/f1_macro") == steps(run, "train/loss") == [0, 1]


@pytest.mark.parametrize("architecture", ["stl", "gmhl"])
def test_an_interrupted_run_goes_on_and_no_point_stands_twice(
    table: Callable, suite: Callable, architecture: str
) -> None:
    tracker, calm = MemoryTracker(), MemoryTracker()
    made = suite(table("t"), f"architecture={architecture}", f"training.epochs={EPOCHS}")
    with pytest.raises(KeyboardInterrupt):
        run_suite(made, Stopper(1, 2), tracker)
    run_suite(made, ignore, tracker)
    run_suite(made, ignore, tracker)
    assert nothing_twice(tracker)
    run_suite(made, ignore, calm)
    for uid, run in calm.runs.items():
        assert set(run.points) == set(tracker.runs[uid].points)
        assert run.files["tasks.json"] == tracker.runs[uid].files["tasks.json"]


def test_curves_json_holds_every_curve(table: Callable, suite: Callable) -> None:
    tracker = MemoryTracker()
    run_suite(suite(table("t"), "architecture=gmhl", f"training.epochs={EPOCHS}"), ignore, tracker)
    run = child(tracker)
    curves = json.loads(run.files["curves.json"])
    several = {key for key in curves if len(curves[key]) == EPOCHS}
    assert several == set(curves) == {p.key for p in run.points if len(run.history(p.key)) == EPOCHS}
    for key, points in curves.items():
        assert points == [[point.step, point.value] for point in run.history(key)]


def test_other_files_that_a_comparison_reads(table: Callable, suite: Callable) -> None:
    tracker = MemoryTracker()
    run_suite(suite(table("t"), "architecture=gmtl", "evaluation.threshold=per_task"), ignore, tracker)
    run = child(tracker)
    thresholds = json.loads(run.files["thresholds.json"])
    assert thresholds["scope"] == "per_task"
    assert thresholds["values"] == {
        task: run.last(f"test.tasks.threshold/{task}") for task in ("heart", "lung", "bone")
    }
    assert json.loads(run.files["tasks.json"])["documents"] == 12
    for each in tracker.runs.values():
        places = json.loads(each.files["grouping/groups.json"])["map"]
        assert {task: len(place) for task, place in places.items()} == {"heart": 2, "lung": 2, "bone": 2}


class Failing(MemoryTracker):
    """Refuses everything from the second epoch to the model's end."""

    def metrics(self, run: str, metrics: Sequence[Metric]) -> None:
        held = {point.step for point in metrics if point.key == "train/loss"}
        if held == {1}:
            raise TrackingError("the server is away")
        super().metrics(run, metrics)


def test_a_tracker_that_fails_while_a_model_trains_is_told_the_rest_when_it_is_done(
    table: Callable, suite: Callable
) -> None:
    tracker, listener = Failing(), Watcher()
    run_suite(suite(table("t"), "training.epochs=4"), listener, tracker)
    assert [text for text in listener.warned if "server is away" in text] == [
        "nothing is tracked until this model is finished: the server is away."
    ]
    assert sorted(steps(child(tracker), "train/loss")) == [0, 1, 2, 3]
    assert nothing_twice(tracker)


def test_the_ledger_keeps_the_first_timestamp(tmp_path: Path) -> None:
    timestamps = EpochTimestamps(tmp_path / "ledger")
    first = timestamps.timestamp_ms("unit", 0)
    second = timestamps.timestamp_ms("unit", 1)
    assert second >= first > 1_700_000_000_000
    again = EpochTimestamps(tmp_path / "ledger")
    assert (again.timestamp_ms("unit", 0), again.timestamp_ms("unit", 1)) == (first, second)
    assert timestamps.timestamp_ms("other", 0) >= second
    assert (tmp_path / "ledger" / "unit.jsonl").read_text().count("\n") == 2


def test_half_a_line_of_the_ledger_is_passed_over(tmp_path: Path) -> None:
    timestamps = EpochTimestamps(tmp_path)
    (tmp_path / "unit.jsonl").write_text(seal({"epoch": 0, "timestamp_ms": 5}) + '\n{"epo\n')
    assert timestamps.timestamp_ms("unit", 0) == 5
    assert timestamps.timestamp_ms("unit", 1) > 5


def members(tracker: MemoryTracker) -> dict[str, MemoryRun]:
    return {run.spec.name: run for run in tracker.runs.values() if run.spec.kind == "suite member"}


RUNNING = "running/loss", "running/score"


def test_a_member_moves_from_the_first_epoch_and_others_wait(table: Callable, suite: Callable) -> None:
    tracker = MemoryTracker()
    changes = ("matrix.architecture=[mtl, stl]", "data.folds=2", f"training.epochs={EPOCHS}")
    seen: list[dict[str, tuple[str, str]]] = []

    class Looker(Stopper):
        def epoch(self, *event: Any) -> None:
            seen.append(
                {name: (run.status, run.tags["mtlv.state"]) for name, run in members(tracker).items()}
            )
            super().epoch(*event)

    with pytest.raises(KeyboardInterrupt):
        run_suite(suite(table("t"), *changes), Looker(1, 1), tracker)
    assert seen == [{"MTL": ("RUNNING", "training"), "STL": ("SCHEDULED", "waiting")}]
    runs = members(tracker)
    assert {name: run.status for name, run in runs.items()} == {"MTL": "KILLED", "STL": "KILLED"}
    (fold,) = (run for run in tracker.runs.values() if run.spec.kind == "fold")
    assert [steps(runs["MTL"], key) for key in RUNNING] == [[0], [0]]
    assert runs["MTL"].last("running/loss") == fold.last("train/loss")
    assert runs["MTL"].last("running/score") == pytest.approx(fold.last("val/average_precision_macro"))
    assert not steps(runs["MTL"], "val/f1_macro"), "MLflow would draw this value and the mean of both folds"


def test_running_means_are_of_the_last_epochs_of_all_models(table: Callable, suite: Callable) -> None:
    """Three models in each of two folds: they count as many epochs as all of them have."""
    tracker = MemoryTracker()
    changes = ("architecture=stl", "data.folds=2", f"training.epochs={EPOCHS}")
    run_suite(suite(table("t"), *changes), ignore, tracker)
    (parent,) = members(tracker).values()
    folds = [run for run in tracker.runs.values() if run.spec.kind == "fold"]
    tasks = [
        key.rpartition("/")[2]
        for key in {p.key for p in folds[0].points}
        if key.startswith("train.heads.loss/")
    ]
    assert len(tasks) == 3
    for key, prefix in zip(RUNNING, ("train.heads.loss", "val.tasks.average_precision"), strict=True):
        assert steps(parent, key) == list(range(2 * 3 * EPOCHS))
        ends = [fold.last(f"{prefix}/{task}") for fold in folds for task in tasks]
        assert parent.last(key) == pytest.approx(sum(ends) / len(ends))
    first = parent.history("running/loss")[EPOCHS]
    heads = {task: folds[0].history(f"train.heads.loss/{task}") for task in tasks}
    second = [points for points in heads.values() if points[0].timestamp_ms == first.timestamp_ms]
    before = [points for points in heads.values() if points[-1].timestamp_ms < first.timestamp_ms]
    assert first.value == pytest.approx((before[0][-1].value + second[0][0].value) / 2)


def test_the_loss_is_the_mean_over_the_tasks_for_each_architecture(table: Callable, suite: Callable) -> None:
    """With a head for each group a model minimises the sum of their losses, which cannot be compared."""
    tracker = MemoryTracker()
    losses = []

    class Losses(Listening):
        def epoch(self, *event: Any) -> None:
            losses.append(event[3])

    changes = ("architecture=gmhl", "grouping.k=2", f"training.epochs={EPOCHS}")
    run_suite(suite(table("t"), *changes), Losses(), tracker)
    run = child(tracker)
    sizes = {
        head: len(content["tasks"]) for head, content in json.loads(run.files["tasks.json"])["heads"].items()
    }
    assert sorted(sizes.values()) == [1, 2]
    for point, loss in zip(run.history("train/loss"), losses, strict=True):
        of_heads = {head: run.history(f"train.heads.loss/{head}")[point.step].value for head in sizes}
        assert point.value == loss == pytest.approx(sum(of_heads[head] * sizes[head] for head in sizes) / 3)


def test_a_member_is_written_to_at_most_every_few_seconds(
    table: Callable, suite: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: Counter[str] = Counter()

    class Counting(MemoryTracker):
        def metrics(self, run: str, metrics: Sequence[Metric]) -> None:
            calls[self.runs[run].spec.kind] += 1
            super().metrics(run, metrics)

    made = suite(table("t"), "architecture=mtl", "training.epochs=6")
    now = [0.0]
    monkeypatch.setattr(live.time, "monotonic", lambda: now[0])

    def pass_time(event: Event) -> None:
        now[0] += live.WRITE_INTERVAL_SECONDS / 2 if isinstance(event, EpochEnded) else 0

    run_suite(made, pass_time, Counting())
    # Epochs 1, 3 and 5; the end of the model, of the fold run if it adds a mean, and of the member.
    assert 3 + 2 <= calls["suite member"] <= 3 + 3
    assert calls["fold"] >= 6
