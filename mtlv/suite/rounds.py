"""Rounds of a suite: if groups of a member depend on trained units of others, it runs in a later round."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtlv.figures.palette import RUNS
from mtlv.planning.resolve import ResolvedMember, Resolver
from mtlv.planning.reuse import KEEPING, IfExists, prepare, to_run
from mtlv.store.progress import SuiteState, UnitState
from mtlv.units.input_cache import InputCache
from mtlv.units.job import Job, each_once

if TYPE_CHECKING:
    from mtlv.settings import Suite


@dataclass(frozen=True)
class SuiteRound:
    """Members that can run now, or units that have to be trained before any can."""

    resolved: list[ResolvedMember]  # members to run; empty if only units are trained
    of_members: Mapping[str, Sequence[Job]]  # units of each member, by its name

    @property
    def jobs(self) -> list[Job]:
        """All units, each once."""
        return each_once(job for jobs in self.of_members.values() for job in jobs)

    def state(self, suite: Suite) -> SuiteState:
        """Return the state of all units before the first one starts, as listed by `mtlv status`."""
        members = {
            job.unit.key: name for name, jobs in reversed(list(self.of_members.items())) for job in jobs
        }
        units = [UnitState(job.unit.key, job.name, members[job.unit.key]) for job in self.jobs]
        return SuiteState(suite.experiment, str(suite.path.absolute()), units=units)


class SuiteRounds:
    """The rounds of a suite, one after another; without `grouping.from` there is one."""

    def __init__(self, suite: Suite, cache: InputCache, if_exists: IfExists) -> None:
        assert cache.store is not None
        self._suite, self._cache, self._if_exists, self._store = suite, cache, if_exists, cache.store
        self._left = list(suite.members)
        self._done: set[str] = set()  # keys of units of earlier rounds
        self._order = {member.name: number for number, member in enumerate(suite.members)}
        self.colours = {name: RUNS[number % len(RUNS)] for name, number in self._order.items()}

    def place(self, resolved: ResolvedMember) -> int:
        """Return the place of a member in the suite."""
        return self._order[resolved.member.name]

    def leave_out(self, name: str) -> None:
        """Run a member in no later round."""
        self._left = [member for member in self._left if member.name != name]

    def next(self) -> SuiteRound | None:
        """Return the next round; None if there is nothing left to run.

        Raises:
            MtlvError: there is a problem that a user can solve.
        """
        reads = (lambda _: True) if self._if_exists in KEEPING else self._done.__contains__
        ready, waiting = Resolver(self._cache, self._suite.members, reads).ready(self._left)
        if waiting and self._suite.search is not None:  # a search needs all of its members
            ready = []
        else:
            self._left = [member for member in self._left if member.name in waiting]
        self._prepare(job for member in ready for job in member.jobs)
        resolved = to_run(self._if_exists, ready, self._store, self._cache.warn)
        if not resolved:
            self._prepare(job for error in waiting.values() for job in error.jobs)
        of_members = {one.name: each_once(one.jobs) for one in resolved}
        next_round = SuiteRound(resolved, of_members or {name: error.jobs for name, error in waiting.items()})
        return next_round if next_round.of_members else None

    def _prepare(self, jobs: Iterable[Job]) -> None:
        new = [job for job in each_once(jobs) if job.unit.key not in self._done]
        prepare(self._if_exists, new, self._store)
        self._done |= {job.unit.key for job in new}
