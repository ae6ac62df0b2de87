"""What a unit needs of others: the weights that it starts from, and the outputs that it learns from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from mtlv.errors import DamagedError
from mtlv.events import Callback, NoteGiven, WarningGiven
from mtlv.formatting import many
from mtlv.store.checkpoints import has_teacher_outputs, read_teacher_outputs, write_teacher_outputs
from mtlv.store.local import Store
from mtlv.store.unit_files import reading
from mtlv.units.job import Job
from mtlv.units.teacher_outputs import TeacherOutputs, teacher_outputs_of

if TYPE_CHECKING:
    from pathlib import Path

    import torch

    from mtlv.settings.schema import Settings
    from mtlv.units.inputs import UnitInputs

InputsOf = Callable[["Settings"], "UnitInputs"]
"""Function from the settings of a member to the inputs of its units."""


class UnitMissing(Exception):
    """A unit whose weights another needs was damaged and must be trained again first."""

    def __init__(self, job: Job) -> None:
        super().__init__(job.name)
        self.job = job


@dataclass(frozen=True)
class UnitNeeds:
    """Reads what units need of finished ones from the store."""

    inputs: InputsOf  # for example `InputCache.inputs`
    store: Store  # store of finished units, which other processes may share
    callback: Callback  # called with the events of units

    def initial_weights(self, job: Job) -> dict[str, torch.Tensor] | None:
        """Return the weights that a unit starts from; None for the published encoder.

        Raises:
            UnitMissing: the unit that it starts from was damaged.
        """
        if job.start_job is None:
            return None
        key = job.start_job.unit.key
        read, warn = partial(self._weights, key), partial(self._warn, job.start_job)
        weights = self.store.read_or_set_aside(key, read, warn)
        if weights is None:
            raise UnitMissing(job.start_job)
        return weights

    def outputs_of_teachers(self, job: Job) -> list[tuple[Job, TeacherOutputs]]:
        """Return a unit's teachers with their outputs for its tasks.

        Raises:
            UnitMissing: a teacher was damaged.
        """
        outputs: list[tuple[Job, TeacherOutputs]] = []
        new = sum(not has_teacher_outputs(self.store.units / teacher.unit.key) for teacher in job.teachers)
        if new:
            self.callback(
                NoteGiven(f"{job.name}: computing the outputs of {many(new, 'teacher')} for its documents")
            )
        for teacher in job.teachers:
            read = partial(self.outputs_of, teacher)
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

    def outputs_of(self, teacher: Job) -> TeacherOutputs:
        """Return the outputs of a finished unit as a teacher; computed at the first call and stored.

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

    def _warn(self, job: Job, text: str) -> None:
        self.callback(WarningGiven(f"{job.name}: {text}"))


def _weightless(key: str) -> DamagedError:
    return DamagedError(f"the finished unit {key} has no weights", why="it has no weights")
