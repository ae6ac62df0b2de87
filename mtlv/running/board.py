"""Which unit is next, where several are trained at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from threading import Condition

from mtlv.running.job import Job

PAUSE = 1.0  # seconds until a unit of another process, or a start, is looked at again


class Board:
    """Units that are wanted, each taken by one thread at a time; threads wait here for one that is ready.

    Args:
        ready: whether a unit can be trained now: it is not done, and what it starts from is.
    """

    def __init__(self, ready: Callable[[Job], bool]) -> None:
        self._ready = ready
        self._changed = Condition()
        self._expected: list[Job] = []
        self._first: Job | None = None
        self._out: set[str] = set()  # keys of units that are at work, or came to an end here
        self._later: dict[str, float] = {}  # when those may be looked at again that another process has
        self._closed = False

    def expect(self, jobs: Sequence[Job]) -> None:
        """What is wanted from now on, in this order."""
        with self._changed:
            self._expected = list(jobs)
            self._changed.notify_all()

    def want(self, job: Job) -> None:
        """Somebody waits for this one: it goes first."""
        with self._changed:
            self._first = job
            self._changed.notify_all()

    def take(self) -> Job | None:
        """The next unit that is ready; waits for one. None: there will be none."""
        with self._changed:
            while not self._closed:
                job = next(self._choice(), None)
                if job is not None:
                    self._out.add(job.unit.key)
                    return job
                self._changed.wait(PAUSE)
            return None

    def again(self, job: Job, *, after: float = 0.0) -> None:
        """A unit was not trained after all, and may be taken once more after so many seconds."""
        with self._changed:
            self._out.discard(job.unit.key)
            self._later[job.unit.key] = time.monotonic() + after
            self._changed.notify_all()

    def holds(self, job: Job) -> bool:
        """Whether a unit was taken here, and not given back."""
        with self._changed:
            return job.unit.key in self._out

    def ended(self) -> None:
        """A unit is done: others may be ready now."""
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        """Nothing is taken any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _choice(self) -> Iterator[Job]:
        now = time.monotonic()
        for job in ([self._first] if self._first is not None else []) + self._expected:
            key = job.unit.key
            if key not in self._out and self._later.get(key, 0.0) <= now and self._ready(job):
                yield job
