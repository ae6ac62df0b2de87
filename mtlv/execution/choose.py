"""Choice of the number of processes for a suite's units, and of their threads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mtlv.events import Callback, NoteGiven
from mtlv.execution.allocation import share
from mtlv.execution.concurrency import AdaptiveConcurrency, Concurrency
from mtlv.execution.executor import Executor
from mtlv.execution.local import LocalExecutor
from mtlv.execution.process_pool import PoolExecutor
from mtlv.execution.ray.cluster import RayHead, check_lasting, wanted_of
from mtlv.execution.ray.executor import RayExecutor
from mtlv.hardware import all_cores, cores, free_memory
from mtlv.store.local import Store
from mtlv.units.input_cache import InputCache
from mtlv.units.job import Job, each_once

if TYPE_CHECKING:
    import torch

    from mtlv.settings.schema import ExecutionSettings

WORTH = 60.0  # total seconds of work below which further processes cost more time than they save
STEP, SPEED = 0.004, 5e10  # seconds of an empty step, FLOP per second and core: a rough estimate
PROCESS, PARAMETER = 1.2e9, 24  # bytes of a process without a model, and per weight in training
CORES = "there is no core for one more"
SPARE = 0.8  # share of the free memory that is used


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
    settings = jobs[0].settings
    execution = settings.execution
    devices = {resolve_device(job.settings.training.device) for job in jobs}
    if execution.engine == "ray":
        check_lasting(store.root, settings.tracking.uri)
        return _on_ray(cache, store, callback, jobs, execution, devices)
    widest = max(width(rank_group) for rank_group in (members if one_by_one else [jobs]))
    here = _cores_for(devices)
    most, limit = min(
        [(widest, "all other units wait for these"), *_limits(cache, jobs, devices, here)],
        key=lambda each: each[0],
    )
    chosen = share(execution, most, here)
    if chosen.processes == 1:
        return LocalExecutor(cache, store, callback, jobs, threads=chosen.threads)
    reason = limit if chosen.processes == most else CORES
    concurrency = concurrency_of(execution, devices, chosen.processes, reason)
    callback(NoteGiven(f"units are trained by {concurrency.described(chosen.words)}"))
    return PoolExecutor(cache, store, callback, jobs, concurrency=concurrency, threads=chosen.threads or 1)


def concurrency_of(
    execution: ExecutionSettings, devices: set[torch.device], most: int, limit: str
) -> Concurrency:
    """Return the concurrency for at most `most` processes; on a GPU with `auto`, adapt it by measuring.

    `limit` is the reason for the maximum, for users.
    """
    on_gpu = [device for device in devices if device.type == "cuda"]
    if execution.processes != "auto" or not on_gpu:
        return Concurrency(most)
    return AdaptiveConcurrency(most, limit=limit, free=lambda: min(map(_free_on, on_gpu)))


def _on_ray(
    cache: InputCache,
    store: Store,
    callback: Callback,
    jobs: Sequence[Job],
    execution: ExecutionSettings,
    devices: set[torch.device],
) -> Executor:
    wanted, threads = wanted_of(execution, {device.type for device in devices})
    callback(NoteGiven(f"units are trained by Ray, each with {wanted.words}"))
    here = _cores_for(devices)
    cpus = here if execution.processes == "auto" else max(1, round(execution.processes * wanted.cpus))
    head = RayHead(execution.address, cpus)
    return RayExecutor(cache, store, callback, jobs, wanted=wanted, threads=threads, head=head)


def _cores_for(devices: set[torch.device]) -> int:
    """Return the cores for processes; `OMP_NUM_THREADS` says nothing of processes that use a GPU."""
    return all_cores() if any(device.type == "cuda" for device in devices) else cores()


def width(jobs: Sequence[Job]) -> int:
    """Return how many units could be trained at once: the most with the same number of stages before them."""
    return max(Counter(len(job.before) for job in each_once(jobs)).values(), default=1)


def _limits(
    cache: InputCache, jobs: Sequence[Job], devices: set[torch.device], here: int
) -> list[tuple[int, str]]:
    """Return the maximum useful number of processes by the cores `here`, memory and work, with reasons."""
    if seconds_of(cache, jobs) < WORTH:
        return [(1, "there is too little work for more")]
    size = _bytes_of(cache, jobs)
    free, ranks = free_memory(), max(job.settings.execution.devices_per_unit for job in jobs)
    limits = [(here, CORES)]
    if free is not None:
        limits.append(
            (int(free * SPARE / (ranks * (PROCESS + size))), "the main memory may not be enough for more")
        )
    one = PROCESS + 2 * size  # on a device, with the same amount for a batch
    on_gpu = [int(_free_on(device) * SPARE / one) for device in devices if device.type == "cuda"]
    limits += [
        (most, "the device's memory may not be enough for more of the largest encoder") for most in on_gpu
    ]
    return [(max(1, most), limit) for most, limit in limits]


def _free_on(device: torch.device) -> int:
    """Return the free bytes; for a unit with several devices of the first, because they are used equally."""
    import torch

    try:
        return torch.cuda.mem_get_info(device)[0]
    except RuntimeError:  # the memory is completely full
        return 0


def seconds_of(cache: InputCache, jobs: Sequence[Job]) -> float:
    """Estimate the time of all units on one core, from their steps and matrix sizes."""
    known: dict[tuple[int, int], float] = {}
    total = 0.0
    for job in jobs:
        own = job.settings
        module = cache.encoder(own.encoder, own.data).module
        tokens = cache.inputs(own).tokens
        kind = id(module), id(tokens)
        if kind not in known:
            known[kind] = 6 * float(tokens.lengths.mean()) * _layers(module) / SPEED
        total += job.documents * (STEP / own.training.batch_size + known[kind])
    return total


def _bytes_of(cache: InputCache, jobs: Sequence[Job]) -> int:
    """Return the bytes of the largest encoder's weights, gradients and optimizer state, with a margin."""
    modules = [cache.encoder(j.settings.encoder, j.settings.data) for j in jobs]
    distinct = {id(each.module): each.module for each in modules}.values()
    return max(sum(weight.numel() for weight in module.parameters()) for module in distinct) * PARAMETER


def _layers(module: torch.nn.Module) -> int:
    """Return the number of weights used for every token: all but the embeddings."""
    return sum(weight.numel() for name, weight in module.named_parameters() if "embeddings" not in name)
