"""Processor cores, memory and threads of this process; its import does not import PyTorch."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CPUS = Path("/sys/devices/system/cpu")
GROUP = Path("/sys/fs/cgroup")


def cores() -> int:
    """Return the number of physical cores for the threads of this process: at most `OMP_NUM_THREADS`."""
    threads = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return min(all_cores(), int(threads)) if threads.isdigit() and int(threads) else all_cores()


def all_cores() -> int:
    """Return the number of physical cores that this process may use by its affinity and its container."""
    count, quota = len({_siblings(cpu) for cpu in _allowed()}), _quota()
    return max(1, count if quota is None else min(count, quota))


def free_memory() -> int | None:
    """Return the bytes available without swapping, in the machine and in its container; None if unknown."""
    limits = [number for number in (_available(), _left_in_group()) if number is not None]
    return min(limits) if limits else None


def _allowed() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _siblings(cpu: int) -> str:
    """Return the same text for the threads of one core."""
    return _text(CPUS / f"cpu{cpu}" / "topology" / "thread_siblings_list") or str(cpu)


def _quota() -> int | None:
    quota, _, period = (_text(GROUP / "cpu.max") or "max").partition(" ")
    return int(quota) // int(period) if quota.isdigit() and period.isdigit() else None


def _available() -> int | None:
    for line in (_text(Path("/proc/meminfo")) or "").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _left_in_group() -> int | None:
    most, used = _text(GROUP / "memory.max"), _text(GROUP / "memory.current")
    return int(most) - int(used) if most and used and most.isdigit() and used.isdigit() else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None


@contextmanager
def compute_threads(count: int | None) -> Iterator[None]:
    """Set PyTorch's threads of this process until the exit; None leaves them as they are."""
    if count is None:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
