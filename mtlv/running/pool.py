"""Trains several units at once, each in a process of its own; this one tells and tracks what they say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Self

from mtlv.errors import TrainingError
from mtlv.plan import Scores
from mtlv.running.board import PAUSE, Board
from mtlv.running.executor import others_work, starts_of
from mtlv.running.job import Job
from mtlv.running.observer import Observer
from mtlv.running.store import EpochRecord, Store, UnitRecord
from mtlv.running.workbench import Workbench
from mtlv.running.worker import BUSY, ENDED, FAILED, FAULT, GRACE, Lost, Order, Worker
from mtlv.running.workshop import OnEpoch, Workshop

TRIES = 2  # processes that may be lost over one unit
LOST = "lost"  # besides the words of a worker


@dataclass
class _Seen:
    """What was told of a unit that is at work, or ended here.

    Args:
        job: the unit.
        epochs: those that its member has not heard of, because it was not its turn.
        error: why it failed.
        told: whether its end was told.
        noted: whether it was said that another process has it.
    """

    job: Job
    epochs: list[tuple[EpochRecord, Scores]] = field(default_factory=list)
    error: Exception | None = None
    told: bool = False
    noted: bool = False


class PoolExecutor:
    """Trains in processes beside this one. Units that are not yet asked for are trained ahead.

    A thread for each process gives it one unit after the other and hands on what it says; observer and
    listeners hear of it in the thread that asks for units.

    Args:
        bench: corpora and encoders.
        store: of finished units, which other processes may share.
        observer: hears of units.
        jobs: all units of the suite, in their order, each once; see `each_once`.
        processes: how many.
        threads: of each.
    """

    def __init__(
        self,
        bench: Workbench,
        store: Store,
        observer: Observer,
        jobs: Sequence[Job],
        *,
        processes: int,
        threads: int,
    ) -> None:
        self.store, self.observer, self.threads = store, observer, threads
        self._starts = starts_of(jobs)
        self._shop = Workshop(bench, store, observer, self._starts)
        self._numbers = {job.unit.key: number for number, job in enumerate(jobs, start=1)}
        self._seen = {job.unit.key: _Seen(job) for job in jobs}
        self._board = Board(self._shop.ready)
        self._said: SimpleQueue[tuple[str, str, tuple[Any, ...]]] = SimpleQueue()
        self._lost: Counter[str] = Counter()
        self._ending = False
        self._wanted = ""
        self._workers: list[Worker] = []
        missing = sum(not self._shop.there(job) for job in jobs)
        self._threads = [
            Thread(target=self._work, name=f"mtlv-worker-{number}", daemon=True)
            for number in range(min(processes, missing))
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End all processes; what they write is still finished."""
        self._ending = True
        self._board.close()
        for worker in list(self._workers):
            worker.stop()
        for thread in self._threads:
            thread.join()

    def expect(self, jobs: Sequence[Job]) -> None:
        self._board.expect([self._seen[job.unit.key].job for job in jobs])

    def run(self, job: Job, on_epoch: OnEpoch) -> UnitRecord:
        """The record of a unit, once it is there.

        Raises:
            TrainingError: it failed, or its process was lost twice.
            MtlvError: another unit met what ends the suite, such as a full disk.
        """
        key = job.unit.key
        seen = self._seen[key]
        self._wanted = key
        self._board.want(seen.job)
        self._hand_on(seen, on_epoch)
        while not self._over(seen):
            with suppress(Empty):
                self._tell(*self._said.get(timeout=PAUSE))
            self._hand_on(seen, on_epoch)
        if seen.error is not None:
            raise seen.error
        self._tell_end(seen, cached=True)
        return self.store.load(key)

    def _over(self, seen: _Seen) -> bool:
        """Of a unit that was trained here its words are waited for, not its files."""
        known = seen.error is not None or seen.told
        return known or (not self._board.holds(seen.job) and self._shop.there(seen.job))

    def _hand_on(self, seen: _Seen, on_epoch: OnEpoch) -> None:
        """The epochs of the unit that is asked for, also those from before it was its turn."""
        while seen.epochs:
            on_epoch(*seen.epochs.pop(0))

    # ---- What workers say, in the thread that asks for units -----------------------------------------------

    def _tell(self, key: str, word: str, content: tuple[Any, ...]) -> None:
        seen = self._seen[key]
        if word == "on_epoch":
            seen.epochs.append((content[0], content[1]))
        elif word == ENDED:
            self._tell_end(seen, cached=False)
        elif word == BUSY:
            if not seen.noted:
                seen.noted = True
                self.observer.note(others_work(self.store, seen.job))
        elif word in (FAILED, LOST):
            self._fail(seen, content[0])
        elif word == FAULT:
            raise RuntimeError(f"in the process that trained `{seen.job.name}`:\n{content[0]}")
        else:
            getattr(self.observer, word)(*content)

    def _tell_end(self, seen: _Seen, *, cached: bool) -> None:
        """Once, also where several members share a unit."""
        if not seen.told:
            seen.told = True
            if seen.job.unit.key != self._wanted:
                seen.epochs.clear()  # its record tells them, when it is its turn
            self.observer.unit_ended(seen.job.name, cached, seen.job.documents)

    def _fail(self, seen: _Seen, error: Exception) -> None:
        self.observer.unit_failed(seen.job.name)
        if not isinstance(error, TrainingError):
            raise error  # a full disk, a device that is not there: it is not this unit alone
        seen.error = error

    # ---- A thread of each process --------------------------------------------------------------------------

    def _work(self) -> None:
        while not self._ending:
            worker = Worker(self.store.place, self.threads)
            self._workers.append(worker)
            try:
                self._give_orders(worker)
            finally:
                self._workers.remove(worker)
                worker.end(GRACE)

    def _give_orders(self, worker: Worker) -> None:
        """Until there are none, or it is lost."""
        while (job := self._board.take()) is not None:
            try:
                word = worker.train(self._order(job), partial(self._hear, job))
            except Lost as lost:
                if not self._ending:
                    self._after_loss(job, str(lost))
                return
            if word == BUSY:
                self._board.again(job, after=PAUSE)
            self._board.ended()

    def _order(self, job: Job) -> Order:
        key = job.unit.key
        return Order(job, self._numbers[key], key in self._starts)

    def _hear(self, job: Job, word: str, content: tuple[Any, ...]) -> None:
        self._said.put((job.unit.key, word, content))

    def _after_loss(self, job: Job, how: str) -> None:
        """Another process goes on from the unit's last checkpoint, once."""
        key = job.unit.key
        self._lost[key] += 1
        if self._lost[key] < TRIES:
            text = f"{job.name}: the process that trained it is gone ({how}); another one goes on with it"
            self._hear(job, "warn", (text,))
            self._board.again(job)
            return
        error = TrainingError(
            f"`{job.name}`: {TRIES} processes that trained it are gone",
            got=how,
            then="where memory was short (SIGKILL), lower `execution.processes` or `training.batch_size`",
        )
        self._hear(job, LOST, (error,))
