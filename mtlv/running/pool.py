"""Trains several units at once, each in a process of its own on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Self

from mtlv.running.ahead import AheadExecutor
from mtlv.running.board import PAUSE
from mtlv.running.job import Job
from mtlv.running.observer import Observer
from mtlv.running.store import Store
from mtlv.running.workbench import Workbench
from mtlv.running.worker import GRACE, Lost, Worker


class PoolExecutor(AheadExecutor):
    """Trains in processes beside this one; a thread for each gives it one unit after the other.

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
        super().__init__(bench, store, observer, jobs)
        self.threads = threads
        self._said: SimpleQueue[tuple[str, str, tuple[Any, ...]]] = SimpleQueue()
        self._ending = False
        self._workers: list[Worker] = []
        missing = sum(not self._shop.there(job) for job in jobs)
        self._givers = [
            Thread(target=self._give, name=f"mtlv-worker-{number}", daemon=True)
            for number in range(min(processes, missing))
        ]

    def __enter__(self) -> Self:
        for thread in self._givers:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End all processes; what they write is still finished."""
        self._ending = True
        self._board.close()
        for worker in list(self._workers):
            worker.stop()
        for thread in self._givers:
            thread.join()

    def _listen(self) -> None:
        with suppress(Empty):
            self._tell(*self._said.get(timeout=PAUSE))

    # ---- A thread of each process --------------------------------------------------------------------------

    def _give(self) -> None:
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
                    self._hear(job, *self._lose(job, str(lost)))
                return
            self._settle(job, word)

    def _hear(self, job: Job, word: str, content: tuple[Any, ...]) -> None:
        self._said.put((job.unit.key, word, content))
