"""Ranks as processes of PyTorch's own data parallelism: gloo among processors, NCCL among CUDA devices."""

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
MEETING = timedelta(seconds=60)  # for all ranks to meet
WAITING = timedelta(minutes=30)  # for the slowest in the middle of a unit; the end of one is known at once


class ProcessGroup(Ranks):
    """One of several ranks, each a process with the whole model.

    Every rank makes the same batches and computes its share of each; gradients are summed. A document's loss
    counts as on one device, so the weights are the same but for rounding. Dropout draws other masks: each
    rank its own, from the seed, the rank and the step, so that they do not depend on where it went on.

    Args:
        rank: from 0.
        world: how many.
        seed: of the unit's dropout.
        broken: set where another rank has ended before its time; None where that is not known.
    """

    def __init__(self, rank: int, world: int, seed: int, broken: Event | None = None) -> None:
        super().__init__(rank, world)
        self.seed, self.broken = seed, broken

    def wrapped(self, losses: nn.Module) -> nn.Module:
        # A batch of one source leaves other heads without a gradient. Where none is left so PyTorch prints a
        # warning, but for this one. With the search for them it never sorts its buckets anew, so sums stay
        # the same bit for bit where training goes on.
        losses.register_parameter("without_gradient", nn.Parameter(torch.zeros((), device=_device(losses))))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # a new name for buffers that PyTorch 2.6 lacks
            return DistributedDataParallel(losses, find_unused_parameters=True, broadcast_buffers=False)

    def begin(self, step: int) -> None:
        torch.manual_seed(seed_from(self.seed, "rank", self.rank, step))

    def share(self, batch: Batch) -> Batch:
        """Every `world`-th document. Where none is left for a rank it takes one that then counts nothing."""
        # Batches are sorted by length: shares are as long.
        return batch.part(slice(self.rank, None, self.world) if self.takes(batch) else slice(1))

    def summed(self, values: torch.Tensor) -> torch.Tensor:
        whole = values.clone()
        distributed.all_reduce(whole)
        return whole

    def quiet(self, losses: nn.Module) -> AbstractContextManager[Any]:
        assert isinstance(losses, DistributedDataParallel)
        return losses.no_sync()

    def need_all(self) -> None:
        # NCCL says nothing of a sum that was broken off: what came of it looks like any other.
        if self.broken is not None and self.broken.is_set():
            raise RuntimeError("another rank has ended")

    def same(self, value: T) -> T:
        held = [value]
        distributed.broadcast_object_list(held, src=0)
        return held[0]

    def gathered(self, value: T) -> list[T]:
        found: list[Any] = [None] * self.world
        distributed.all_gather_object(found, value)
        return found


def _device(module: nn.Module) -> torch.device:
    return next(module.parameters()).device


def need_group() -> None:
    """Whether this process can become a rank.

    Raises:
        DeviceError: PyTorch was built without process groups, or this process is in one of somebody else's.
    """
    if distributed.is_available() and not distributed.is_initialized():
        return
    there = distributed.is_available()
    raise DeviceError(
        "`execution.devices_per_unit`: no process group of PyTorch can be made here",
        got="this process is in another one" if there else "PyTorch was built without them",
        then="set it to 1, or run mtlv in a process of its own",
    )


def surroundings() -> Mapping[str, str]:
    """Variables with which ranks speak over this machine's own interface alone.

    NCCL leaves it to this program to notice that a rank has ended, where it would end the others.
    """
    names = [name for _, name in socket.if_nameindex()] if hasattr(socket, "if_nameindex") else []
    loop = next((name for name in names if name.startswith("lo")), None)
    spoken = {} if loop is None else {"GLOO_SOCKET_IFNAME": loop, "NCCL_SOCKET_IFNAME": loop}
    return spoken | {"TORCH_NCCL_ASYNC_ERROR_HANDLING": "0"}


def join(
    meeting: Path, rank: int, world: int, *, device: str, seed: int, broken: Event | None = None
) -> ProcessGroup:
    """Become one of several ranks; returns once all are there.

    Args:
        meeting: a file of their own, in a folder that is there.
        rank: from 0.
        world: how many.
        device: its type, `cpu` or `cuda`.
        seed: of the unit's dropout.
        broken: as of `ProcessGroup`.

    Raises:
        RuntimeError: not all came.
    """
    store = distributed.FileStore(str(meeting), world)
    backend = BACKENDS[device]
    distributed.init_process_group(backend, store=store, rank=rank, world_size=world, timeout=MEETING)
    distributed.distributed_c10d._set_pg_timeout(WAITING)
    return ProcessGroup(rank, world, seed, broken)


def _abort() -> None:
    with suppress(Exception):
        distributed.distributed_c10d._abort_process_group()


def _destroy() -> None:
    if distributed.is_initialized():
        distributed.destroy_process_group()


UNBLOCK: dict[str, Callable[[], None]] = {"cpu": lambda: None, "cuda": _abort}
"""By type of device: when a rank has ended, let go of what waits for it. Gloo hears it by itself."""
LEAVE: dict[str, Callable[[], None]] = {"cpu": _destroy, "cuda": _abort}
"""By type of device: end this rank's part, whatever the others are at. NCCL would wait for them."""
