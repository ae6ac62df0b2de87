"""A process that trains units on request, one at a time, during a suite."""

from __future__ import annotations

import _thread
import functools
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from mtlv import processes
from mtlv.events import BatchTrained, Callback, EpochEnded, Event, UnitStarted, warner
from mtlv.execution.messages import (
    Ending,
    EpochScored,
    HeldElsewhere,
    NeededDamaged,
    Send,
    Trained,
)
from mtlv.execution.runner import InputsOf, UnitMissing, UnitRunner
from mtlv.plan import Scores
from mtlv.processes import GRACE, ChildProcess, Connection, ProcessEnded, failure
from mtlv.store.local import Store
from mtlv.store.records import EpochRecord
from mtlv.units.input_cache import InputCache
from mtlv.units.job import Job

BATCH_INTERVAL = 0.2  # minimum seconds between messages about batches


@dataclass(frozen=True)
class TrainRequest:
    """A unit to be trained."""

    job: Job
    number: int  # its number in the suite, from 1
    start: bool  # whether others need its weights, which are then kept


class WorkerDied(Exception):
    """A worker ended during a unit; the message describes how."""


class Worker(ChildProcess):
    """The worker process, as used by the requesting process; `finish` lets it finish its current write."""

    def __init__(self, store: Path, threads: int) -> None:
        count = str(threads)
        super().__init__("mtlv.execution.worker", OMP_NUM_THREADS=count, MKL_NUM_THREADS=count)
        self.send((store, threads))

    def train(self, request: TrainRequest, receive: Send) -> Ending:
        """Request the training of a unit; call `receive` with each message, and return the last.

        Raises:
            WorkerDied: the process has ended.
        """
        self.send(request)
        while True:
            try:
                message = self.receive()
            except ProcessEnded as error:
                raise WorkerDied(self.how_it_ended()) from error
            receive(message)
            if isinstance(message, Ending):
                return message


def fewer_batches(send: Send, interval: float) -> Callback:
    """Forward events, but those about batches at most every `interval` seconds."""
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
    """Trains units in a worker process, with messages about batches at most every `interval` seconds."""

    def __init__(
        self,
        inputs: InputsOf,
        store: Store,
        threads: int,
        send: Send,
        *,
        interval: float = BATCH_INTERVAL,
    ) -> None:
        import torch

        torch.set_num_threads(threads)
        self._send, self._starts = send, set[str]()
        self._runner = UnitRunner(inputs, store, fewer_batches(send, interval), self._starts)

    def train(self, request: TrainRequest) -> Ending:
        """Train a unit."""
        job = request.job
        if request.start:
            self._starts.add(job.unit.key)
        self._starts |= {need.unit.key for need in job.needs}

        def on_epoch(record: EpochRecord, scores: Scores) -> None:
            self._send(EpochScored(record, scores))

        try:
            record = self._runner.train(job, request.number, on_epoch)
        except UnitMissing as missing:
            return NeededDamaged(missing.job.unit.key)
        return HeldElsewhere() if record is None else Trained()


def answer(trainer: Callable[[], UnitTrainer], request: TrainRequest, send: Send) -> None:
    """Train a unit; the last message is always an `Ending`."""
    try:
        ending: Ending = trainer().train(request)
    except Exception as error:
        ending = failure(error)
    send(ending)


def serve(queue: SimpleQueue[Any], send: Send) -> None:
    """Train one unit after another until there are no more requests."""
    folder, threads = queue.get()

    @functools.cache
    def trainer() -> UnitTrainer:  # made at the first request: the folder may be out of reach
        store = Store(folder)
        return UnitTrainer(InputCache(store, warner(send)).inputs, store, threads, send)

    while (request := queue.get()) is not None:
        answer(trainer, request, send)


def _listen(parent: Connection, queue: SimpleQueue[Any]) -> None:
    """Receive requests. When they end, also by the parent's death, stop this process gracefully."""
    for request in parent.messages():
        queue.put(request)
    queue.put(None)
    _thread.interrupt_main()  # stop training like Ctrl-C: current writes are finished
    time.sleep(GRACE)
    os._exit(1)


def main() -> None:
    """Train requested units until the parent ends."""
    processes.ignore_end_signals()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    queue: SimpleQueue[Any] = SimpleQueue()
    connection = processes.parent(grace=True)  # to write its checkpoint
    with suppress(KeyboardInterrupt, BrokenPipeError), connection as parent:
        threading.Thread(target=_listen, args=(parent, queue), daemon=True).start()
        serve(queue, parent.send)
    os._exit(0)  # a thread is still reading
