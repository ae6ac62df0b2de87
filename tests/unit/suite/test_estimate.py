"""How long a suite takes is measured before it starts, which changes no result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from memory_tracker import MemoryTracker

from mtlv.events import Event, NoteGiven, SuiteStarted, UnitTime, ignore
from mtlv.planning.resolve import resolve
from mtlv.store.local import Store
from mtlv.suite import estimate
from mtlv.suite.run import run_suite
from mtlv.units.input_cache import InputCache
from mtlv.units.timing import TokenTime


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure short suites, too."""
    monkeypatch.setattr(estimate, "LEAST_OPERATIONS", 0.0)


@pytest.mark.usefixtures("always")
def test_measuring_changes_no_score_and_no_random_state(
    table: Callable, suite: Callable, tmp_path: Path
) -> None:
    plain, measured = tmp_path / "plain", tmp_path / "measured"
    made = suite(table("t"), "architecture=stl", "training.epochs=2", f"store.uri={plain}")
    run_suite(made, ignore, MemoryTracker())
    events: list[Event] = []
    made = suite(table("t"), "architecture=stl", "training.epochs=2", f"store.uri={measured}")
    torch.manual_seed(1)
    before = torch.get_rng_state()
    run_suite(made, events.append, MemoryTracker(), measures_time=True)
    assert torch.equal(before, torch.get_rng_state())
    stores = [Store(plain), Store(measured)]
    keys = [sorted(path.name for path in store.units.iterdir()) for store in stores]
    assert keys[0] == keys[1]
    for key in keys[0]:
        first, second = (store.load(key) for store in stores)
        assert [epoch.loss for epoch in first.epochs] == [epoch.loss for epoch in second.epochs]
    (started,) = [event for event in events if isinstance(event, SuiteStarted)]
    assert started.measured
    assert len(started.times) == started.units
    assert all(time.epochs == 2 and time.epoch > 0 for time in started.times.values())
    notes = [event.text for event in events if isinstance(event, NoteGiven)]
    assert any(text.startswith("training takes about ") for text in notes)
    events.clear()
    run_suite(made, events.append, MemoryTracker(), measures_time=True)
    (started,) = [event for event in events if isinstance(event, SuiteStarted)]
    assert not started.measured, "all is in the store"


def test_a_short_suite_is_not_measured(table: Callable, suite: Callable) -> None:
    events: list[Event] = []
    run_suite(suite(table("t"), "training.epochs=1"), events.append, MemoryTracker(), measures_time=True)
    (started,) = [event for event in events if isinstance(event, SuiteStarted)]
    assert not started.measured
    assert all(time.epoch > 0 for time in started.times.values()), "documents tell what epochs take"


def test_a_unit_takes_its_tokens_of_each_part(table: Callable, suite: Callable) -> None:
    cache = InputCache()
    job = next(resolve(cache, suite(table("t"), "training.epochs=3").members[0]).jobs)
    inputs = cache.inputs(job.settings)
    lengths, fold = inputs.tokens.lengths, job.fold
    time = TokenTime(train=10.0, predict=1.0).of_unit("k", job, inputs)
    assert time == UnitTime(
        "k", 3, 10.0 * lengths[fold.train].sum() + lengths[fold.validation].sum(), lengths[fold.test].sum()
    )
    loaded = TokenTime(train=10.0, predict=1.0, first=2.0, busy=0.5).under_load(3.0)
    assert (loaded.train, loaded.predict, loaded.first) == (15.0, 1.5, 3.0)


def test_long_suites_are_told_what_makes_them_quicker(
    table: Callable, suite: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimate, "known_layers", lambda _: 6)
    resolved = resolve(InputCache(), suite(table("t"), "architecture=mtl").members[0])
    jobs = list(resolved.jobs)
    times = {job.name: UnitTime("a", 10, 90.0) for job in jobs} | {"other": UnitTime("a", 10, 90.0)}
    started = SuiteStarted(2, 0, {}, times, measured=True)
    lines = estimate.time_lines(started, [*jobs, replace(jobs[0], name="other")], [resolved])
    assert "about 30 min" in lines[0]
    assert "`encoder.frozen_layers=4` of 6 takes about 10 min" in lines[1]
    assert "`training.patience=2`" in lines[2]
    assert "alone takes about 15 min" in lines[3]
    short = replace(started, times={name: UnitTime("a", 1, 90.0) for name in times})
    assert len(estimate.time_lines(short, jobs, [resolved])) == 1
