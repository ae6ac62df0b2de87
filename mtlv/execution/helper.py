"""A process that trains units of a suite beside the main process: each takes the next one that is free."""

from __future__ import annotations

import _thread
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from mtlv import processes
from mtlv.errors import NoRoomError, TrainingError
from mtlv.events import BatchTrained, Callback, EpochEnded, Event, UnitStarted, warner
from mtlv.execution.local import LocalExecutor
from mtlv.execution.runner import UnitRunner
from mtlv.processes import GRACE_SECONDS, Connection, Crashed, Failed, failure
from mtlv.store.local import Store
from mtlv.units.input_cache import InputCache
from mtlv.units.job import Job, needed_keys

BATCH_INTERVAL_SECONDS = 0.5  # minimum seconds between events about batches
PAUSE_SECONDS = 0.2  # seconds between checks whether a unit is free


@dataclass(frozen=True)
class HelpRequest:
    """The first message to a helper: all units of a suite, in order."""

    store_folder: Path
    threads: int
    jobs: Sequence[Job]
    expected: Counter[str]  # number of members that will request a unit, by its key
    failed: dict[str, TrainingError]  # errors of units that helpers do not train again, by key


@dataclass(frozen=True)
class Expectation:
    """A message to a helper: `members` more members will request these units; negative for fewer."""

    keys: Sequence[str]
    members: int


@dataclass(frozen=True)
class UnitError:
    """A message from and to helpers: a unit failed, and no helper trains it again."""

    key: str
    error: TrainingError


HelperMessage = Event | UnitError | Failed | Crashed


class HelperExecutor(LocalExecutor):
    """Trains units in a helper process, and sends their errors to the main process."""

    def __init__(self, runner: UnitRunner, request: HelpRequest, parent: Connection) -> None:
        super().__init__(runner, request.jobs, threads=request.threads)
        self._expected, self.failed, self._parent = request.expected, request.failed, parent
        self.has_room = True  # whether no unit failed for lack of memory

    def hear(self, message: Expectation | UnitError) -> None:
        """Handle a message of the main process."""
        match message:
            case Expectation(keys, members):
                self._expected.update(dict.fromkeys(keys, members))
            case UnitError(key, error):
                self.failed[key] = error

    def _fail(self, job: Job, error: TrainingError) -> None:
        self.failed[job.unit.key] = error
        self.has_room = self.has_room and not isinstance(error, NoRoomError)
        self._parent.send(UnitError(job.unit.key, error))


def fewer_batches(send: Callback, interval: float = BATCH_INTERVAL_SECONDS) -> Callback:
    """Forward events. Batches are reported at most every `interval` seconds and at the end of an epoch."""
    documents, last = 0, 0.0

    def call(event: Event) -> None:
        nonlocal documents, last
        if isinstance(event, BatchTrained):
            documents += event.documents
            if time.monotonic() - last < interval:
                return
            event, documents, last = BatchTrained(event.name, documents), 0, time.monotonic()
        elif isinstance(event, UnitStarted):
            documents = 0
        elif isinstance(event, EpochEnded):
            send(BatchTrained(event.name, documents))
            documents = 0
        send(event)

    return call


def help_suite(messages: SimpleQueue[Any], parent: Connection) -> None:
    """Train units until all are finished, the memory is full, or the main process needs no help."""
    request = messages.get()
    if request is None:
        return
    store = Store(request.store_folder)
    inputs = InputCache(store, warner(parent.send)).inputs
    runner = UnitRunner(inputs, store, fewer_batches(parent.send), needed_keys(request.jobs))
    pause = 0.0
    with HelperExecutor(runner, request, parent) as executor:
        while executor.has_room and executor.has_unfinished():
            try:
                message = messages.get(timeout=pause)
            except Empty:
                pause = 0.0 if executor.train_next() else PAUSE_SECONDS
                continue
            if message is None:
                return
            executor.hear(message)


def _listen(parent: Connection, messages: SimpleQueue[Any]) -> None:
    """Receive messages. When they end, also by the parent's death, stop this process gracefully."""
    for message in parent.messages():
        messages.put(message)
    messages.put(None)
    _thread.interrupt_main()  # stop training like Ctrl-C: current writes are finished
    time.sleep(GRACE_SECONDS)
    os._exit(1)


def main() -> None:
    """Help until there is nothing to do or the parent ends."""
    processes.ignore_end_signals()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    messages: SimpleQueue[Any] = SimpleQueue()
    connection = processes.parent(grace=True)  # to write its checkpoint
    with suppress(KeyboardInterrupt, BrokenPipeError), connection as parent:
        threading.Thread(target=_listen, args=(parent, messages), daemon=True).start()
        try:
            help_suite(messages, parent)
        except Exception as error:
            parent.send(failure(error))
    os._exit(0)  # a thread is still reading
