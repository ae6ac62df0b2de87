"""A process that trains one unit together with another one, as one of its ranks."""

from __future__ import annotations

import os
import signal
import threading
import traceback
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mtlv import processes
from mtlv.errors import MtlvError
from mtlv.events import ignore
from mtlv.processes import Connection, ProcessEnded
from mtlv.store.checkpoints import Checkpoints
from mtlv.units.inputs import UnitInputs
from mtlv.units.job import Job
from mtlv.units.train import train_unit
from mtlv.units.validation import UnitCallbacks


@dataclass(frozen=True)
class Ready:
    """The rank has read what it needs."""


@dataclass(frozen=True)
class Done:
    """The unit is trained."""


@dataclass(frozen=True)
class Failed:
    """The rank failed for a reason that a user can mend, or the system's."""

    error: Exception


@dataclass(frozen=True)
class Crashed:
    """The rank failed for a reason that nobody foresaw."""

    traceback: str


RankMessage = Ready | Done | Failed | Crashed


@dataclass(frozen=True)
class RankConfig:
    """What a rank needs to know.

    Args:
        job: the unit.
        inputs: that it reads; a node of a cluster has it from nowhere else.
        checkpoints: folder of those of the unit.
        rank: from 1; the first is the process that calls.
        world: how many there are.
        meeting: file by which they find each other.
        device: its type, `cpu` or `cuda`.
        threads: of its arithmetic.
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
        torch.cuda.set_device(device)  # or each rank would take memory on the first as well
    parent.send(Ready())
    seed = call.job.unit.draw_seed("dropout")
    ranks = join(call.meeting, call.rank, call.world, device=call.device, seed=seed)
    unheard = UnitCallbacks(ignore, lambda *_: None, lambda _: 0)
    train_unit(call.job, call.inputs, unheard, Checkpoints(call.checkpoints), ranks=ranks)


def _end_with(parent: Connection) -> None:
    """The caller's end, however it comes, closes the pipe."""
    with suppress(ProcessEnded):
        parent.receive()
    os._exit(1)


def main() -> None:
    """Train one unit."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the parent decides; its end closes the pipe
    with suppress(BrokenPipeError), processes.parent() as parent:
        call = parent.receive()
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
        try:
            train_as(call, parent)
            parent.send(Done())
        except (MtlvError, OSError) as error:
            parent.send(Failed(error))
        except Exception:  # nobody sees what this process prints
            parent.send(Crashed(traceback.format_exc()))
    os._exit(0)  # a thread still reads
