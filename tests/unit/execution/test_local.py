"""Which unit this process trains next, and when its error is raised."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from listening import Watcher
from made_up_units import MadeUpRunner, Shelf, made_up_job

from mtlv.errors import TrainingError
from mtlv.execution import local
from mtlv.execution.local import LocalExecutor
from mtlv.units.job import Job


def ignore_epoch(*_: object) -> None:
    pass


def executor_of(
    jobs: Sequence[Job], train_one: Callable[[Job], None] = lambda _: None
) -> tuple[LocalExecutor, Shelf, Watcher]:
    shelf, watcher = Shelf(), Watcher()
    runner = MadeUpRunner(None, shelf, watcher, frozenset(), train_one)  # type: ignore[arg-type]
    return LocalExecutor(runner, jobs), shelf, watcher


def test_the_next_unit_is_the_first_expected_one_that_is_free_and_ready() -> None:
    first = made_up_job("first")
    other, last = made_up_job("other"), made_up_job("last")
    jobs = [first, made_up_job("after", first, start=other), made_up_job("unexpected"), other, last]
    executor, shelf, _ = executor_of(jobs)
    executor.expect([*jobs, last])
    executor.give_up([jobs[2], last])  # another member expects the last one
    shelf.finished.append("first")
    with shelf.locks["other"]:  # another process has it
        assert executor.train_next()
    assert shelf.finished == ["first", "last"]
    while executor.train_next():
        pass
    assert shelf.finished == ["first", "last", "other", "after"]
    assert executor.has_unfinished()
    executor.expect(jobs)
    while executor.train_next():
        pass
    assert not executor.has_unfinished()


def test_while_another_process_has_the_requested_unit_others_are_trained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    jobs = [made_up_job(key) for key in "abc"]
    executor, shelf, watcher = executor_of(jobs)
    executor.expect(jobs)
    shelf.locks["a"].acquire()

    def finish(_: float) -> None:
        assert shelf.finished == ["b", "c"]
        shelf.finished.append("a")

    monkeypatch.setattr(local.time, "sleep", finish)
    assert [executor.run(job, ignore_epoch) for job in jobs] == ["a", "b", "c"]
    assert watcher.ended == ["unit b", "unit c"]
    assert watcher.found == ["unit a"]
    (note,) = watcher.notes
    assert note.startswith("unit a: another is training it")


def test_the_error_of_a_unit_trained_ahead_is_raised_when_it_is_requested() -> None:
    """By each member that requests it; it is not trained again."""
    tried: list[str] = []

    def train_one(job: Job) -> None:
        tried.append(job.unit.key)
        if job.unit.key == "b":
            raise TrainingError("the loss is not finite")

    jobs = [made_up_job(key) for key in "abc"]
    executor, _, watcher = executor_of(jobs, train_one)
    executor.expect(jobs)
    while executor.train_next():
        pass
    assert executor.run(jobs[0], ignore_epoch) == "a"
    for _ in range(2):
        with pytest.raises(TrainingError, match="not finite"):
            executor.run(jobs[1], ignore_epoch)
    assert executor.run(jobs[2], ignore_epoch) == "c"
    assert tried == ["a", "b", "c"]
    assert watcher.failed == ["unit b"]
    assert watcher.ended == ["unit a", "unit c"]
