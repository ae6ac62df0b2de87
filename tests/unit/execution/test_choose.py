"""How many processes a suite gets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from listening import Watcher

from mtlv.execution import allocation, choose
from mtlv.execution.executor import Executor
from mtlv.execution.helped import HelpedExecutor
from mtlv.execution.local import LocalExecutor
from mtlv.execution.stacking import StackingExecutor
from mtlv.planning.resolve import resolve
from mtlv.store.local import Store
from mtlv.units.input_cache import InputCache


@pytest.fixture
def chosen(
    monkeypatch: pytest.MonkeyPatch, table: Callable, suite: Callable, tmp_path: Path
) -> Callable[..., tuple[Executor, Watcher]]:
    """The executor of two units on a machine of eight cores."""

    def choose_for(*changes: str, device: str = "cpu", free: float = 100e9) -> tuple[Executor, Watcher]:
        monkeypatch.setattr(allocation, "cores", lambda: 8)
        monkeypatch.setattr(choose, "free_memory", lambda: free)
        monkeypatch.setattr("mtlv.training.optim.resolve_device", lambda _: torch.device(device))
        cache, watcher = InputCache(), Watcher()
        jobs = resolve(cache, suite(table("t"), "architecture=stl", *changes).members[0]).jobs
        return choose.executor_of(cache, Store(tmp_path / "store"), watcher, [list(jobs)]), watcher

    return choose_for


@pytest.mark.parametrize(
    ("changes", "device", "free", "kind"),
    [
        (("training.epochs=1000",), "cpu", 100e9, HelpedExecutor),
        (("training.epochs=1000", "execution.stack=auto"), "cuda", 100e9, StackingExecutor),
        (("training.epochs=1000",), "cuda", 100e9, LocalExecutor),
        (("training.epochs=1000", "execution.stack=4"), "cpu", 100e9, StackingExecutor),
        (("training.epochs=1000",), "cpu", 6e9, LocalExecutor),
        (("training.epochs=1000", "execution.threads=8"), "cpu", 100e9, LocalExecutor),
        (("training.epochs=1",), "cpu", 100e9, LocalExecutor),
        (("training.epochs=1", "execution.processes=2"), "cpu", 6e9, HelpedExecutor),
        (("training.epochs=1", "execution.processes=2"), "cuda", 100e9, HelpedExecutor),
    ],
)
def test_auto_is_several_processes_for_much_work_on_cpus_with_memory_and_cores(
    chosen: Callable, changes: tuple[str, ...], device: str, free: float, kind: type[Executor]
) -> None:
    executor, watcher = chosen(*changes, device=device, free=free)
    assert type(executor) is kind
    assert bool(watcher.notes) == (kind is HelpedExecutor)


def test_several_processes_train_no_stacks_and_say_so(chosen: Callable) -> None:
    executor, watcher = chosen("execution.processes=2", "execution.stack=4")
    assert type(executor) is HelpedExecutor
    assert sum("`execution.stack`" in note for note in watcher.notes) == 1


def test_units_that_wait_for_each_other_get_one_process(chosen: Callable) -> None:
    stages = "stages=[{name: one, architecture: mtl}, {name: two, architecture: mtl}]"
    executor, _ = chosen("architecture=mtl", "training.epochs=1000", stages)
    assert type(executor) is LocalExecutor


def test_threads_of_a_suite_end_with_it(chosen: Callable) -> None:
    before = torch.get_num_threads()
    executor, _ = chosen("execution.processes=1", f"execution.threads={before + 1}")
    with executor:
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before
