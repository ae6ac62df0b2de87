"""Writes checkpoints of a unit during training, and resumes from the last one."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mtlv.errors import TrackingError
from mtlv.events import NoteGiven, UnitResumed, warner
from mtlv.store.checkpoints import Checkpoints
from mtlv.training.hooks import Hook
from mtlv.units.job import Job
from mtlv.units.validation import ValidationHook

if TYPE_CHECKING:
    from mtlv.training.state import EpochProgress, TrainingState


@dataclass
class CheckpointHook(Hook):
    """Writes a checkpoint of the state of a unit at intervals of seconds or steps.

    Training stops only while the state is copied in main memory; a thread writes it to disk.

    Args:
        job: the unit; its `store` section has the intervals.
        trained: state of training.
        validation: validation of the previous epochs.
        checkpoints: destination.
    """

    job: Job
    trained: TrainingState
    validation: ValidationHook
    checkpoints: Checkpoints
    _last: float = field(default_factory=time.perf_counter)
    _spent: float = 0.0

    def __post_init__(self) -> None:
        self._begun = self.validation.callbacks.clock()

    @property
    def seconds(self) -> float:
        """Seconds of work on the unit, in all processes that contributed to the result."""
        return self._spent + self.validation.callbacks.clock() - self._begun

    def go_on(self) -> EpochProgress:
        """Return the progress after the last valid checkpoint, or at the beginning.

        Raises:
            TrackingError: a valid checkpoint is of another model.
        """
        from mtlv.training.state import EpochProgress

        callback = self.validation.callbacks.on_event
        state = self.checkpoints.newest(warner(callback))
        if state is None:
            return EpochProgress()
        try:
            progress = self.trained.put_back(state["training"])
            self.validation.put_back(state["watch"])
            self._spent = float(state["seconds"])
        except (KeyError, ValueError, TypeError, RuntimeError) as error:
            raise TrackingError(
                f"the checkpoints in {self.checkpoints.folder} do not match this model",
                got=error,
                then="delete that folder to train the unit from the beginning",
            ) from error
        trained = sum(record.documents for record in self.validation.records) + progress.documents
        speed = trained / self._spent if self._spent > 0 else 0.0
        callback(UnitResumed(self.job.name, trained, progress.epoch, speed))
        epochs = self.job.settings.training.epochs
        where = f"resumes after step {progress.step}, in epoch {progress.epoch + 1} of {epochs}"
        callback(NoteGiven(f"{self.job.name}: {where}"))
        return progress

    def on_step(self, progress: EpochProgress) -> None:
        from mtlv.training.state import mean_loss

        if not self._due(progress.step):
            return
        mean_loss(progress)  # do not save a diverged state
        state = {
            "training": self.trained.take(progress),
            "watch": self.validation.take(),
            "seconds": self.seconds,
        }
        self.checkpoints.write(progress.step, state)
        self._last = time.perf_counter()

    def _due(self, step: int) -> bool:
        store = self.job.settings.store
        by_steps = store.checkpoint_steps is not None and step % store.checkpoint_steps == 0
        return by_steps or time.perf_counter() - self._last >= store.checkpoint_seconds
