"""Trains one unit on several devices: this process is the first rank, other processes are the others."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import TYPE_CHECKING

from mtlv.errors import MtlvError, TrainingError
from mtlv.events import WarningGiven
from mtlv.hardware import compute_threads
from mtlv.processes import ChildProcess, Crashed, Failed
from mtlv.store.checkpoints import Checkpoints
from mtlv.store.records import UnitRecord
from mtlv.units.inputs import UnitInputs
from mtlv.units.job import Job
from mtlv.units.rank_process import Done, RankConfig, RankMessage, Ready
from mtlv.units.train import train_unit
from mtlv.units.validation import UnitCallbacks

if TYPE_CHECKING:
    import torch

    Trained = tuple[UnitRecord, dict[int, dict[str, torch.Tensor]]]

TRIES = 2  # attempts of a unit whose ranks are lost
LOOK = 0.2  # seconds between checks for messages of ranks
CAUSE = 5.0  # seconds in which the end of another rank is detected after an error in this one


@dataclass(frozen=True)
class _Lost:
    """A rank that ended without a message."""

    how: str


WEIGHT = (Failed, _Lost, Crashed)  # most informative first: the end of one rank ends the others


class RankDied(Exception):
    """A rank ended during a unit; the message describes how."""


def train_on_devices(
    job: Job,
    inputs: UnitInputs,
    callbacks: UnitCallbacks,
    checkpoints: Callable[[], Checkpoints],
    start: Mapping[str, torch.Tensor] | None,
) -> Trained:
    """Train a unit like `train_unit`, on the number of devices in its settings.

    Args:
        job: the unit.
        inputs: inputs of the unit.
        callbacks: callbacks of the unit.
        checkpoints: creates the unit's checkpoints for each attempt.
        start: initial weights.

    Raises:
        MtlvError: as for `train_unit`, from any rank.
        TrainingError: ranks were lost twice.
    """
    world = job.settings.execution.devices_per_unit
    if world == 1:
        return train_unit(job, inputs, callbacks, checkpoints(), start)
    for tries in range(1, TRIES + 1):
        try:
            return _together(job, inputs, callbacks, checkpoints(), start)
        except RankDied as lost:
            if tries == TRIES:
                raise _given_up(job, str(lost)) from lost
            text = f"{job.name}: {lost}; all its ranks resume from its last checkpoint"
            callbacks.on_event(WarningGiven(text))
    raise AssertionError


def _given_up(job: Job, how: str) -> TrainingError:
    return TrainingError(
        f"`{job.name}`: a rank was lost {TRIES} times",
        got=how,
        then="if memory ran out (SIGKILL), lower `execution.devices_per_unit` or `training.batch_size`",
    )


def _together(
    job: Job,
    inputs: UnitInputs,
    callbacks: UnitCallbacks,
    checkpoints: Checkpoints,
    start: Mapping[str, torch.Tensor] | None,
) -> Trained:
    """Train with the requested number of ranks, including this process.

    Raises:
        RankDied: another rank ended, or failed with an internal error.
        DeviceError: there are too few devices, or no process group can be created.
        MtlvError: as for `train_unit`.
    """
    import torch

    from mtlv.training.group import LEAVE, UNBLOCK, join, need_group, surroundings
    from mtlv.training.optim import device_of

    world, seed = job.settings.execution.devices_per_unit, job.unit.draw_seed("dropout")
    device = device_of(job.settings.training.device, 0, world).type
    need_group()
    threads = max(1, torch.get_num_threads() // world)
    with (
        tempfile.TemporaryDirectory(prefix="mtlv-") as folder,
        compute_threads(threads),
        _variables(surroundings()),
    ):
        meeting = Path(folder) / "ranks"
        folder_of = checkpoints.folder
        calls = [
            RankConfig(job, inputs, folder_of, rank, world, meeting, device, threads)
            for rank in range(1, world)
        ]
        rank_group = RankGroup(calls, UNBLOCK[device])
        try:
            rank_group.await_ready()
            ranks = join(meeting, 0, world, device=device, seed=seed, broken=rank_group.broken)
            return train_unit(job, inputs, callbacks, checkpoints, start, ranks)
        except MtlvError:
            raise
        except Exception as error:
            cause = rank_group.cause()
            if cause is None:
                raise
            raise cause from error
        finally:
            rank_group.end()  # first: their end unblocks processes that wait for them
            LEAVE[device]()


@contextmanager
def _variables(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables that are not set yet."""
    missing = {name: value for name, value in variables.items() if name not in os.environ}
    os.environ.update(missing)
    try:
        yield
    finally:
        for name in missing:
            os.environ.pop(name, None)


class RankGroup:
    """The processes of the other ranks, which end with this one.

    Args:
        calls: configuration of each rank.
        unblock: called in another thread when a rank ends early, after `broken` is set.
    """

    def __init__(self, calls: list[RankConfig], unblock: Callable[[], None]) -> None:
        self._messages: SimpleQueue[tuple[int, RankMessage | _Lost]] = SimpleQueue()
        self.broken = Event()
        self._unblock, self._over = unblock, False
        count = str(calls[0].threads)
        start = partial(ChildProcess, "mtlv.units.rank_process", OMP_NUM_THREADS=count, MKL_NUM_THREADS=count)
        self._processes = {call.rank: start() for call in calls}
        self._threads = [Thread(target=self._listen, args=(call,), daemon=True) for call in calls]
        for thread in self._threads:
            thread.start()

    def await_ready(self) -> None:
        """Wait until all ranks have read their inputs.

        Raises:
            RankDied, MtlvError: a rank failed.
        """
        for _ in self._processes:
            while (received := self._receive(LOOK)) is None:
                pass  # short waits, so that Ctrl-C is noticed
            if not isinstance(received[1], Ready):
                raise self._error(*received)

    def cause(self) -> Exception | None:
        """Return the error of another rank that caused the failure of this one; waits until it is known."""
        errors, end = [], time.monotonic() + CAUSE
        while (left := end - time.monotonic()) > 0:
            received = self._receive(left)
            if received is not None and isinstance(received[1], WEIGHT):
                errors.append(received)
                end = min(end, time.monotonic() + 1.0)  # the first error may be received last
        return self._error(*min(errors, key=lambda error: WEIGHT.index(type(error[1])))) if errors else None

    def end(self) -> None:
        """Kill all ranks."""
        self._over = True
        for process in self._processes.values():
            process.process.kill()
        for thread in self._threads:
            thread.join()
        for process in self._processes.values():
            process.end()

    def _receive(self, seconds: float) -> tuple[int, RankMessage | _Lost] | None:
        with suppress(Empty):
            return self._messages.get(timeout=seconds)
        return None

    def _error(self, rank: int, message: RankMessage | _Lost) -> Exception:
        if isinstance(message, Failed):
            return message.error
        assert isinstance(message, Crashed | _Lost)  # the unit is not over
        how = (message.traceback if isinstance(message, Crashed) else message.how).strip()
        lost = RankDied(f"rank {rank} of {len(self._processes) + 1} ended ({how.splitlines()[-1]})")
        lost.add_note(how)
        return lost

    # ---- A thread of each process --------------------------------------------------------------------------

    def _listen(self, call: RankConfig) -> None:
        """Forward the messages of a rank until it ends."""
        process, message = self._processes[call.rank], None
        process.send(call)
        for message in process.messages():
            self._messages.put((call.rank, message))
        if isinstance(message, Done) or self._over:
            return
        if not isinstance(message, Failed | Crashed):
            self._messages.put((call.rank, _Lost(process.how_it_ended())))
        self.broken.set()
        self._unblock()
