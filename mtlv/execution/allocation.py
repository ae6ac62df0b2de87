"""Processes and threads from the `execution` section; does not import PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtlv.execution.ray.cluster import need_ray, request_of
from mtlv.formatting import many
from mtlv.hardware import cores

if TYPE_CHECKING:
    from mtlv.settings.schema import ExecutionSettings


@dataclass(frozen=True)
class CpuAllocation:
    """Processes and the threads of each; None leaves the threads to PyTorch."""

    processes: int
    threads: int | None

    @property
    def words(self) -> str:
        """Description for users."""
        if self.processes == 1:
            return "one process" + ("" if self.threads is None else f" of {many(self.threads, 'thread')}")
        return f"{self.processes} processes of {many(self.threads or 1, 'thread')} each"


def share(execution: ExecutionSettings, most: int) -> CpuAllocation:
    """Return the requested processes and threads, with at most `most` processes for `auto`."""
    most = min(most, cores() // (1 if execution.threads == "auto" else execution.threads))
    processes = max(1, most) if execution.processes == "auto" else execution.processes
    if execution.threads != "auto":
        return CpuAllocation(processes, execution.threads)
    return CpuAllocation(processes, None if processes == 1 else max(1, cores() // processes))


def share_lines(execution: ExecutionSettings, units: int) -> list[str]:
    """Return the lines of `mtlv check`, before the requirements of the models are known.

    Raises:
        ClusterError: the engine's package is not installed.
    """
    if execution.engine == "ray":
        need_ray()
        request, threads = request_of(execution, ())
        where = execution.address or "a cluster started here"
        return [f"trained by Ray on {where}, each unit with {request.words} and {many(threads, 'thread')}"]
    here = cores()
    allocation = share(execution, min(here, units))
    there = many(here, "core")
    all_of_them = f"{allocation.words} of {there}"
    if execution.processes == "auto" and allocation.processes > 1:
        return [f"trained by up to {all_of_them}, depending on memory and work; by one for a short suite"]
    lines = [f"trained by {all_of_them}"]
    threads = allocation.processes * (allocation.threads or 1)
    if threads > here:
        lines.append(
            f"warning: `execution` uses {threads} threads on {there}: they share the cores, and all of them "
            "need memory"
        )
    return lines
