"""A unit that several ranks train: as one device would, and nothing hangs or is lost whatever dies."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from listening import Watcher, interrupt
from memory_tracker import MemoryTracker
from what_came import children, files

from mtlv import processes
from mtlv.errors import ConfigError, DeviceError, TrainingError
from mtlv.events import ignore
from mtlv.planning.check import check_suite
from mtlv.processes import ChildProcess
from mtlv.store.local import Store
from mtlv.store.records import UnitRecord
from mtlv.suite.run import run_suite
from mtlv.training.group import ProcessGroup
from mtlv.units import distributed
from mtlv.units.distributed import RankDied, RankGroup, train_on_devices
from mtlv.units.rank_process import RankConfig, Ready

RANK = "mtlv.units.rank_process"
TWO = ("execution.devices_per_unit=2", "execution.processes=1", "execution.threads=2")
ONE = ("execution.processes=1", "execution.threads=1")


def record_of(store: Path) -> UnitRecord:
    (folder,) = (store / "units").glob("*/")
    return Store(store).load(folder.name)


# ---- Real ranks ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_rank_that_is_killed_changes_nothing(table: Callable, suite: Callable, tmp_path: Path) -> None:
    """All go on from the last checkpoint: the same, bit for bit, also with dropout."""

    killed: list[int] = []

    def kill() -> None:
        if not killed:
            killed.extend(children(RANK))
            (rank,) = killed
            os.kill(rank, signal.SIGKILL)

    changes = ("encoder.dropout=0.2", "store.checkpoint_steps=1", "training.select=best", *TWO)
    path, listener = table("t"), Watcher(kill)
    for store, observer in (("undisturbed", ignore), ("killed", listener)):
        assert not run_suite(suite(path, *changes, store=store), observer, MemoryTracker()).failed
    assert any("rank 1 of 2 ended" in text for text in listener.warned)
    assert any("resumes after step" in text for text in listener.notes)
    assert files(tmp_path / "killed") == files(tmp_path / "undisturbed")
    assert record_of(tmp_path / "killed").device == "cpu (2 ranks of 1 thread)"
    assert not children(RANK)


def test_two_ranks_that_are_interrupted_go_on_as_one(
    table: Callable, suite: Callable, tmp_path: Path
) -> None:
    """By Ctrl-C, which ends them at once; the scores are those of one device within a hundredth."""

    probe = "training.probe={every: 2, scope: top:1}"
    path, changes = table("t"), ("encoder.dropout=0", "store.checkpoint_steps=1", probe)
    with pytest.raises(KeyboardInterrupt):
        run_suite(suite(path, *changes, *TWO, store="both"), Watcher(interrupt), MemoryTracker())
    assert not children(RANK)
    listener = Watcher()
    run_suite(suite(path, *changes, *ONE, store="both"), listener, MemoryTracker())
    assert any("resumes after step" in text for text in listener.notes)
    run_suite(suite(path, *changes, *ONE, store="one"), ignore, MemoryTracker())
    found, expected = record_of(tmp_path / "both"), record_of(tmp_path / "one")
    assert found.key == expected.key
    for one, other in zip(found.epochs, expected.epochs, strict=True):
        assert one.loss == pytest.approx(other.loss, rel=1e-2)
        assert one.documents == other.documents
    for name, scores in expected.test.tasks.items():
        np.testing.assert_allclose(found.test.tasks[name].outputs, scores.outputs, atol=1e-2)
    assert found.probe is not None
    assert expected.probe is not None
    assert found.probe.probes == expected.probe.probes, "each rank repeats them"
    np.testing.assert_allclose(found.probe.affinity, expected.probe.affinity, rtol=0.1, atol=1e-2)


def test_a_rank_ends_with_the_process_that_called_it(
    table: Callable, suite: Callable, tmp_path: Path
) -> None:
    """Also while it waits for the others."""
    from mtlv.planning.resolve import resolve
    from mtlv.units.input_cache import InputCache

    base = suite(table("t"), *TWO)
    store = Store(tmp_path / "store")
    cache = InputCache(store)
    job = next(iter(resolve(cache, base.members[0]).jobs))
    inputs = cache.inputs(job.settings)
    child = ChildProcess("mtlv.units.rank_process")
    call = RankConfig(job, inputs, tmp_path / "checkpoints", 1, 2, tmp_path / "meeting", "cpu", 1)
    child.send(call)
    assert child.receive() == Ready()
    child.finish()
    assert child.process.wait(30) == 1
    child.end()


# ---- Ranks made up ---------------------------------------------------------------------------------------


def saying(monkeypatch: pytest.MonkeyPatch, *programs: str) -> RankGroup:
    """Processes that say something, each by a line of Python, and end."""
    begin = (
        "import pickle, sys, os, time\n"
        "from mtlv.errors import DeviceError\n"
        "from mtlv.units.rank_process import Crashed, Done, Failed, Ready\n"
        "def say(said):\n"
        "    sys.stdout.buffer.write(pickle.dumps(said)); sys.stdout.buffer.flush()\n"
    )
    left = list(programs)

    def started(*_: object, **__: object) -> subprocess.Popen[bytes]:
        code = begin + left.pop(0)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        return subprocess.Popen([sys.executable, "-c", code], **pipes)  # type: ignore[call-overload]

    monkeypatch.setattr(processes, "_begin", started)
    world = len(programs) + 1
    calls: list[Any] = [SimpleNamespace(rank=rank, threads=1) for rank in range(1, world)]
    return RankGroup(calls, lambda: None)


LASTS = "; time.sleep(600)"


def test_a_rank_that_cannot_begin_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    found = saying(monkeypatch, f"say(Ready()){LASTS}", "os._exit(3)")
    with pytest.raises(RankDied, match=r"rank 2 of 3 ended \(exit code 3\)"):
        found.await_ready()
    assert found.broken.wait(10)
    found.end()
    with pytest.raises(RuntimeError, match="has ended"):  # no checkpoint is written any more
        ProcessGroup(0, 3, 0, found.broken).need_all()


@pytest.mark.parametrize(
    ("programs", "kind", "text"),
    [
        (
            ["say(Ready()); say(Crashed('Traceback\\nRuntimeError: peer'))", "os._exit(9)"],
            RankDied,
            "rank 2 of 3 ended .exit code 9",
        ),
        (
            ["say(Failed(DeviceError('no such device')))", f"say(Crashed('Closed')){LASTS}"],
            DeviceError,
            "no such device",
        ),
        (
            ["say(Crashed('Traceback\\nValueError: x'))", "say(Done())"],
            RankDied,
            "ValueError: x",
        ),
    ],
)
def test_the_cause_is_told_and_not_what_came_of_it(
    programs: list[str], kind: type[Exception], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = saying(monkeypatch, *programs)
    cause = found.cause()
    found.end()
    assert isinstance(cause, kind)
    assert re.search(text, str(cause))


def test_where_no_other_rank_failed_the_fault_is_this_one_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed, "CAUSE", 0.1)
    found = saying(monkeypatch, f"say(Ready()){LASTS}")
    found.await_ready()
    assert found.cause() is None
    found.end()


def tries(monkeypatch: pytest.MonkeyPatch, *ends: object) -> tuple[list[str], Callable[[], object]]:
    """What was warned of, and a unit whose tries end so."""
    left, warnings = list(ends), Watcher()

    def together(*_: object) -> object:
        end = left.pop(0)
        if isinstance(end, Exception):
            raise end
        return end

    monkeypatch.setattr(distributed, "_together", together)
    execution = SimpleNamespace(execution=SimpleNamespace(devices_per_unit=2))
    job: Any = SimpleNamespace(name="unit", settings=execution)
    callbacks: Any = SimpleNamespace(on_event=warnings)
    given: Any = (job, None, callbacks, lambda: None, None)
    return warnings.warned, lambda: train_on_devices(*given)


def test_a_lost_rank_is_made_good_once(monkeypatch: pytest.MonkeyPatch) -> None:
    warnings, unit = tries(monkeypatch, RankDied("rank 1 of 2 ended (SIGKILL)"), "trained")
    assert unit() == "trained"
    assert warnings == ["unit: rank 1 of 2 ended (SIGKILL); all its ranks resume from its last checkpoint"]
    _, unit = tries(monkeypatch, RankDied("one"), RankDied("rank 1 of 2 ended (SIGKILL)"), "trained")
    with pytest.raises(TrainingError, match=r"`unit`: a rank was lost 2 times \(got rank 1 .*SIGKILL"):
        unit()


def test_an_error_of_the_user_s_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    _, unit = tries(monkeypatch, DeviceError("no such device"), "trained")
    with pytest.raises(DeviceError):
        unit()


# ---- What is refused before ------------------------------------------------------------------------------


def test_pieces_of_batches_are_refused(table: Callable, suite: Callable) -> None:
    with pytest.raises(ConfigError, match=r"auto_batch.*would leave the others waiting"):
        suite(table("t"), *TWO, "training.auto_batch=true")


def test_more_ranks_than_devices_are_refused(
    table: Callable, suite: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (8, 0))
    with pytest.raises(ConfigError, match=r"`execution.devices_per_unit` \(got 2\); allowed: 1 to 1"):
        check_suite(suite(table("t"), *TWO, "training.device=auto"))
    check_suite(suite(table("t"), *TWO))  # on a processor
