"""A process that trains units, one at a time, as another one asks for; it lives as long as a suite."""

from __future__ import annotations

import _thread
import functools
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from mtlv import processes
from mtlv.errors import MtlvError
from mtlv.events import BatchTrained, Callback, EpochEnded, Event, UnitStarted, warner
from mtlv.execution.messages import (
    Crashed,
    Ending,
    EpochScored,
    Failed,
    HeldElsewhere,
    Send,
    StartDamaged,
    Trained,
)
from mtlv.execution.runner import StartMissing, UnitRunner
from mtlv.plan import Scores
from mtlv.processes import GRACE, ChildProcess, Connection, ProcessEnded
from mtlv.store import open_store
from mtlv.store.local import EpochRecord, Store
from mtlv.store.location import StoreLocation
from mtlv.units.input_cache import InputCache
from mtlv.units.job import Job

if TYPE_CHECKING:
    from mtlv.execution.runner import InputProvider

BATCH_INTERVAL = 0.2  # seconds between two messages about batches, at least


@dataclass(frozen=True)
class TrainRequest:
    """A unit to be trained.

    Args:
        job: the unit.
        number: its place in the suite, from 1.
        start: whether others start from it, so that its weights are kept.
    """

    job: Job
    number: int
    start: bool


class WorkerDied(Exception):
    """A worker ended in the middle of a unit; the text says how."""


class Worker:
    """The process, as seen from the one that requests units.

    Args:
        store: of finished units.
        threads: of its arithmetic.
    """

    def __init__(self, store: StoreLocation, threads: int) -> None:
        count = str(threads)
        self._child = ChildProcess("mtlv.execution.worker", OMP_NUM_THREADS=count, MKL_NUM_THREADS=count)
        self._child.send((store, threads))

    @property
    def pid(self) -> int:
        return self._child.process.pid

    def train(self, request: TrainRequest, receive: Send) -> Ending:
        """Have a unit trained; `receive` gets each message, and the last is returned.

        Raises:
            WorkerDied: the process has ended.
        """
        self._child.send(request)
        while True:
            try:
                message = self._child.receive()
            except ProcessEnded as error:
                raise WorkerDied(self._child.how_it_ended()) from error
            receive(message)
            if isinstance(message, Ending):
                return message

    def stop(self) -> None:
        """Ask it to end; what it writes is still finished."""
        self._child.finish()

    def end(self, patience: float) -> None:
        """As `stop`, and wait for its end; after so many seconds end it."""
        self._child.end(patience)


def fewer_batches(send: Send, interval: float) -> Callback:
    """Pass events on, of batches only as many as a person can follow.

    Args:
        send: gets them.
        interval: seconds between two events of batches, at least.
    """
    waiting, last = 0, 0.0

    def call(event: Event) -> None:
        nonlocal waiting, last
        if isinstance(event, BatchTrained):
            waiting += event.documents
            if time.monotonic() - last < interval:
                return
            send(BatchTrained(event.name, waiting))
            waiting, last = 0, time.monotonic()
            return
        if isinstance(event, UnitStarted):
            waiting = 0
        elif isinstance(event, EpochEnded):
            send(BatchTrained(event.name, waiting))
            waiting = 0
        send(event)

    return call


class UnitTrainer:
    """Trains units, in the process of a worker.

    Args:
        cache: has what units read.
        store: of finished units.
        threads: of the arithmetic.
        send: gets the messages.
        interval: seconds between two messages about batches, at least.
    """

    def __init__(
        self,
        cache: InputProvider,
        store: Store,
        threads: int,
        send: Send,
        *,
        interval: float = BATCH_INTERVAL,
    ) -> None:
        import torch

        torch.set_num_threads(threads)
        self._send, self._starts = send, set[str]()
        self._runner = UnitRunner(cache, store, fewer_batches(send, interval), self._starts)

    def train(self, request: TrainRequest) -> Ending:
        """Train a unit."""
        job = request.job
        if request.start:
            self._starts.add(job.unit.key)
        if job.start is not None:
            self._starts.add(job.start.unit.key)

        def on_epoch(record: EpochRecord, scores: Scores) -> None:
            self._send(EpochScored(record, scores))

        try:
            record = self._runner.train(job, request.number, on_epoch)
        except StartMissing:
            return StartDamaged()
        return HeldElsewhere() if record is None else Trained(record.peak_memory_mb)


def answer(trainer: Callable[[], UnitTrainer], request: TrainRequest, send: Send) -> None:
    """Have a unit trained; whatever happens, the last message is an `Ending`."""
    try:
        ending: Ending = trainer().train(request)
    except (MtlvError, OSError) as error:
        ending = Failed(error)
    except Exception:  # nobody sees what this process prints
        ending = Crashed(traceback.format_exc())
    send(ending)


def serve(requests: SimpleQueue[Any], send: Send) -> None:
    """Train one unit after another until no more requests come."""
    location, threads = requests.get()

    @functools.cache
    def trainer() -> UnitTrainer:  # made at the first request: a store may be out of reach
        store = open_store(location)
        return UnitTrainer(InputCache(store, warner(send)), store, threads, send)

    while (request := requests.get()) is not None:
        answer(trainer, request, send)


def _listen(parent: Connection, requests: SimpleQueue[Any]) -> None:
    """Take requests. Their end, also by the parent's death, ends this process, in good order if it can."""
    with suppress(ProcessEnded):
        while True:
            requests.put(parent.receive())
    requests.put(None)
    _thread.interrupt_main()  # training ends as by Ctrl-C: what is being written is finished
    time.sleep(GRACE)
    os._exit(1)


def main() -> None:
    """Train what is requested until the parent ends."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the parent decides; its end closes the pipe
    signal.signal(signal.SIGINT, signal.default_int_handler)
    requests: SimpleQueue[Any] = SimpleQueue()
    connection = processes.parent(grace=True)  # to write its checkpoint
    with suppress(KeyboardInterrupt, BrokenPipeError), connection as parent:
        threading.Thread(target=_listen, args=(parent, requests), daemon=True).start()
        serve(requests, parent.send)
    os._exit(0)  # a thread still reads
