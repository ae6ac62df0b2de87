"""Writes a unit's checkpoints as it trains, and goes on from the last."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mtlv.errors import TrackingError
from mtlv.events import NoteGiven, UnitResumed, warner
from mtlv.store.checkpoints import Checkpoints
from mtlv.training.hooks import Hook
from mtlv.training.ranks import ALONE, Ranks
from mtlv.units.job import Job
from mtlv.units.validation import ValidationHook

if TYPE_CHECKING:
    from mtlv.training.state import EpochProgress, TrainingState


@dataclass
class CheckpointHook(Hook):
    """Takes a copy of all that the rest of a unit depends on, every so many seconds or steps.

    Taking it stops training for the time of a copy in main memory; another thread writes it to disk. Of
    several ranks the first writes, and all go on from what it reads: their weights are the same.

    Args:
        job: the unit; its `store` section says how often.
        trained: what training changes.
        validation: what came of the epochs before.
        checkpoints: where to.
        ranks: who train the unit together.
    """

    job: Job
    trained: TrainingState
    validation: ValidationHook
    checkpoints: Checkpoints
    ranks: Ranks = ALONE
    _begun: float = field(default_factory=time.perf_counter)
    _last: float = field(default_factory=time.perf_counter)
    _spent: float = 0.0

    @property
    def seconds(self) -> float:
        """Of work on the unit, in all processes that had a part in the result."""
        return self._spent + time.perf_counter() - self._begun

    def go_on(self) -> EpochProgress:
        """Where to go on: after the last checkpoint that is whole, or at the beginning.

        Raises:
            TrackingError: a whole checkpoint is of another model.
        """
        from mtlv.training.state import EpochProgress

        callback = self.validation.callbacks.on_event
        state = self.ranks.same(self.checkpoints.newest(warner(callback)) if self.ranks.first else None)
        if state is None:
            return EpochProgress()
        try:
            progress = self.trained.put_back(state["training"])
            self.validation.put_back(state["watch"])
            self._spent = float(state["seconds"])
        except (KeyError, ValueError, TypeError, RuntimeError) as error:
            raise TrackingError(
                f"the checkpoints in {self.checkpoints.folder} are not of this model",
                got=error,
                then="delete that folder, and the unit is trained from its beginning",
            ) from error
        trained = sum(record.documents for record in self.validation.records) + progress.documents
        callback(UnitResumed(self.job.name, trained))
        callback(
            NoteGiven(f"{self.job.name}: goes on after step {progress.step}, in epoch {progress.epoch + 1}")
        )
        return progress

    def on_step(self, progress: EpochProgress) -> None:
        from mtlv.training.finite import mean_loss

        if not self.ranks.first or not self._due(progress.step):
            return
        mean_loss(progress)  # what is broken is not kept
        state = {
            "training": self.trained.take(progress),
            "watch": self.validation.take(),
            "seconds": self.seconds,
        }
        self.ranks.need_all()
        self.checkpoints.write(progress.step, state)
        self._last = time.perf_counter()

    def _due(self, step: int) -> bool:
        store = self.job.settings.store
        by_steps = store.checkpoint_steps is not None and step % store.checkpoint_steps == 0
        return by_steps or time.perf_counter() - self._last >= store.checkpoint_seconds
