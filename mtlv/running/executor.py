"""Who runs units. This one runs them here, one after another."""

from __future__ import annotations

from typing import Protocol

from mtlv.running.observer import Observer
from mtlv.running.store import Store, UnitRecord
from mtlv.running.train_unit import Job, train_unit
from mtlv.running.workbench import Workbench


class Executor(Protocol):
    """Gives the record of a unit, from the store or by training."""

    def run(self, job: Job, index: int) -> UnitRecord:
        """Run unit `index` (from 1)."""
        ...


class LocalExecutor:
    """Trains in this process."""

    def __init__(self, bench: Workbench, store: Store, observer: Observer) -> None:
        self.bench, self.store, self.observer = bench, store, observer

    def run(self, job: Job, index: int) -> UnitRecord:
        if self.store.has(job.unit.key):
            record = self.store.load(job.unit.key)
            self.observer.unit_ended(job.name, True, job.documents)
            return record
        self.observer.unit_started(job.name, index, job.settings.training.epochs, job.documents)
        record, weights = train_unit(job, self.bench.material(job.settings), self.observer)
        self.store.save(record, weights if job.settings.store.keep_weights else None)
        self.observer.unit_ended(job.name, False, job.documents)
        return record
