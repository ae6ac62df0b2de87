"""Trains units in this process, one at a time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Self

from mtlv.errors import TrainingError
from mtlv.events import NoteGiven, UnitFailed
from mtlv.execution.executor import Executor, ignore_epoch
from mtlv.execution.needs import UnitMissing
from mtlv.execution.runner import OnEpoch, UnitRunner
from mtlv.hardware import compute_threads
from mtlv.store.records import UnitRecord
from mtlv.units.job import Job

PAUSE_SECONDS = 1.0  # seconds between checks of a unit that another process trains


class LocalExecutor(Executor):
    """Trains in this process. While another process trains the requested unit, it trains other expected ones.

    `threads` are PyTorch's until the exit, which restores them; None leaves them as they are.
    """

    def __init__(self, runner: UnitRunner, jobs: Sequence[Job], *, threads: int | None = None) -> None:
        super().__init__(runner, jobs)
        self.callback, self.store = runner.callback, runner.store
        self.failed: dict[str, TrainingError] = {}  # by the key of the unit
        self._threads = compute_threads(threads)
        self._unfinished = dict(self._jobs)  # may contain units that other processes have finished

    def __enter__(self) -> Self:
        self._threads.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.__exit__(None, None, None)

    def run(self, job: Job, on_epoch: OnEpoch = ignore_epoch) -> UnitRecord:
        """Run a unit; train others while another process trains it.

        Raises:
            TrainingError: it failed, now or when it was trained ahead.
        """
        job = self._jobs[job.unit.key]  # shared units have the name of the first member
        while True:
            record = self._train_or_wait(job, on_epoch)
            if record is not None:
                return record
            record = self._runner.take_finished(job)
            if record is not None:
                self._report_end(job, cached=True)
                return record
            self._ended.discard(job.unit.key)  # it was damaged and is trained again
            if self._runner.there(job):  # another process is handling it
                self._wait()

    def train_next(self) -> bool:
        """Train the first expected unit that is ready and that no process works on.

        Its error is kept until it is requested.

        Returns:
            Whether there was such a unit.
        """
        for key, job in list(self._unfinished.items()):
            if self._expected[key] <= 0 or key in self.failed:
                continue
            if self._runner.there(job):
                del self._unfinished[key]
                continue
            if not self._runner.ready(job):
                continue
            with suppress(TrainingError):
                if self._try(job, ignore_epoch) is None:
                    continue
            return True
        return False

    def has_unfinished(self) -> bool:
        """Whether a unit may be left that is not finished, expected or not."""
        return bool(self._unfinished)

    def _train_or_wait(self, job: Job, on_epoch: OnEpoch) -> UnitRecord | None:
        """Train a unit, or wait until another process has. Return its record; None if it is in the store."""
        has_noted = False
        while not self._runner.there(job):
            if job.unit.key in self.failed:
                raise self.failed[job.unit.key]
            record = self._try(job, on_epoch)
            if record is not None:
                return record
            if not has_noted:
                has_noted = True
                self._note_other(job)
            if not self.train_next():
                self._wait()
        return None

    def _try(self, job: Job, on_epoch: OnEpoch) -> UnitRecord | None:
        """Train a unit, unless another process is training it or has just finished it."""
        try:
            record = self._attempt(job, on_epoch)
        except TrainingError as error:
            self._fail(job, error)
            raise
        if record is not None:
            self._report_end(job, cached=False)
        return record

    def _attempt(self, job: Job, on_epoch: OnEpoch) -> UnitRecord | None:
        while True:
            try:
                return self._runner.train(job, self._numbers[job.unit.key], on_epoch)
            except UnitMissing as missing:
                needed = missing.job
            self.run(needed)

    def _fail(self, job: Job, error: TrainingError) -> None:
        has_been_reported = job.unit.key in self.failed  # by a helper that tried it at the same time
        self.failed[job.unit.key] = error
        if not has_been_reported:
            self.callback(UnitFailed(job.name))

    def _note_other(self, job: Job) -> None:
        """Tell the user that another process has the requested unit."""
        holder = self.store.holder(job.unit.key)
        self.callback(NoteGiven(f"{job.name}: {holder} is training it; continuing with other units"))

    def _wait(self) -> None:
        """Wait until something may have changed."""
        time.sleep(PAUSE_SECONDS)
