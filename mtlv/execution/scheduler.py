"""Selects the next unit when several are trained at once."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from threading import Condition

from mtlv.units.job import Job

PAUSE = 1.0  # seconds until a unit of another process is checked again


class Scheduler:
    """Queue of units in order, each taken by one thread at a time; threads wait here for one.

    A unit waits for those that it needs (its start and its teachers), and is not checked before they are
    finished. Taking one of n units costs log n.
    """

    def __init__(self, jobs: Sequence[Job], there: Callable[[Job], bool]) -> None:
        self._there = there
        self._jobs = {job.unit.key: job for job in jobs}
        self._places = {key: place for place, key in enumerate(self._jobs)}
        self._changed = Condition()
        self._wanted: Counter[str] = Counter()  # by how many members
        self._turns: list[tuple[int, str]] = []  # (place, key) of units that may be ready, with duplicates
        self._waiting: defaultdict[str, set[str]] = defaultdict(set)  # for a unit that they need
        self._later: list[tuple[float, str]] = []  # when to check units of other processes again
        self._out: set[str] = set()  # running or ended here
        self._done: set[str] = set()
        self._closed = False

    def expect(self, jobs: Sequence[Job]) -> None:
        """Announce units that a member will request, each once."""
        with self._changed:
            for job in jobs:
                key = job.unit.key
                self._wanted[key] += 1
                self._turn(key)
            self._changed.notify_all()

    def give_up(self, jobs: Sequence[Job]) -> None:
        """Withdraw units of a member; those that no other member expects are not taken."""
        with self._changed:
            self._wanted.subtract(job.unit.key for job in jobs)

    def want(self, job: Job) -> None:
        """Move a unit that is waited for to the front, with the units that it needs."""
        with self._changed:
            for each in (*job.before, job):
                heappush(self._turns, (-1, each.unit.key))
                self._wanted[each.unit.key] += each is job
            self._changed.notify_all()

    def take(self) -> Job | None:
        """Wait for the next unit that is ready; None if there will be none."""
        with self._changed:
            while not self._closed:
                job = self._next()
                if job is not None:
                    return job
                self._changed.wait(PAUSE)
            return None

    def next(self) -> Job | None:
        """Return the next unit that is ready now, or None."""
        with self._changed:
            return None if self._closed else self._next()

    def again(self, job: Job, *, after: float = 0.0) -> None:
        """Return a unit that was not trained; it may be taken again after `after` seconds."""
        with self._changed:
            key = job.unit.key
            self._out.discard(key)
            if after:
                heappush(self._later, (time.monotonic() + after, key))
            else:
                self._turn(key)
            self._changed.notify_all()

    def holds(self, job: Job) -> bool:
        """Whether a unit was taken here and not returned."""
        with self._changed:
            return job.unit.key in self._out

    def ended(self, job: Job) -> None:
        """Mark a unit as finished: others may be ready now."""
        with self._changed:
            self._end(job.unit.key)
            self._changed.notify_all()

    def undone(self, job: Job) -> None:
        """Queue a damaged finished unit again, unless it is running."""
        with self._changed:
            key = job.unit.key
            if key in self._done:
                self._done.discard(key)
                self._out.discard(key)
                self._turn(key)
            self._changed.notify_all()

    def close(self) -> None:
        """Stop: no more units are taken."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    # ---- With the lock held --------------------------------------------------------------------------------

    def _turn(self, key: str) -> None:
        heappush(self._turns, (self._places[key], key))

    def _next(self) -> Job | None:
        while self._later and self._later[0][0] <= time.monotonic():
            self._turn(heappop(self._later)[1])
        while self._turns:
            key = heappop(self._turns)[1]
            if key in self._out or self._wanted[key] <= 0 or self._is_done(key):
                continue
            job = self._jobs[key]
            needed = next((need.unit.key for need in job.needs if not self._is_done(need.unit.key)), None)
            if needed is not None:
                self._waiting[needed].add(key)
                continue
            self._out.add(key)
            return job
        return None

    def _is_done(self, key: str) -> bool:
        if key not in self._done and key not in self._out and self._there(self._jobs[key]):
            self._end(key)
        return key in self._done

    def _end(self, key: str) -> None:
        self._done.add(key)
        for waiting in self._waiting.pop(key, ()):
            self._turn(waiting)
