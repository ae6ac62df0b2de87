"""A process that trains one unit together with other processes, as one of its ranks."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mtlv import processes
from mtlv.events import ignore
from mtlv.processes import Connection, Crashed, Failed, ProcessEnded, failure
from mtlv.store.checkpoints import Checkpoints
from mtlv.units.inputs import UnitInputs
from mtlv.units.job import Job
from mtlv.units.train import train_unit
from mtlv.units.validation import UnitCallbacks


@dataclass(frozen=True)
class Ready:
    """The rank has read its inputs."""


@dataclass(frozen=True)
class Done:
    """The unit is trained."""


RankMessage = Ready | Done | Failed | Crashed


@dataclass(frozen=True)
class RankConfig:
    """Configuration of a rank.

    Args:
        job: the unit.
        inputs: its inputs; nodes of a cluster have no other source for them.
        checkpoints: folder of the unit's checkpoints.
        rank: from 1; rank 0 is the calling process.
        world: number of ranks.
        meeting: file with which they find each other.
        device: device type, `cpu` or `cuda`.
        threads: compute threads.
    """

    job: Job
    inputs: UnitInputs
    checkpoints: Path
    rank: int
    world: int
    meeting: Path
    device: str
    threads: int


def train_as(call: RankConfig, parent: Connection) -> None:
    """Train one unit as one of its ranks."""
    import torch

    from mtlv.training.group import join
    from mtlv.training.optim import device_of

    torch.set_num_threads(call.threads)
    device = device_of(call.job.settings.training.device, call.rank, call.world)
    if device.type == "cuda":
        torch.cuda.set_device(device)  # otherwise each rank would also use memory on the first device
    parent.send(Ready())
    seed = call.job.unit.draw_seed("dropout")
    ranks = join(call.meeting, call.rank, call.world, device=call.device, seed=seed)
    unheard = UnitCallbacks(ignore, lambda *_: None, lambda _: 0)
    train_unit(call.job, call.inputs, unheard, Checkpoints(call.checkpoints), ranks=ranks)


def _end_with(parent: Connection) -> None:
    """Exit when the caller ends, which closes the pipe."""
    with suppress(ProcessEnded):
        parent.receive()
    os._exit(1)


def main() -> None:
    """Train one unit."""
    processes.ignore_end_signals()
    with suppress(BrokenPipeError), processes.parent() as parent:
        call = parent.receive()
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
        try:
            train_as(call, parent)
            parent.send(Done())
        except Exception as error:
            parent.send(failure(error))
    os._exit(0)  # a thread is still reading
