"""Models that stop where validation gets no better."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from memory_tracker import MemoryTracker

from mtlv.events import ignore
from mtlv.suite.run import SuiteResult, run_suite
from mtlv.units.criteria import value

PATIENCE = 2


@pytest.fixture
def ran(suite: Callable, table: Callable) -> tuple[SuiteResult, MemoryTracker]:
    changes = (
        "architecture=stl",
        "training.epochs=9",
        f"training.patience={PATIENCE}",
        "training.select=best",
    )
    tracker = MemoryTracker()
    return run_suite(suite(table("t"), *changes), ignore, tracker), tracker


def test_each_model_stops_by_its_own_validation(ran: tuple) -> None:
    result, tracker = ran
    (member,) = result.members
    (found,) = member.outcomes
    tasks = {task.name: task for task in member.resolved.tasks}
    for record in found.records:
        own = [tasks[name] for name in record.validation.tasks]
        values = [value(record.validation_at(e), own, "average_precision") for e in range(len(record.epochs))]
        best = int(np.argmax(values))
        assert record.chosen_epoch == best
        assert len(record.epochs) == min(best + PATIENCE + 1, 9)
    longest = max(len(record.epochs) for record in found.records)
    assert min(len(record.epochs) for record in found.records) < 9
    assert len(found.curve) == longest
    for run in tracker.runs.values():
        places = [(point.key, point.step) for point in run.points]
        assert len(places) == len(set(places))
        curves = [
            point for point in run.points if not point.key.startswith("running/")
        ]  # steps of all models
        assert all(point.step < max(longest, 10) for point in curves)


def test_what_never_gets_better_stops_after_so_many_epochs(suite: Callable, table: Callable) -> None:
    changes = ("training.epochs=9", "training.learning_rate=1e-12", "training.patience=1", "architecture=mtl")
    result = run_suite(suite(table("t"), *changes), ignore, MemoryTracker())
    (record,) = result.members[0].outcomes[0].records
    assert len(record.epochs) == 2
    assert record.chosen_epoch == 1  # `select: last`
