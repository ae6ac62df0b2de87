"""Trains one unit under its lock; used by every executor."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from mtlv.errors import DamagedError
from mtlv.events import Callback, NoteGiven, UnitStarted, WarningGiven, warner
from mtlv.formatting import many
from mtlv.plan import Scores
from mtlv.store.local import Store
from mtlv.store.records import EpochRecord, UnitRecord
from mtlv.store.teacher_outputs import has_teacher_outputs, read_teacher_outputs, write_teacher_outputs
from mtlv.store.unit_files import reading
from mtlv.units.job import Job
from mtlv.units.teacher_outputs import TeacherOutputs, add_teacher_outputs, entropies, teacher_outputs_of
from mtlv.units.train import need_room, train_unit
from mtlv.units.validation import UnitCallbacks

if TYPE_CHECKING:
    from pathlib import Path

    import torch

    from mtlv.settings.schema import Settings
    from mtlv.units.inputs import UnitInputs

OnEpoch = Callable[[EpochRecord, Scores], None]
InputsOf = Callable[["Settings"], "UnitInputs"]
"""Function from the settings of a member to the inputs of its units."""


class UnitMissing(Exception):
    """A unit whose weights another needs was damaged and must be trained again first."""

    def __init__(self, job: Job) -> None:
        super().__init__(job.name)
        self.job = job


@dataclass(frozen=True)
class UnitRunner:
    """Trains units and puts them into the store."""

    inputs: InputsOf  # for example `InputCache.inputs`
    store: Store  # store of finished units, which other processes may share
    callback: Callback  # called with the events of units
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
        """Train a unit whose needed units are finished, unless another process trains or has trained it.

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
                inputs, initial_weights, teacher_outputs = (
                    self.inputs(job.settings),
                    self._initial_weights(job),
                    self._teacher_outputs(job),
                )
            self.callback(UnitStarted(job.name, number, job.settings.training.epochs, job.documents))
            warn = warner(self.callback)
            timestamp_ms = partial(self.store.timestamps.timestamp_ms, key, warn=warn)
            callbacks = UnitCallbacks(self.callback, on_epoch, timestamp_ms)
            inputs = add_teacher_outputs(inputs, teacher_outputs)
            checkpoints = self.store.checkpoints(key)
            record, weights = train_unit(job, inputs, callbacks, checkpoints, initial_weights)
            record = replace(record, teacher_entropy=entropies(teacher_outputs, inputs.tasks))
            kept = job.settings.store.keep_weights or key in self.needed_keys
            self.store.save(record, weights if kept else None)
            checkpoints.remove()
        return record

    def teacher_outputs(self, teacher: Job) -> TeacherOutputs:
        """Return the teacher outputs of a finished unit; computed at the first call and stored.

        Raises:
            DamagedError: it has neither teacher outputs nor weights, or its weights were changed.
        """
        key = teacher.unit.key
        kept = read_teacher_outputs(self.store.units / key)
        if kept is not None:
            return kept
        files: dict[Path, list[str]] = {}
        for task, path in self.store.weights_of(self.store.load(key)).items():
            files.setdefault(path, []).append(task)
        if not files:
            raise _weightless(key)
        weights = ((tasks, self._read(path)) for path, tasks in files.items())
        outputs = teacher_outputs_of(teacher, self.inputs(teacher.settings), weights)
        write_teacher_outputs(self.store.units / key, outputs)
        return outputs

    def _initial_weights(self, job: Job) -> dict[str, torch.Tensor] | None:
        """Return the initial weights of a unit; None for the published encoder."""
        if job.start_job is None:
            return None
        key = job.start_job.unit.key
        read, warn = partial(self._weights, key), partial(self._warn, job.start_job)
        weights = self.store.read_or_set_aside(key, read, warn)
        if weights is None:
            raise UnitMissing(job.start_job)
        return weights

    def _weights(self, key: str) -> dict[str, torch.Tensor]:
        """Return the weights of a finished unit."""
        path = self.store.weights(key)
        if path is None:  # another run has trained it in the meantime without keeping weights
            raise _weightless(key)
        return self._read(path)

    def _read(self, path: Path) -> dict[str, torch.Tensor]:
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        with reading(path.parent):
            try:
                return load_file(path)
            except SafetensorError as error:
                raise ValueError(f"`{path.name}`: {error}") from error

    def _teacher_outputs(self, job: Job) -> list[tuple[Job, TeacherOutputs]]:
        """Return a unit's teachers with their outputs for its tasks."""
        outputs: list[tuple[Job, TeacherOutputs]] = []
        new = sum(not has_teacher_outputs(self.store.units / teacher.unit.key) for teacher in job.teachers)
        if new:
            self.callback(
                NoteGiven(f"{job.name}: computing the outputs of {many(new, 'teacher')} for its documents")
            )
        for teacher in job.teachers:
            read = partial(self.teacher_outputs, teacher)
            teacher_outputs = self.store.read_or_set_aside(
                teacher.unit.key, read, partial(self._warn, teacher)
            )
            if teacher_outputs is None:
                raise UnitMissing(teacher)
            tasks = job.unit.model.tasks
            outputs.append(
                (teacher, {name: teacher_outputs[name] for name in teacher_outputs if name in tasks})
            )
        return outputs

    def _warn(self, job: Job, text: str) -> None:
        self.callback(WarningGiven(f"{job.name}: {text}"))


def _weightless(key: str) -> DamagedError:
    return DamagedError(f"the finished unit {key} has no weights", why="it has no weights")
