"""Trains units in this process, one at a time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Self

from mtlv.errors import TrainingError
from mtlv.events import Callback, NoteGiven, UnitEnded, UnitFailed
from mtlv.execution.executor import Executor
from mtlv.execution.runner import OnEpoch, UnitMissing, UnitRunner
from mtlv.hardware import compute_threads
from mtlv.store.local import Store
from mtlv.store.records import UnitRecord
from mtlv.units.input_cache import InputCache
from mtlv.units.job import Job, starts_of

PAUSE = 1.0  # seconds between checks of a unit that another process trains


class LocalExecutor(Executor):
    """Trains in this process. While another process trains the requested unit, it trains later ones.

    `threads` are PyTorch's until the exit, which restores them; None leaves them as they are.
    """

    def __init__(
        self,
        cache: InputCache,
        store: Store,
        callback: Callback,
        jobs: Sequence[Job],
        *,
        threads: int | None = None,
    ) -> None:
        self.store, self.callback, self.jobs = store, callback, jobs
        self._threads = compute_threads(threads)
        self._runner = UnitRunner(cache.inputs, store, callback, starts_of(jobs))
        self._places = {job.unit.key: place for place, job in enumerate(jobs)}
        self._told: set[str] = set()  # keys of units whose end was reported

    def __enter__(self) -> Self:
        self._threads.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.__exit__(None, None, None)

    def run(self, job: Job, on_epoch: OnEpoch) -> UnitRecord:
        job = self.jobs[self._places[job.unit.key]]  # shared units have the name of the first member
        while True:
            record = self._trained(job, on_epoch)
            if record is not None:
                return record
            record = self._runner.taken(job)
            if record is not None:
                self._tell_end(job, cached=True)
                return record
            self._told.discard(job.unit.key)  # it was damaged and is trained again
            if self._runner.there(job):  # another process is handling it
                time.sleep(PAUSE)

    def _trained(self, job: Job, on_epoch: OnEpoch) -> UnitRecord | None:
        """Return the record of a unit that was trained here; None as soon as the store has it."""
        said = False
        while not self._runner.there(job):
            record = self._try(job, on_epoch)
            if record is not None:
                return record
            if not said:
                said = True
                self.callback(NoteGiven(others_work(self.store, job)))
            if not self._help(self._places[job.unit.key]):
                time.sleep(PAUSE)
        return None

    def _tell_end(self, job: Job, *, cached: bool) -> None:
        """Report the end of a unit, only once if members share it or it was trained ahead."""
        if job.unit.key not in self._told:
            self._told.add(job.unit.key)
            self.callback(UnitEnded(job.name, cached, job.documents))

    def _try(self, job: Job, on_epoch: OnEpoch) -> UnitRecord | None:
        """Train a unit, unless another process is training it or has just finished it."""
        try:
            record = self._runner.train(job, self._places[job.unit.key] + 1, on_epoch)
        except UnitMissing as missing:
            self.run(missing.job, lambda *_: None)
            return self._try(job, on_epoch)
        except TrainingError:
            self.callback(UnitFailed(job.name))
            raise
        if record is not None:
            self._tell_end(job, cached=False)
        return record

    def _help(self, place: int) -> bool:
        """Train the next unit that no process works on; its epochs are reported when it is its turn."""
        return any(
            self._runner.ready(job) and self._try(job, lambda *_: None) is not None
            for job in self.jobs[place + 1 :]
        )


def others_work(store: Store, job: Job) -> str:
    """Return a note that another process is training a unit."""
    return f"{job.name}: {store.holder(job.unit.key)} is training it; continuing with other units"
