"""Trains several units at once, in separate processes of this machine."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Self

from mtlv.errors import NoRoomError
from mtlv.events import Callback, NoteGiven, WarningGiven
from mtlv.execution.async_executor import AsyncExecutor
from mtlv.execution.concurrency import Concurrency, Slot
from mtlv.execution.messages import Message
from mtlv.execution.scheduler import PAUSE
from mtlv.execution.worker import Worker, WorkerDied
from mtlv.processes import GRACE, Failed
from mtlv.store.local import Store
from mtlv.units.input_cache import InputCache
from mtlv.units.job import Job


class OutOfDeviceMemory(Exception):
    """A unit ran out of device memory with several processes, and is trained again with fewer."""


class PoolExecutor(AsyncExecutor):
    """Trains in other processes; a thread per process sends it one unit at a time."""

    def __init__(
        self,
        cache: InputCache,
        store: Store,
        callback: Callback,
        jobs: Sequence[Job],
        *,
        concurrency: Concurrency,
        threads: int,
    ) -> None:
        super().__init__(cache, store, callback, jobs)
        self.threads = threads
        self._concurrency = concurrency
        self._messages: SimpleQueue[tuple[str, Message] | Exception] = SimpleQueue()
        self._ending = False
        self._workers: list[Worker] = []
        missing = sum(not self._runner.there(job) for job in jobs)
        self._givers = [self._giver(number) for number in range(min(concurrency.most, missing))]

    def __enter__(self) -> Self:
        for thread in self._givers:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop all processes; they finish their current writes."""
        self._ending = True
        self._scheduler.close()
        self._concurrency.close()
        for worker in list(self._workers):
            worker.finish()
        for thread in self._givers:
            thread.join()

    def _giver(self, number: int) -> Thread:
        return Thread(target=self._give, name=f"mtlv-worker-{number}", daemon=True)

    def _train_again(self, job: Job) -> None:
        super()._train_again(job)
        if not self._givers:  # all units were finished
            self._givers.append(self._giver(0))
            self._givers[0].start()

    def _listen(self) -> None:
        with suppress(Empty):
            received = self._messages.get(timeout=PAUSE)
            if isinstance(received, Exception):
                raise received
            self._receive(*received)

    # ---- A thread of each process --------------------------------------------------------------------------

    def _give(self) -> None:
        try:
            while not self._ending and (member := self._concurrency.enter()) is not None:
                try:
                    while not self._ending and not self._concurrency.leaves(member):
                        self._give_to_one(member)
                finally:
                    self._concurrency.left(member)
        except Exception as error:  # for example an unreachable store: report it to the requester
            self._messages.put(error)

    def _give_to_one(self, member: Slot) -> None:
        """Send units to one process, until it ends."""
        worker = Worker(self.store.root.absolute(), self.threads)
        self._workers.append(worker)
        try:
            left = self._send_requests(worker, member)
        finally:
            self._workers.remove(worker)
            worker.end(GRACE)
        if left is not None:  # only after its memory is free
            self._scheduler.again(left)

    def _send_requests(self, worker: Worker, member: Slot) -> Job | None:
        """Train units until there are no more, the process dies, or it must leave.

        Returns:
            The unit that another process must train, if any.
        """
        while not self._concurrency.leaves(member) and (job := self._take(member)) is not None:
            try:
                ending = worker.train(self._request(job), partial(self._hear, member, job))
            except OutOfDeviceMemory:
                return job
            except WorkerDied as lost:
                self._concurrency.rests(member)
                if not self._ending:
                    self._send(job, self._lose(job, str(lost)))
                return None
            self._settle(job, ending)
        return None

    def _take(self, member: Slot) -> Job | None:
        """Return the next unit; a process that waits for one is not measured."""
        job = self._scheduler.next()
        if job is None:
            self._concurrency.rests(member)
            job = self._scheduler.take()
            if job is not None and self._concurrency.leaves(member):  # decided in the meantime
                self._scheduler.again(job)
                return None
        return job

    def _hear(self, member: Slot, job: Job, message: Message) -> None:
        no_room = isinstance(message, Failed) and isinstance(message.error, NoRoomError)
        if no_room and self._concurrency.gives_way(member):
            text = (
                "the device does not have enough memory for it and others; it continues with fewer processes"
            )
            self._send(job, WarningGiven(f"{job.name}: {text}"))
            raise OutOfDeviceMemory
        note = self._concurrency.hear(member, job, message)
        self._send(job, message)
        if note is not None:
            self._send(job, NoteGiven(note))

    def _send(self, job: Job, message: Message) -> None:
        self._messages.put((job.unit.key, message))
