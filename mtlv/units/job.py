"""A unit to train, with all that says how."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtlv.plan import Unit

if TYPE_CHECKING:
    from mtlv.data.splits import Fold
    from mtlv.settings.schema import Settings


@dataclass(frozen=True)
class Job:
    """A unit with all that says how to train it.

    Args:
        unit: what is trained.
        settings: of its suite member.
        fold: of the corpus.
        name: what people read.
        rows: training documents of the sources that its tasks are of; nothing where there is one source.
        start: of an earlier stage, whose weights it starts from; nothing for the published encoder.
        carry: what it takes of them, one of `mtlv.models.transfer_weights.CARRY`.
    """

    unit: Unit
    settings: Settings
    fold: Fold
    name: str = ""
    rows: int | None = None
    start: Job | None = None
    carry: str = "encoder"

    @property
    def before(self) -> tuple[Job, ...]:
        """What must be trained before it, the first stage first."""
        return () if self.start is None else (*self.start.before, self.start)

    @property
    def documents(self) -> int:
        """Documents times epochs, the work to do."""
        rows = len(self.fold.train) if self.rows is None else self.rows
        return rows * self.settings.training.epochs


def starts_of(jobs: Iterable[Job]) -> frozenset[str]:
    """Keys of units that others start from."""
    return frozenset(job.start.unit.key for job in jobs if job.start is not None)


def each_once(jobs: Iterable[Job]) -> list[Job]:
    """Units in their order, those that several members share where they come first."""
    first: dict[str, Job] = {}
    for job in jobs:
        first.setdefault(job.unit.key, job)
    return list(first.values())
