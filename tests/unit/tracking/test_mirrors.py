from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mtlv.tracking import Metric, NullTracker, RunSpec, Tracker
from mtlv.tracking.mirrors import mirrored

ROOT = Path(__file__).resolve().parents[3]


class Recorder(NullTracker):
    """Notes runs, metrics and ends; metrics of step `fails_at` are an error."""

    def __init__(self, fails_at: int = -1) -> None:
        self.calls: list[object] = []
        self.fails_at = fails_at

    def open_run(self, spec: RunSpec) -> str:
        self.calls.append(spec.name)
        return spec.uid

    def metrics(self, run: str, metrics: Sequence[Metric]) -> None:
        if metrics[0].step == self.fails_at:
            raise OSError("disk full")
        self.calls.append((run, metrics[0].step))


def track(tracker: Tracker) -> None:
    run = tracker.open_run(RunSpec("u1", "MTL"))
    for step in range(3):
        tracker.metrics(run, [Metric("val/f1_macro", 0.5, step)])
    tracker.close(run)


def broken() -> Tracker:
    raise RuntimeError("no login")


def test_every_call_is_repeated() -> None:
    main, mirror = Recorder(), Recorder()
    track(mirrored(main, {"mirror": lambda: mirror}, print))
    assert main.calls == mirror.calls == ["MTL", ("u1", 0), ("u1", 1), ("u1", 2)]


def test_a_mirror_that_fails_is_left_out_with_one_warning() -> None:
    main, failing, other = Recorder(), Recorder(fails_at=1), Recorder()
    makers: dict[str, Callable[[], Tracker]] = {"bad": lambda: failing, "none": broken, "good": lambda: other}
    warnings: list[str] = []
    track(mirrored(main, makers, warnings.append))
    assert main.calls == other.calls == ["MTL", ("u1", 0), ("u1", 1), ("u1", 2)]
    assert failing.calls == ["MTL", ("u1", 0)]
    assert ["`none`" in warnings[0], "no login" in warnings[0]] == [True, True]
    assert ["`bad`" in warnings[1], "disk full" in warnings[1]] == [True, True]
    assert len(warnings) == 2


def test_without_mirrors_the_tracker_is_used_as_it_is() -> None:
    main = Recorder()
    assert mirrored(main, {}, print) is main


def test_the_mirror_to_tensorboard_of_the_documentation(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []

    class SummaryWriter:
        def __init__(self, folder: str) -> None:
            calls.append(folder)

        def add_scalar(self, tag: str, value: float, step: int, walltime: float) -> None:
            calls.append((tag, value, step, walltime))

        def close(self) -> None:
            calls.append("closed")

    package = ModuleType("torch.utils.tensorboard")
    vars(package)["SummaryWriter"] = SummaryWriter
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", package)
    page = (ROOT / "docs" / "tracking.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(example, names)
    mirror = mirrored(Recorder(), {"tensorboard": names["TensorBoard"]}, pytest.fail)
    mirror.open_run(RunSpec("u1", "MTL", waiting=True))
    run = mirror.open_run(RunSpec("u1", "MTL"))
    mirror.metrics(run, [Metric("val/f1_macro", 0.5, 2, 3000)])
    mirror.text(run, "", "notes.txt")
    mirror.close(run)
    assert calls == ["tensorboard/MTL/u1", ("val/f1_macro", 0.5, 2, 3.0), "closed"]
