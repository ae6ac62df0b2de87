"""How many processes and threads a suite gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtlv import hardware as machine
from mtlv.errors import ConfigError
from mtlv.execution import allocation as sharing
from mtlv.execution.allocation import CpuAllocation, share, share_lines
from mtlv.settings import load_overrides
from mtlv.settings.schema import ExecutionSettings


def asked(processes: int | str = "auto", threads: int | str = "auto") -> ExecutionSettings:
    given = {"processes": processes, "threads": threads}
    suite = load_overrides([f"execution.{key}={value}" for key, value in given.items()])
    return suite.members[0].settings.execution


@pytest.mark.parametrize(
    ("execution", "most", "found"),
    [
        (asked(), 1, CpuAllocation(1, None)),
        (asked(), 3, CpuAllocation(3, 2)),
        (asked(), 8, CpuAllocation(8, 1)),
        (asked(4), 1, CpuAllocation(4, 2)),
        (asked(16), 1, CpuAllocation(16, 1)),
        (asked(1), 8, CpuAllocation(1, None)),
        (asked(1, 3), 8, CpuAllocation(1, 3)),
        (asked("auto", 4), 8, CpuAllocation(2, 4)),
        (asked("auto", 16), 8, CpuAllocation(1, 16)),
    ],
)
def test_eight_cores_are_shared(
    monkeypatch: pytest.MonkeyPatch, execution: ExecutionSettings, most: int, found: CpuAllocation
) -> None:
    monkeypatch.setattr(sharing, "cores", lambda: 8)
    assert share(execution, most) == found


def test_more_than_there_is_is_allowed_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "cores", lambda: 2)
    assert share_lines(asked(4), 10) == [
        "trained by 4 processes of 1 thread each of 2 cores",
        "warning: `execution` uses 4 threads on 2 cores: they share the cores, and all of them need memory",
    ]
    (line,) = share_lines(asked(), 10)
    assert line.startswith("trained by up to 2 processes of 1 thread each of 2 cores")
    assert share_lines(asked(), 1) == ["trained by one process of 2 cores"]


@pytest.mark.parametrize(
    "wrong",
    [
        "execution.processes=0",
        "execution.threads=half",
        "execution.engine=mpi",
    ],
)
def test_wrong_values_are_refused(wrong: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load_overrides([wrong])
    assert wrong.partition("=")[0].partition(".")[2] in str(raised.value)


def test_cores_are_what_this_process_may_use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(machine, "_allowed", lambda: [0, 1, 2, 3])
    monkeypatch.setattr(machine, "CPUS", tmp_path / "cpu")
    monkeypatch.setattr(machine, "GROUP", tmp_path)
    assert machine.cores() == 4
    for cpu in range(4):  # two threads of each core
        place = tmp_path / "cpu" / f"cpu{cpu}" / "topology"
        place.mkdir(parents=True)
        (place / "thread_siblings_list").write_text(f"{cpu % 2},{cpu % 2 + 2}\n")
    assert machine.cores() == 2
    (tmp_path / "cpu.max").write_text("100000 100000\n")
    assert machine.cores() == 1
    (tmp_path / "cpu.max").write_text("max 100000\n")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert (machine.cores(), machine.all_cores()) == (1, 2)


def test_free_memory_is_what_the_container_has_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine, "GROUP", tmp_path)
    (tmp_path / "memory.max").write_text("3000\n")
    (tmp_path / "memory.current").write_text("1000\n")
    assert machine.free_memory() == 2000
