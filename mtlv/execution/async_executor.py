"""Base of executors that train several units at once in other processes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from mtlv.errors import TrainingError
from mtlv.events import Callback, NoteGiven, UnitEnded, UnitFailed, WarningGiven
from mtlv.execution.executor import Executor
from mtlv.execution.local import others_work
from mtlv.execution.messages import (
    Ending,
    EpochScored,
    HeldElsewhere,
    Message,
    NeededDamaged,
    Trained,
)
from mtlv.execution.runner import OnEpoch, UnitRunner
from mtlv.execution.scheduler import PAUSE, Scheduler
from mtlv.execution.worker import TrainRequest
from mtlv.plan import Scores
from mtlv.processes import Crashed, Failed
from mtlv.store.local import Store
from mtlv.store.records import EpochRecord, UnitRecord
from mtlv.units.input_cache import InputCache
from mtlv.units.job import Job, starts_of


@dataclass
class _Seen:
    """State of a unit that is being trained, or ended here."""

    job: Job
    # epochs not passed to its member yet, because it was not its turn
    epochs: list[tuple[EpochRecord, Scores]] = field(default_factory=list)
    error: Exception | None = None  # error of a failed unit
    reported: bool = False  # whether its end was reported
    noted: bool = False  # whether a note was sent that another process has it


class AsyncExecutor(Executor, ABC):
    """Executor that trains units before they are requested: all of the suite, in order, see `each_once`.

    Events are passed on in the thread that requests units; `on_epoch` is called when it is the member's turn.
    """

    tries = 2  # attempts of a unit whose processes are lost

    def __init__(self, cache: InputCache, store: Store, callback: Callback, jobs: Sequence[Job]) -> None:
        self.store, self.callback = store, callback
        self._starts = starts_of(jobs)
        self._runner = UnitRunner(cache.inputs, store, callback, self._starts)
        self._numbers = {job.unit.key: number for number, job in enumerate(jobs, start=1)}
        self._seen = {job.unit.key: _Seen(job) for job in jobs}
        self._scheduler = Scheduler(jobs, self._runner.there)
        self._lost: Counter[str] = Counter()
        self._wanted = ""

    @abstractmethod
    def _listen(self) -> None:
        """Wait up to `PAUSE` seconds for messages, and handle them with `_receive`."""

    def expect(self, jobs: Sequence[Job]) -> None:
        self._scheduler.expect(jobs)

    def give_up(self, jobs: Sequence[Job]) -> None:
        self._scheduler.give_up(jobs)

    def run(self, job: Job, on_epoch: OnEpoch) -> UnitRecord:
        """Return the record of a unit, once it is finished.

        Raises:
            TrainingError: it failed, or too many of its processes ended.
            MtlvError: another unit had an error that ends the suite, such as a full disk.
        """
        key = job.unit.key
        seen = self._seen[key]
        self._wanted = key
        self._scheduler.want(seen.job)
        self._hand_on(seen, on_epoch)
        while True:
            while not self._over(seen):
                self._listen()
                self._hand_on(seen, on_epoch)
            if seen.error is not None:
                raise seen.error
            record = self._runner.taken(seen.job)
            if record is not None:
                self._tell_end(seen, cached=True)
                return record
            self._train_again(seen.job)
            self._listen()

    def _train_again(self, job: Job) -> None:
        """Train a finished unit with damaged files again."""
        self._seen[job.unit.key].reported = False
        self._scheduler.undone(job)

    def _over(self, seen: _Seen) -> bool:
        """Whether a unit has ended. If it was trained here, its last message counts, not its files."""
        known = seen.error is not None or seen.reported
        return known or (not self._scheduler.holds(seen.job) and self._runner.there(seen.job))

    def _hand_on(self, seen: _Seen, on_epoch: OnEpoch) -> None:
        """Pass on the epochs of the requested unit, including earlier ones."""
        while seen.epochs:
            on_epoch(*seen.epochs.pop(0))

    def _request(self, job: Job) -> TrainRequest:
        key = job.unit.key
        return TrainRequest(job, self._numbers[key], key in self._starts)

    # ---- Messages, in the thread that requests units ------------------------------------------------------

    def _receive(self, key: str, message: Message) -> None:
        seen = self._seen[key]
        match message:
            case EpochScored(record, scores):
                seen.epochs.append((record, scores))
            case Trained():
                self._tell_end(seen, cached=False)
            case NeededDamaged(needed):
                self._train_again(self._seen[needed].job)
            case HeldElsewhere():
                if not seen.noted:
                    seen.noted = True
                    self.callback(NoteGiven(others_work(self.store, seen.job)))
            case Failed(error):
                self._fail(seen, error)
            case Crashed(traceback):
                raise RuntimeError(f"in the process that trained `{seen.job.name}`:\n{traceback}")
            case _:
                self.callback(message)

    def _tell_end(self, seen: _Seen, *, cached: bool) -> None:
        """Report the end of a unit, only once if several members share it."""
        if not seen.reported:
            seen.reported = True
            if seen.job.unit.key != self._wanted:
                seen.epochs.clear()  # its record contains them, when it is its turn
            self.callback(UnitEnded(seen.job.name, cached, seen.job.documents))

    def _fail(self, seen: _Seen, error: Exception) -> None:
        self.callback(UnitFailed(seen.job.name))
        if not isinstance(error, TrainingError):
            raise error  # a full disk or a missing device does not concern only this unit
        seen.error = error

    # ---- The order of units --------------------------------------------------------------------------------

    def _settle(self, job: Job, ending: Ending) -> None:
        """Update the scheduler after the last message of a unit."""
        if isinstance(ending, HeldElsewhere | NeededDamaged):
            self._scheduler.again(job, after=PAUSE)
        elif isinstance(ending, Trained):
            self._scheduler.ended(job)

    def _lose(self, job: Job, how: str, *, own: bool = True) -> Message:
        """Handle the end of a unit's process: resume from the last checkpoint or give up; return the message.

        If the unit may be the cause (`own`), attempts are limited.
        """
        key = job.unit.key
        self._lost[key] += own
        if self._lost[key] < self.tries:
            self._scheduler.again(job)
            text = f"{job.name}: the process that trained it has ended ({how}); another one continues"
            return WarningGiven(text)
        error = TrainingError(
            f"`{job.name}`: {self.tries} processes that trained it have ended",
            got=how,
            then="if memory ran out (SIGKILL), lower `execution.processes` or `training.batch_size`, or "
            "on Ray raise `execution.memory_gb`",
        )
        return Failed(error)
