"""A unit with everything needed to train it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtlv.plan import Unit

if TYPE_CHECKING:
    from mtlv.data.folds import Fold
    from mtlv.settings.schema import Settings


@dataclass(frozen=True)
class Job:
    """A unit with everything needed to train it.

    Args:
        unit: the unit.
        settings: settings of its suite member.
        fold: fold of the corpus.
        name: displayed name.
        rows: number of training documents of the sources of its tasks; None with one source.
        start_job: job of an earlier stage, from whose weights it starts; None for the published encoder.
        carry: which weights it takes, one of `mtlv.models.transfer_weights.CARRY`.
        teachers: jobs of an earlier stage, from whose outputs it learns.
    """

    unit: Unit
    settings: Settings
    fold: Fold
    name: str = ""
    rows: int | None = None
    start_job: Job | None = None
    carry: str = "encoder"
    teachers: tuple[Job, ...] = ()

    @property
    def precision(self) -> str:
        """Precision in which it is trained and predicts, `fp32` or `bf16`."""
        return str(self.unit.train["precision"])

    @property
    def needs(self) -> tuple[Job, ...]:
        """Jobs whose weights it uses: those that it starts from, and its teachers."""
        return self.teachers if self.start_job is None else (self.start_job, *self.teachers)

    @property
    def before(self) -> tuple[Job, ...]:
        """Jobs that must be trained before, each once, first stage first."""
        return tuple(with_needs(self.needs))

    @property
    def documents(self) -> int:
        """Documents times epochs, the amount of work."""
        rows = len(self.fold.train) if self.rows is None else self.rows
        return rows * self.settings.training.epochs


def needed_keys(jobs: Iterable[Job]) -> frozenset[str]:
    """Return the keys of units whose weights others use: they start from them, or are taught by them."""
    return frozenset(need.unit.key for job in jobs for need in job.needs)


def each_once(jobs: Iterable[Job]) -> list[Job]:
    """Return the jobs in order, without duplicates of units that several members share."""
    first: dict[str, Job] = {}
    for job in jobs:
        first.setdefault(job.unit.key, job)
    return list(first.values())


def with_needs(jobs: Iterable[Job]) -> list[Job]:
    """Return jobs with those that must be trained before, each once, in the order of training."""
    return each_once(needed_job for job in jobs for needed_job in (*job.before, job))
