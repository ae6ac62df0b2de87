"""What every executor of units offers, wherever it runs them."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

from mtlv.execution.runner import OnEpoch
from mtlv.store.local import UnitRecord
from mtlv.units.job import Job


class Executor(Protocol):
    """Gives the records of units, from the store or by training; leaving it ends what it began."""

    def expect(self, jobs: Sequence[Job]) -> None:
        """A member will ask for these units, each once; they may be trained from now on."""
        ...

    def give_up(self, jobs: Sequence[Job]) -> None:
        """A member asks for these no more: what no other expects need not be trained."""
        ...

    def run(self, job: Job, on_epoch: OnEpoch) -> UnitRecord:
        """Run a unit; `on_epoch` hears, in this process, of each epoch that is trained."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
