"""Who runs units. This one runs them here, one after another, beside other processes on the same store."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

from mtlv.locks import held, holder
from mtlv.plan import Scores
from mtlv.running.job import Job
from mtlv.running.observer import Observer
from mtlv.running.store import EpochRecord, Store, UnitRecord
from mtlv.running.train_unit import train_unit
from mtlv.running.watch import Listeners
from mtlv.running.workbench import Workbench

if TYPE_CHECKING:
    import torch

OnEpoch = Callable[[EpochRecord, Scores], None]
PAUSE = 1.0  # seconds between looks at a unit on which another process works


class Executor(Protocol):
    """Gives the record of a unit, from the store or by training."""

    def run(self, job: Job, on_epoch: OnEpoch) -> UnitRecord:
        """Run a unit; `on_epoch` hears, in this process, of each epoch that is trained."""
        ...


class LocalExecutor:
    """Trains in this process. While another works on the wanted unit, it trains later ones.

    Args:
        bench: corpora and encoders.
        store: of finished units, which other processes may share.
        observer: hears of units.
        jobs: all units of the suite, in their order, each once; see `each_once`.
    """

    def __init__(self, bench: Workbench, store: Store, observer: Observer, jobs: Sequence[Job]) -> None:
        self.bench, self.store, self.observer, self.jobs = bench, store, observer, jobs
        self._starts = {job.start.unit.key for job in jobs if job.start is not None}
        self._places = {job.unit.key: place for place, job in enumerate(jobs)}
        self._told: set[str] = set()  # keys of units whose end was told

    def run(self, job: Job, on_epoch: OnEpoch) -> UnitRecord:
        place = self._places[job.unit.key]
        job = self.jobs[place]  # what members share is told by the name that it has in the first
        said = False
        while not self._there(job):
            record = self._try(job, on_epoch)
            if record is not None:
                return record
            if not said:
                said = True
                self.observer.note(
                    f"{job.name}: {holder(self.store.lock(job.unit.key))} works on it; others go on meanwhile"
                )
            if not self._help(place):
                time.sleep(PAUSE)
        self._tell_end(job, cached=True)
        return self.store.load(job.unit.key)

    def _tell_end(self, job: Job, *, cached: bool) -> None:
        """Once, also where several members share a unit, or it was trained before its turn."""
        if job.unit.key not in self._told:
            self._told.add(job.unit.key)
            self.observer.unit_ended(job.name, cached, job.documents)

    def _try(self, job: Job, on_epoch: OnEpoch) -> UnitRecord | None:
        """Train a unit, unless another process works on it or has just ended it."""
        key = job.unit.key
        with held(self.store.lock(job.unit.key)) as mine:
            if not mine or self._there(job):
                return None
            if self.store.has(key):
                self.store.forget(key)  # an earlier run kept no weights of it, and others start from them
            number = self._places[key] + 1
            self.observer.unit_started(job.name, number, job.settings.training.epochs, job.documents)
            listeners = Listeners(self.observer, on_epoch, partial(self.store.ledger.timestamp_ms, key))
            checkpoints = self.store.checkpoints(key)
            material, start = self.bench.material(job.settings), self._start(job)
            record, weights = train_unit(job, material, listeners, checkpoints, start)
            kept = job.settings.store.keep_weights or key in self._starts
            self.store.save(record, weights if kept else None)
            checkpoints.remove()
        self._tell_end(job, cached=False)
        return record

    def _there(self, job: Job) -> bool:
        """Whether a unit is done, with its weights where others start from them."""
        key = job.unit.key
        return self.store.has(key) and (key not in self._starts or self.store.weights(key) is not None)

    def _start(self, job: Job) -> dict[str, torch.Tensor] | None:
        """The weights that a unit starts from, where it is not the encoder's own."""
        if job.start is None:
            return None
        from safetensors.torch import load_file

        path = self.store.weights(job.start.unit.key)
        assert path is not None  # units run in order
        return load_file(path)

    def _help(self, place: int) -> bool:
        """Train the next unit on which nobody works; its epochs are told when it is its turn."""
        for job in self.jobs[place + 1 :]:
            ready = job.start is None or self._there(job.start)
            if ready and not self._there(job) and self._try(job, lambda *_: None) is not None:
                return True
        return False


def each_once(jobs: Iterable[Job]) -> list[Job]:
    """Units in their order, those that several members share where they come first."""
    first: dict[str, Job] = {}
    for job in jobs:
        first.setdefault(job.unit.key, job)
    return list(first.values())
