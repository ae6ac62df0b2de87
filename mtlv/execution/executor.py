"""Interface of executors of units."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Self

from mtlv.events import UnitEnded
from mtlv.execution.runner import OnEpoch, UnitRunner
from mtlv.plan import Scores
from mtlv.store.records import EpochRecord, UnitRecord
from mtlv.units.job import Job


def ignore_epoch(record: EpochRecord, scores: Scores) -> None:
    """Ignore an epoch of a unit that no run tracks; its record has it."""


class Executor:
    """Returns the records of units, from the store or by training; its exit stops all work."""

    processes = 1  # number of units that are trained at once
    is_local = True  # whether this machine trains

    def __init__(self, runner: UnitRunner, jobs: Sequence[Job]) -> None:
        self._runner = runner
        self._jobs = {job.unit.key: job for job in jobs}
        self._numbers = {key: number for number, key in enumerate(self._jobs, start=1)}
        self._expected: Counter[str] = Counter()  # number of members that will request a unit, by its key
        self._ended: set[str] = set()  # keys of units whose end was reported

    def expect(self, jobs: Sequence[Job]) -> None:
        """Announce units that a member will request, each once; they may be trained from now on."""
        self._expected.update(job.unit.key for job in jobs)

    def give_up(self, jobs: Sequence[Job]) -> None:
        """Withdraw units of a member; those that no other member expects need not be trained."""
        self._expected.subtract(job.unit.key for job in jobs)

    def run(self, job: Job, on_epoch: OnEpoch = ignore_epoch) -> UnitRecord:
        """Run a unit; `on_epoch` is called, in this process, for each trained epoch."""
        raise NotImplementedError

    def _report_end(self, job: Job, *, cached: bool) -> None:
        """Report the end of a unit, only once if members share it or it was trained ahead."""
        key = job.unit.key
        if key not in self._ended:
            self._ended.add(key)
            self._runner.callback(UnitEnded(job.name, cached, job.documents, self._numbers[key]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Stop all work."""
