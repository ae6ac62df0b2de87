"""The trackers without a store keep the protocol."""

from __future__ import annotations

import pytest
from memory_tracker import MemoryTracker

from mtlv.errors import TrackingError
from mtlv.tracking import Metric, NullTracker, RunSpec, Tracker


def test_all_are_trackers():
    assert isinstance(MemoryTracker(), Tracker)
    assert isinstance(NullTracker(), Tracker)


def test_memory_keeps_what_it_is_told(tmp_path):
    tracker = MemoryTracker()
    run = tracker.open_run(RunSpec("u", "name", params={"a": 1}, tags={"t": "1"}))
    for _ in range(2):
        tracker.metrics(run, [Metric("f1", 0.1, 0, 5), Metric("f1", 0.2, 1, 6)])
    (tmp_path / "plot.png").write_bytes(b"png")
    tracker.artifact(run, tmp_path / "plot.png")
    tracker.artifact(run, tmp_path, "folder")
    tracker.text(run, "é", "a/b.txt")
    tracker.tags(run, {"t": "2"})
    tracker.close(run, "KILLED")
    kept = tracker.runs[run]
    assert (kept.status, kept.params, kept.tags) == ("KILLED", {"a": "1"}, {"t": "2"})
    assert (len(kept.history("f1")), kept.last("f1")) == (2, 0.2)
    assert set(kept.files) == {"plot.png", "folder/plot.png", "a/b.txt"}


def test_memory_takes_a_run_up_again_and_its_params_stay():
    tracker = MemoryTracker()
    run = tracker.open_run(RunSpec("u", "name", params={"a": 1}))
    tracker.close(run)
    assert tracker.open_run(RunSpec("u", "name", params={"a": 2, "b": 3})) == run
    assert (tracker.runs[run].params, tracker.runs[run].status) == ({"a": "1", "b": "3"}, "RUNNING")


def test_memory_refuses_what_mlflow_refuses(tmp_path):
    tracker = MemoryTracker()
    run = tracker.open_run(RunSpec("u", "name"))
    with pytest.raises(TrackingError, match="a metric key"):
        tracker.metrics(run, [Metric("good", 1.0), Metric("a,b", 1.0)])
    assert not tracker.runs[run].points
    with pytest.raises(TrackingError, match="there is no run `nowhere`; open it first"):
        tracker.metrics("nowhere", [])
    with pytest.raises(TrackingError, match="does not exist"):
        tracker.artifact(run, tmp_path / "nothing")


def test_null_takes_everything(tmp_path):
    tracker = NullTracker()
    run = tracker.open_run(RunSpec("u", "name"))
    tracker.metrics(run, [Metric("a", 1.0)])
    tracker.artifact(run, tmp_path / "nothing")
    tracker.text(run, "x", "y")
    tracker.tags(run, {})
    tracker.close(run)
