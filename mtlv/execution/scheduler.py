"""Which unit is next, where several are trained at once."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from threading import Condition

from mtlv.units.job import Job

PAUSE = 1.0  # seconds until a unit of another process is looked at again


class Scheduler:
    """Units that are wanted, each taken by one thread at a time, in their order; threads wait here for one.

    A unit waits for the one that it starts from, and is not looked at before that is done. To take one of n
    costs log n.

    Args:
        jobs: all units, in their order, each once.
        there: whether a unit is done; asked when it is its turn.
    """

    def __init__(self, jobs: Sequence[Job], there: Callable[[Job], bool]) -> None:
        self._there = there
        self._jobs = {job.unit.key: job for job in jobs}
        self._places = {key: place for place, key in enumerate(self._jobs)}
        self._changed = Condition()
        self._wanted: Counter[str] = Counter()  # by how many members
        self._turns: list[tuple[int, str]] = []  # (place, key) of what may be ready; some stand there twice
        self._waiting: defaultdict[str, set[str]] = defaultdict(set)  # for the unit that they start from
        self._later: list[tuple[float, str]] = []  # when to look again at those of others
        self._out: set[str] = set()  # at work, or at an end here
        self._done: set[str] = set()
        self._closed = False

    def expect(self, jobs: Sequence[Job]) -> None:
        """A member will ask for these, each once."""
        with self._changed:
            for job in jobs:
                key = job.unit.key
                self._wanted[key] += 1
                self._turn(key)
            self._changed.notify_all()

    def give_up(self, jobs: Sequence[Job]) -> None:
        """A member asks for these no more; what no other expects is not taken."""
        with self._changed:
            self._wanted.subtract(job.unit.key for job in jobs)

    def want(self, job: Job) -> None:
        """Somebody waits for this one: it goes first, with what it starts from."""
        with self._changed:
            for each in (*job.before, job):
                heappush(self._turns, (-1, each.unit.key))
                self._wanted[each.unit.key] += each is job
            self._changed.notify_all()

    def take(self) -> Job | None:
        """The next unit that is ready; waits for one. None: there will be none."""
        with self._changed:
            while not self._closed:
                job = self._next()
                if job is not None:
                    return job
                self._changed.wait(PAUSE)
            return None

    def next(self) -> Job | None:
        """The next unit that is ready now."""
        with self._changed:
            return None if self._closed else self._next()

    def again(self, job: Job, *, after: float = 0.0) -> None:
        """A unit was not trained after all, and may be taken once more after so many seconds."""
        with self._changed:
            key = job.unit.key
            self._out.discard(key)
            if after:
                heappush(self._later, (time.monotonic() + after, key))
            else:
                self._turn(key)
            self._changed.notify_all()

    def holds(self, job: Job) -> bool:
        """Whether a unit was taken here, and not given back."""
        with self._changed:
            return job.unit.key in self._out

    def ended(self, job: Job) -> None:
        """A unit is done: others may be ready now."""
        with self._changed:
            self._end(job.unit.key)
            self._changed.notify_all()

    def undone(self, job: Job) -> None:
        """A unit that was done is damaged, and is taken once more; one that is at work stays so."""
        with self._changed:
            key = job.unit.key
            if key in self._done:
                self._done.discard(key)
                self._out.discard(key)
                self._turn(key)
            self._changed.notify_all()

    def close(self) -> None:
        """Nothing is taken any more."""
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
            if job.start is not None and not self._is_done(job.start.unit.key):
                self._waiting[job.start.unit.key].add(key)
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
