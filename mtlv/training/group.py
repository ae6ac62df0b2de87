"""Ranks as processes with PyTorch's data parallelism: gloo on CPUs, NCCL on CUDA devices."""

from __future__ import annotations

import socket
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from mtlv.data.batches import Batch
from mtlv.errors import DeviceError
from mtlv.seeding import seed_from
from mtlv.training.ranks import Ranks

T = TypeVar("T")

BACKENDS = {"cpu": "gloo", "cuda": "cpu:gloo,cuda:nccl"}
JOIN_TIMEOUT = timedelta(seconds=60)  # timeout for all ranks to connect
RANK_TIMEOUT = timedelta(
    minutes=30
)  # timeout for the slowest rank; the end of a rank is detected immediately


class ProcessGroup(Ranks):
    """One of several ranks, each a process with the whole model.

    All ranks create the same batches and compute their share of each; gradients are summed. A document's loss
    has the same weight as on one device, so the weights are equal except for rounding. Dropout masks differ:
    each rank has its own, from the seed, the rank and the step, so that they do not depend on where training
    resumed.

    Args:
        rank: from 0.
        world: number of ranks.
        seed: seed of the unit's dropout.
        broken: set if another rank has ended early; None if unknown.
    """

    def __init__(self, rank: int, world: int, seed: int, broken: Event | None = None) -> None:
        super().__init__(rank, world)
        self.seed, self.broken = seed, broken

    def wrap(self, losses: nn.Module) -> nn.Module:
        # A batch of one source leaves other heads without a gradient. If no parameter lacks one, PyTorch
        # prints a warning, which this parameter prevents. With the search for unused parameters, PyTorch
        # never reorders its buckets, so sums stay the same bit for bit when training resumes.
        device = next(losses.parameters()).device
        losses.register_parameter("without_gradient", nn.Parameter(torch.zeros((), device=device)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # an argument that PyTorch 2.6 does not have yet
            return DistributedDataParallel(losses, find_unused_parameters=True, broadcast_buffers=False)

    def begin(self, step: int) -> None:
        torch.manual_seed(seed_from(self.seed, "rank", self.rank, step))

    def share(self, batch: Batch) -> Batch:
        """Return every `world`-th document. A rank for which none is left gets one with weight 0."""
        # Batches are sorted by length, so shares have similar lengths.
        return batch.part(slice(self.rank, None, self.world) if self.takes(batch) else slice(1))

    def sum(self, values: torch.Tensor) -> torch.Tensor:
        total = values.clone()
        distributed.all_reduce(total)
        return total

    def quiet(self, losses: nn.Module) -> AbstractContextManager[Any]:
        assert isinstance(losses, DistributedDataParallel)
        return losses.no_sync()

    def need_all(self) -> None:
        # NCCL does not report an aborted sum, whose result looks like any other.
        if self.broken is not None and self.broken.is_set():
            raise RuntimeError("another rank has ended")

    def same(self, value: T) -> T:
        holder = [value]
        distributed.broadcast_object_list(holder, src=0)
        return holder[0]

    def gather(self, value: T) -> list[T]:
        values: list[Any] = [None] * self.world
        distributed.all_gather_object(values, value)
        return values


def need_group() -> None:
    """Check that this process can become a rank.

    Raises:
        DeviceError: PyTorch was built without process groups, or this process is already in another group.
    """
    if distributed.is_available() and not distributed.is_initialized():
        return
    there = distributed.is_available()
    raise DeviceError(
        "`execution.devices_per_unit`: no PyTorch process group can be created here",
        got="this process is in another one" if there else "PyTorch was built without them",
        then="set it to 1, or run mtlv in a separate process",
    )


def surroundings() -> Mapping[str, str]:
    """Return environment variables with which ranks communicate only over this machine's own interface.

    NCCL leaves the detection of ended ranks to this program, instead of ending the others.
    """
    names = [name for _, name in socket.if_nameindex()] if hasattr(socket, "if_nameindex") else []
    loop = next((name for name in names if name.startswith("lo")), None)
    spoken = {} if loop is None else {"GLOO_SOCKET_IFNAME": loop, "NCCL_SOCKET_IFNAME": loop}
    return spoken | {"TORCH_NCCL_ASYNC_ERROR_HANDLING": "0"}


def join(
    meeting: Path, rank: int, world: int, *, device: str, seed: int, broken: Event | None = None
) -> ProcessGroup:
    """Join a group of ranks; return when all have joined.

    Args:
        meeting: a file for this group, in an existing folder.
        rank: from 0.
        world: number of ranks.
        device: device type, `cpu` or `cuda`.
        seed: seed of the unit's dropout.
        broken: as for `ProcessGroup`.

    Raises:
        RuntimeError: not all ranks joined.
    """
    store = distributed.FileStore(str(meeting), world)
    backend = BACKENDS[device]
    distributed.init_process_group(backend, store=store, rank=rank, world_size=world, timeout=JOIN_TIMEOUT)
    distributed.distributed_c10d._set_pg_timeout(RANK_TIMEOUT)
    return ProcessGroup(rank, world, seed, broken)


def _abort() -> None:
    with suppress(Exception):
        distributed.distributed_c10d._abort_process_group()


def _destroy() -> None:
    if distributed.is_initialized():
        distributed.destroy_process_group()


UNBLOCK: dict[str, Callable[[], None]] = {"cpu": lambda: None, "cuda": _abort}
"""By device type: after the end of a rank, release operations that wait for it. Gloo detects it itself."""
LEAVE: dict[str, Callable[[], None]] = {"cpu": _destroy, "cuda": _abort}
"""By device type: leave the group, independent of the others. NCCL would wait for them."""
