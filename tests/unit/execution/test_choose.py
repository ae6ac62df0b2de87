"""How many processes a suite gets, before anything is measured, and who decides about more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from mtlv.execution import choose
from mtlv.execution.concurrency import AdaptiveConcurrency, Concurrency
from mtlv.execution.local import LocalExecutor
from mtlv.execution.process_pool import PoolExecutor
from mtlv.planning.resolve import resolve
from mtlv.settings import load_overrides
from mtlv.store.local import Store
from mtlv.units.input_cache import InputCache

CPU, GPU, OTHER = torch.device("cpu"), torch.device("cuda", 0), torch.device("cuda", 1)


@pytest.mark.parametrize(
    ("processes", "devices", "kind"),
    [
        ("auto", {CPU}, Concurrency),
        ("auto", {GPU}, AdaptiveConcurrency),
        ("auto", {CPU, GPU}, AdaptiveConcurrency),
        ("3", {CPU}, Concurrency),
        ("3", {GPU}, Concurrency),
    ],
)
def test_only_what_is_left_open_on_a_gpu_is_measured(
    monkeypatch: pytest.MonkeyPatch, processes: str, devices: set[torch.device], kind: type
) -> None:
    monkeypatch.setattr(choose, "_free_on", lambda _: 1)
    execution = load_overrides([f"execution.processes={processes}"]).members[0].settings.execution
    concurrency = choose.concurrency_of(execution, devices, 3, "why")
    assert type(concurrency) is kind
    assert concurrency.most == 3


def test_the_least_of_cores_and_memories_is_the_most(
    monkeypatch: pytest.MonkeyPatch, table: Callable, suite: Callable
) -> None:
    cache = InputCache()
    jobs = list(resolve(cache, suite(table("t")).members[0]).jobs)
    free = {GPU: 20e9, OTHER: 8e9}
    monkeypatch.setattr(choose, "_free_on", free.__getitem__)
    monkeypatch.setattr(choose, "free_memory", lambda: 100e9)
    assert choose._limits(cache, jobs, {GPU}, 16)[0][0] == 1  # too little work
    monkeypatch.setattr(choose, "WORTH", 0.0)
    assert min(choose._limits(cache, jobs, {CPU}, 16)) == (16, choose.CORES)
    most, why = min(choose._limits(cache, jobs, {GPU, OTHER}, 16))
    assert 3 <= most <= 5  # 6.4 GB that are planned with, 1.2 GB and `tiny` each
    assert why.startswith("the device's memory")
    monkeypatch.setattr(choose, "free_memory", lambda: 2e9)
    assert min(choose._limits(cache, jobs, {GPU}, 16)) == (1, "the main memory may not be enough for more")


def test_a_limit_of_threads_is_none_of_processes_on_a_gpu(
    monkeypatch: pytest.MonkeyPatch, table: Callable, suite: Callable, tmp_path: Path
) -> None:
    cache = InputCache()
    member = resolve(cache, suite(table("t"), "architecture=stl").members[0])
    monkeypatch.setattr(choose, "cores", lambda: 1)
    monkeypatch.setattr(choose, "all_cores", lambda: 8)
    monkeypatch.setattr(choose, "_free_on", lambda _: 80e9)
    monkeypatch.setattr(choose, "WORTH", 0.0)
    told: list[str] = []
    for device, kind in ((CPU, LocalExecutor), (GPU, PoolExecutor)):
        monkeypatch.setattr("mtlv.training.optim.resolve_device", lambda _, device=device: device)
        found = choose.executor_of(
            cache, Store(tmp_path / "store"), lambda event: told.append(event.text), [list(member.jobs)]
        )
        assert type(found) is kind
    assert told == [
        "units are trained by one process at first, then by up to 3 processes of 1 thread each, as long as "
        "one more increases the total speed"
    ]


def test_a_device_that_cannot_be_asked_has_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: torch.device) -> tuple[int, int]:
        raise RuntimeError("CUDA error: out of memory")

    monkeypatch.setattr(torch.cuda, "mem_get_info", full)
    assert choose._free_on(GPU) == 0


def test_threads_of_a_suite_end_with_it(tmp_path: Path, table: Callable, suite: Callable) -> None:
    cache, before = InputCache(), torch.get_num_threads()
    changes = ("execution.processes=1", f"execution.threads={before + 1}")
    member = resolve(cache, suite(table("t"), *changes).members[0])
    with choose.executor_of(cache, Store(tmp_path / "store"), lambda _: None, [list(member.jobs)]):
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before
