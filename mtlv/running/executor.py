"""Who runs units. This one runs them here, one after another."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

from mtlv.plan import Scores
from mtlv.running.job import Job
from mtlv.running.observer import Observer
from mtlv.running.store import EpochRecord, Store, UnitRecord
from mtlv.running.train_unit import train_unit
from mtlv.running.watch import Listeners
from mtlv.running.workbench import Workbench

OnEpoch = Callable[[EpochRecord, Scores], None]


class Executor(Protocol):
    """Gives the record of a unit, from the store or by training."""

    def run(self, job: Job, index: int, on_epoch: OnEpoch) -> UnitRecord:
        """Run unit `index` (from 1); `on_epoch` hears, in this process, of each epoch that is trained."""
        ...


class LocalExecutor:
    """Trains in this process."""

    def __init__(self, bench: Workbench, store: Store, observer: Observer) -> None:
        self.bench, self.store, self.observer = bench, store, observer

    def run(self, job: Job, index: int, on_epoch: OnEpoch) -> UnitRecord:
        key = job.unit.key
        if self.store.has(key):
            record = self.store.load(key)
            self.observer.unit_ended(job.name, True, job.documents)
            return record
        self.observer.unit_started(job.name, index, job.settings.training.epochs, job.documents)
        listeners = Listeners(self.observer, on_epoch, partial(self.store.ledger.timestamp_ms, key))
        checkpoints = self.store.checkpoints(key)
        record, weights = train_unit(job, self.bench.material(job.settings), listeners, checkpoints)
        self.store.save(record, weights if job.settings.store.keep_weights else None)
        checkpoints.remove()
        self.observer.unit_ended(job.name, False, job.documents)
        return record
