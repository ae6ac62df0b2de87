"""Units that are not trained, and a store of them in memory, for tests of executors."""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from types import SimpleNamespace

from mtlv.events import EpochEnded, UnitStarted
from mtlv.execution.runner import OnEpoch, UnitRunner
from mtlv.units.job import Job


class Shelf:
    """A store that knows only which units are finished, and which are being trained."""

    root = None

    def __init__(self) -> None:
        self.finished: list[str] = []
        self.locks: defaultdict[str, Lock] = defaultdict(Lock)

    def holder(self, key: str) -> str:
        return "another"


@dataclass(frozen=True)
class MadeUpRunner(UnitRunner):
    """Calls `train_one` in place of training; the record of a unit is its key."""

    train_one: Callable[[Job], None] = lambda _: None

    def there(self, job: Job) -> bool:
        return job.unit.key in self.store.finished

    def take_finished(self, job: Job) -> str:
        return job.unit.key

    def train(self, job: Job, number: int, on_epoch: OnEpoch) -> str | None:
        lock = self.store.locks[job.unit.key]
        if not lock.acquire(blocking=False):
            return None
        try:
            if self.there(job):
                return None
            self.callback(UnitStarted(job.name, number, 1, job.documents))
            self.train_one(job)
            self.callback(EpochEnded(job.name, 1, 1, 0.5, {}, 10.0))
            self.store.finished.append(job.unit.key)
        finally:
            lock.release()
        return job.unit.key


def made_up_job(key: str, *teachers: Job, start: Job | None = None) -> Job:
    unit, settings = SimpleNamespace(key=key), SimpleNamespace(training=SimpleNamespace(epochs=5))
    return Job(
        unit, settings, SimpleNamespace(train=range(10)), f"unit {key}", start_job=start, teachers=teachers
    )  # type: ignore[arg-type]


def made_up_jobs(count: int) -> list[Job]:
    """Units of which some start from others."""
    jobs: list[Job] = []
    for number in range(count):
        start = jobs[number % 4] if number > max(4, count // 2) else None
        jobs.append(made_up_job(f"{number}", start=start))
    return jobs


def sleep_a_little(draw: random.Random) -> None:
    time.sleep(draw.random() / 200)
