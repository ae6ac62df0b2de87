"""A process that trains one unit together with another one, as one of its ranks."""

from __future__ import annotations

import os
import pickle  # nosec B403 # between a process and the child it started, over their own pipes
import signal
import threading
import traceback
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from mtlv import processes
from mtlv.errors import MtlvError
from mtlv.events import Observer
from mtlv.store.checkpoints import Checkpoints
from mtlv.units.inputs import UnitInputs
from mtlv.units.job import Job

READY, DONE, FAILED, FAULT = "ready", "done", "failed", "fault"


@dataclass(frozen=True)
class RankConfig:
    """What a rank is told.

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


def train_as(call: RankConfig, answers: BinaryIO) -> None:
    """Train one unit as one of its ranks."""
    import torch

    from mtlv.training.group import join
    from mtlv.training.optim import device_of
    from mtlv.units.train import train_unit
    from mtlv.units.validation import UnitCallbacks

    torch.set_num_threads(call.threads)
    device = device_of(call.job.settings.training.device, call.rank, call.world)
    if device.type == "cuda":
        torch.cuda.set_device(device)  # or each rank would take memory on the first as well
    _say(answers, READY)
    seed = call.job.unit.draw_seed("dropout")
    ranks = join(call.meeting, call.rank, call.world, device=call.device, seed=seed)
    unheard = UnitCallbacks(Observer(), lambda *_: None, lambda _: 0)
    train_unit(call.job, call.inputs, unheard, Checkpoints(call.checkpoints), ranks=ranks)


def _say(answers: BinaryIO, word: str, *content: Any) -> None:
    pickle.dump((word, content), answers)
    answers.flush()


def _end_with(asked: BinaryIO) -> None:
    """The caller's end, however it comes, closes the pipe."""
    with suppress(OSError):
        asked.read(1)
    os._exit(1)


def _work() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # who calls decides; its end closes the pipe
    with suppress(BrokenPipeError), processes.asked_and_answers() as (asked, answers):
        call = pickle.load(asked)  # nosec B301 # our own parent writes it
        threading.Thread(target=_end_with, args=(asked,), daemon=True).start()
        try:
            train_as(call, answers)
            _say(answers, DONE)
        except (MtlvError, OSError) as error:
            _say(answers, FAILED, error)
        except Exception:  # nobody sees what this process prints
            _say(answers, FAULT, traceback.format_exc())
    os._exit(0)  # a thread still reads


if __name__ == "__main__":
    _work()
