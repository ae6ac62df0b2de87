"""A process that trains units, one at a time, for another that says which; it lives as long as a suite."""

from __future__ import annotations

import _thread
import functools
import os
import pickle  # nosec B403 # between a process and the child it started, over their own pipes
import signal
import subprocess
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, BinaryIO

from mtlv import processes
from mtlv.errors import MtlvError
from mtlv.events import Observer
from mtlv.plan import Scores
from mtlv.processes import GRACE, how_it_ended
from mtlv.store import open_store
from mtlv.store.local import EpochRecord, Store
from mtlv.store.location import StoreLocation
from mtlv.units.job import Job

if TYPE_CHECKING:
    from mtlv.execution.runner import InputProvider

TOLD = 0.2  # seconds between two words about batches, at least
EPOCH, ENDED, BUSY, FAILED, FAULT = "epoch", "ended", "busy", "failed", "fault"
START_LOST = "start lost"
LAST = (ENDED, BUSY, START_LOST, FAILED, FAULT)  # words that end a unit; others are an observer's

Tell = Callable[[str, tuple[Any, ...]], None]
"""Hears what a worker says: one of the words above, or an observer's method; and what belongs to it."""


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
    """A worker is gone in the middle of a unit; the text says how it ended."""


class Worker:
    """The process, as the one that gives orders sees it.

    Args:
        store: of finished units.
        threads: of its arithmetic.
    """

    def __init__(self, store: StoreLocation, threads: int) -> None:
        count = str(threads)
        self._process = processes.begin("mtlv.execution.worker", OMP_NUM_THREADS=count, MKL_NUM_THREADS=count)
        self._send((store, threads))

    @property
    def pid(self) -> int:
        return self._process.pid

    def train(self, order: TrainRequest, tell: Tell) -> str:
        """Have a unit trained; returns the word, one of `LAST`, that was told last.

        Raises:
            WorkerDied: the process has ended.
        """
        self._send(order)
        assert self._process.stdout is not None
        while True:
            try:
                word, content = pickle.load(self._process.stdout)  # nosec B301 # our own child writes it
            except Exception as error:  # its end, also in the middle of a word
                raise WorkerDied(how_it_ended(self._process)) from error
            tell(word, content)
            if word in LAST:
                return str(word)

    def stop(self) -> None:
        """Ask it to end; what it writes is still finished."""
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):
            self._process.stdin.close()

    def end(self, patience: float) -> None:
        """As `stop`, and wait for its end; after so many seconds end it."""
        self.stop()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(patience)
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _send(self, request: object) -> None:
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):  # it has ended: whoever reads its answers knows
            pickle.dump(request, self._process.stdin)
            self._process.stdin.flush()


class _Forwarder(Observer):
    """Sends on what an observer hears; of batches only so many words as a person can follow."""

    def __init__(self, say: Tell, apart: float) -> None:
        self._say, self._apart = say, apart
        self._waiting, self._last = 0, 0.0

    def batch(self, name: str, documents: int) -> None:
        self._waiting += documents
        now = time.monotonic()
        if now - self._last >= self._apart:
            self._say("batch", (name, self._waiting))
            self._waiting, self._last = 0, now

    def unit_started(self, *given: Any) -> None:
        self._waiting = 0
        self._say("unit_started", given)

    def unit_resumed(self, name: str, documents: int) -> None:
        self._say("unit_resumed", (name, documents))

    def epoch(
        self,
        name: str,
        epoch: int,
        epochs: int,
        loss: float,
        validation: Mapping[str, float],
        documents_per_second: float,
    ) -> None:
        self._say("batch", (name, self._waiting))
        self._waiting = 0
        self._say(EPOCH, (name, epoch, epochs, loss, dict(validation), documents_per_second))

    def note(self, text: str) -> None:
        self._say("note", (text,))

    def warn(self, text: str) -> None:
        self._say("warn", (text,))


class UnitTrainer:
    """The same in the process that trains.

    Args:
        cache: has what units read.
        store: of finished units.
        threads: of the arithmetic.
        say: hears what is said of units.
        apart: seconds between two words about batches, at least.
    """

    def __init__(
        self, cache: InputProvider, store: Store, threads: int, say: Tell, *, apart: float = TOLD
    ) -> None:
        import torch

        from mtlv.execution.runner import UnitRunner

        torch.set_num_threads(threads)
        self._say, self._starts = say, set[str]()
        self._runner = UnitRunner(cache, store, _Forwarder(say, apart), self._starts)

    def train(self, order: TrainRequest) -> None:
        """Train a unit, and say what came of it."""
        from mtlv.execution.runner import StartDamaged

        key = order.job.unit.key
        if order.start:
            self._starts.add(key)
        if order.job.start is not None:
            self._starts.add(order.job.start.unit.key)

        def on_epoch(record: EpochRecord, scores: Scores) -> None:
            self._say("on_epoch", (record, scores))

        try:
            record = self._runner.train(order.job, order.number, on_epoch)
        except StartDamaged:
            self._say(START_LOST, ())
            return
        self._say(*((BUSY, ()) if record is None else (ENDED, (record.peak_memory_mb,))))


def answer(trainer: Callable[[], UnitTrainer], order: TrainRequest, say: Tell) -> None:
    """Have a unit trained; whatever happens, the last word is one of `LAST`."""
    try:
        trainer().train(order)
    except (MtlvError, OSError) as error:
        say(FAILED, (error,))
    except Exception:  # nobody sees what this process prints
        say(FAULT, (traceback.format_exc(),))


def serve(orders: SimpleQueue[Any], answers: BinaryIO) -> None:
    """Train one unit after the other until no more orders come."""

    def say(word: str, content: tuple[Any, ...]) -> None:
        pickle.dump((word, content), answers)
        answers.flush()

    @functools.cache
    def trainer() -> UnitTrainer:  # made at the first order: a store may be out of reach
        from mtlv.units.input_cache import InputCache

        store = open_store(place)
        cache = InputCache(store, lambda text: say("warn", (text,)))
        return UnitTrainer(cache, store, threads, say)

    place, threads = orders.get()
    while (order := orders.get()) is not None:
        answer(trainer, order, say)


def _listen(asked: BinaryIO, orders: SimpleQueue[Any]) -> None:
    """Take orders. Their end, also by the other's death, ends this process: in good order, or in any case."""
    with suppress(Exception):
        while True:
            orders.put(pickle.load(asked))  # nosec B301 # our own parent writes it
    orders.put(None)
    _thread.interrupt_main()  # training ends as by Ctrl-C: what is being written is finished
    time.sleep(GRACE)
    os._exit(1)


def _work() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # who gives orders decides; its end closes the pipe
    signal.signal(signal.SIGINT, signal.default_int_handler)
    orders: SimpleQueue[Any] = SimpleQueue()
    pipes = processes.asked_and_answers(grace=True)  # to write its checkpoint
    with suppress(KeyboardInterrupt, BrokenPipeError), pipes as (asked, answers):
        threading.Thread(target=_listen, args=(asked, orders), daemon=True).start()
        serve(orders, answers)
    os._exit(0)  # a thread still reads


if __name__ == "__main__":
    _work()
