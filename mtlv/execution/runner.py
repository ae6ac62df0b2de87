"""Trains one unit under its lock; used by every executor."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Generator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from mtlv.events import UnitStarted, warner
from mtlv.execution.needs import UnitNeeds
from mtlv.plan import Scores
from mtlv.store.checkpoints import has_teacher_outputs
from mtlv.store.records import EpochRecord, UnitRecord
from mtlv.units.job import Job
from mtlv.units.teacher_outputs import add_teacher_outputs, entropies
from mtlv.units.train import need_room, result_of, train_unit_by_steps
from mtlv.units.validation import UnitCallbacks

if TYPE_CHECKING:
    from mtlv.training.loop import DueStep

OnEpoch = Callable[[EpochRecord, Scores], None]


@dataclass(frozen=True)
class UnitRunner(UnitNeeds):
    """Trains units and puts them into the store."""

    needed_keys: Container[str]  # keys of units that others start from or learn from; their weights are kept

    def there(self, job: Job) -> bool:
        """Whether a unit is finished, with its weights or teacher outputs if others need them.

        A unit that kept only teacher outputs is trained again if other units start from its weights.
        """
        key = job.unit.key
        if not self.store.has(key) or key not in self.needed_keys:
            return self.store.has(key)
        return self.store.has_weights(key) or has_teacher_outputs(self.store.units / key)

    def ready(self, job: Job) -> bool:
        """Whether a unit can be trained now: it is not finished, and those that it needs are."""
        return not self.there(job) and all(map(self.there, job.needs))

    def take_finished(self, job: Job) -> UnitRecord | None:
        """Return the record of a finished unit; None if it was damaged and must be trained again.

        Raises:
            TrackingError: it cannot be read for another reason.
        """
        key = job.unit.key
        return self.store.read_or_set_aside(key, lambda: self.store.load(key), partial(self._warn, job))

    def train(self, job: Job, number: int, on_epoch: OnEpoch) -> UnitRecord | None:
        """Train a unit alone; see `train_by_steps`."""
        return result_of(self.train_by_steps(job, number, on_epoch))

    def train_by_steps(
        self,
        job: Job,
        number: int,
        on_epoch: OnEpoch,
        clock: Callable[[], float] = time.perf_counter,
        stack: int = 1,
    ) -> Generator[DueStep, None, UnitRecord | None]:
        """Train a unit whose needed units are finished, unless another process trains or has trained it.

        Yields each optimizer step when it is due; `stack` units share them, and the seconds of `clock`.

        Raises:
            UnitMissing: a unit that it needs was damaged.
            MtlvError: as for `train_unit`, or the store cannot be written.
        """
        key = job.unit.key
        with self.store.lock_unit(key) as mine:
            if not mine or self.there(job):
                return None
            if lost := self.store.missing(key):
                self._warn(job, f"the finished unit is damaged ({lost}); {self.store.set_aside(key)}")
            elif self.store.has(key):
                self.store.forget(key)  # an earlier run kept no weights, and others start from them
            with need_room(job):
                inputs = self.inputs(job.settings)
                initial_weights, teacher_outputs = self.initial_weights(job), self.outputs_of_teachers(job)
            epochs = job.settings.training.epochs
            self.callback(UnitStarted(job.name, number, epochs, job.documents, stack))
            warn = warner(self.callback)
            timestamp_ms = partial(self.store.timestamps.timestamp_ms, key, warn=warn)
            callbacks = UnitCallbacks(self.callback, on_epoch, timestamp_ms, clock)
            inputs = add_teacher_outputs(inputs, teacher_outputs)
            checkpoints = self.store.checkpoints(key)
            steps = train_unit_by_steps(job, inputs, callbacks, checkpoints, initial_weights)
            record, weights = yield from steps
            entropy = entropies(teacher_outputs, inputs.tasks)
            record = replace(record, teacher_entropy=entropy, stack=stack)
            kept = job.settings.store.keep_weights or key in self.needed_keys
            self.store.save(record, weights if kept else None)
            checkpoints.remove()
        return record
