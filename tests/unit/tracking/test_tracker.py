"""The trackers without a store keep the protocol."""

from __future__ import annotations

from memory_tracker import MemoryTracker

from mtlv.tracking import Metric, NullTracker, RunSpec, Tracker


def test_all_are_trackers():
    assert isinstance(MemoryTracker(), Tracker)
    assert isinstance(NullTracker(), Tracker)


def test_null_takes_everything(tmp_path):
    tracker = NullTracker()
    run = tracker.open_run(RunSpec("u", "name"))
    tracker.metrics(run, [Metric("a", 1.0)])
    tracker.artifact(run, tmp_path / "nothing")
    tracker.text(run, "x", "y")
    tracker.tags(run, {})
    tracker.close(run)
