"""Choice of the number of processes for a suite's units, and of their threads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from mtlv.events import Callback, NoteGiven
from mtlv.execution.allocation import share
from mtlv.execution.executor import Executor
from mtlv.execution.helped import HelpedExecutor
from mtlv.execution.local import LocalExecutor
from mtlv.execution.ray.cluster import check_lasting
from mtlv.execution.ray.executor import ray_executor
from mtlv.execution.runner import UnitRunner
from mtlv.execution.stacking import StackingExecutor
from mtlv.hardware import free_memory
from mtlv.store.local import Store
from mtlv.units.input_cache import InputCache
from mtlv.units.job import Job, each_once, needed_keys
from mtlv.units.model import stack_size

PROCESS_BYTES = 4e9  # of main memory for one more process: PyTorch, and BERT-base in training
UNSTACKED = (
    "units are trained one by one, not in stacks: `execution.stack` is for one process of this machine "
    "(`execution.processes: 1`, `execution.engine: local`)"
)
DOCUMENTS_WORTH_A_PROCESS = 10_000  # documents times epochs below which its start costs more than it saves


def executor_of(
    cache: InputCache,
    store: Store,
    callback: Callback,
    members: Sequence[Sequence[Job]],
    *,
    one_by_one: bool = False,
) -> Executor:
    """Return the executor of the units of members with the same `execution` and `tracking` settings.

    With `one_by_one`, a member is requested when the previous one is finished.

    Raises:
        DeviceError: the requested device is not available.
    """
    from mtlv.training.optim import resolve_device

    jobs = each_once(job for member in members for job in member)
    execution = jobs[0].settings.execution
    devices = {resolve_device(job.settings.training.device).type for job in jobs}
    runner = UnitRunner(cache.inputs, store, callback, needed_keys(jobs))
    stack = stack_size(execution, devices)
    if stack != 1 and (execution.engine == "ray" or execution.processes not in ("auto", 1)):
        callback(NoteGiven(UNSTACKED))
    if execution.engine == "ray":
        check_lasting(store.root, jobs[0].settings.tracking.uri)
        return ray_executor(runner, cache, jobs, execution, devices)
    useful = (
        1
        if "cuda" in devices or stack != 1
        else max(map(useful_processes, members if one_by_one else [jobs]))
    )
    chosen = share(execution, useful)
    if chosen.processes == 1 and stack != 1:
        return StackingExecutor(runner, jobs, threads=chosen.threads, size=stack)
    if chosen.processes == 1:
        return LocalExecutor(runner, jobs, threads=chosen.threads)
    callback(NoteGiven(f"units are trained by {chosen.words}"))
    return HelpedExecutor(runner, jobs, processes=chosen.processes, threads=chosen.threads or 1)


def useful_processes(jobs: Sequence[Job]) -> int:
    """Return the number of processes on CPUs for `processes: auto`, before the cores are counted."""
    jobs = each_once(jobs)
    at_once = max(Counter(len(job.before) for job in jobs).values(), default=1)
    by_work = sum(job.documents for job in jobs) // DOCUMENTS_WORTH_A_PROCESS
    memory = free_memory()
    by_memory = at_once if memory is None else int(memory / PROCESS_BYTES)
    return max(1, min(at_once, by_work, by_memory))
