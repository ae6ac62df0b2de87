"""Interface of executors of units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from mtlv.execution.runner import OnEpoch
from mtlv.store.records import UnitRecord
from mtlv.units.job import Job


class Executor:
    """Returns the records of units, from the store or by training; its exit stops all work.

    By default, it trains nothing ahead, so only `run` does anything.
    """

    def expect(self, jobs: Sequence[Job]) -> None:
        """Announce units that a member will request, each once; they may be trained from now on."""

    def give_up(self, jobs: Sequence[Job]) -> None:
        """Withdraw units of a member; those that no other member expects need not be trained."""

    def run(self, job: Job, on_epoch: OnEpoch) -> UnitRecord:
        """Run a unit; `on_epoch` is called, in this process, for each trained epoch."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Stop all work."""
