"""Which unit is next: in order, none twice, none before what it starts from."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

from mtlv.execution import scheduler as module
from mtlv.execution.scheduler import Scheduler
from mtlv.units.job import Job


class FakeUnit:
    def __init__(self, key: str) -> None:
        self.key = key


def job(key: str, start: Job | None = None, *teachers: Job) -> Job:
    return Job(FakeUnit(key), None, None, start=start, teachers=teachers)  # type: ignore[arg-type]


def keys(jobs: Sequence[Job | None]) -> str:
    return "".join(each.unit.key for each in jobs if each)


def all_of(scheduler: Scheduler) -> str:
    """Every unit that can be taken now, each ended at once."""
    found = []
    while (one := scheduler.next()) is not None:
        found.append(one)
        scheduler.ended(one)
    return keys(found)


def test_the_wanted_unit_goes_first_and_none_is_taken_twice() -> None:
    jobs = [job(key) for key in "abcd"]
    scheduler = Scheduler(jobs, lambda job: job.unit.key == "c")
    scheduler.expect(jobs)
    scheduler.want(jobs[1])
    assert keys([scheduler.next() for _ in range(4)]) == "bad"
    scheduler.again(jobs[0])
    assert scheduler.take() is jobs[0]
    assert scheduler.holds(jobs[0])
    assert not scheduler.holds(jobs[2])


def test_a_unit_waits_for_what_it_starts_from_and_draws_it_forward() -> None:
    first, middle = job("f"), job("m")
    second = job("s", start=first)
    scheduler = Scheduler([middle, first, second], lambda _: False)
    scheduler.expect([middle, first, second])
    scheduler.want(second)
    taken = scheduler.next()
    assert taken is first
    assert scheduler.next() is middle
    assert scheduler.next() is None  # nothing is ready before the first is done
    scheduler.ended(first)
    assert scheduler.next() is second


def test_a_start_that_another_process_has_done_lets_others_go() -> None:
    there: set[str] = set()
    first = job("f")
    second = job("s", start=first)
    scheduler = Scheduler([first, second], lambda job: job.unit.key in there)
    scheduler.expect([first, second])
    assert scheduler.next() is first
    scheduler.again(first)  # another process had it
    there.add("f")
    assert scheduler.next() is second


def test_one_that_another_process_has_is_looked_at_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    jobs = [job("a"), job("b")]
    scheduler = Scheduler(jobs, lambda _: False)
    scheduler.expect(jobs)
    assert scheduler.next() is jobs[0]
    scheduler.again(jobs[0], after=5)
    assert keys([scheduler.next(), scheduler.next()]) == "b"
    now[0] = 5.0
    assert scheduler.next() is jobs[0]


def test_what_a_member_gives_up_is_not_taken_unless_another_expects_it() -> None:
    jobs = [job(key) for key in "abc"]
    scheduler = Scheduler(jobs, lambda _: False)
    scheduler.expect(jobs[:2])
    scheduler.expect(jobs[1:])
    scheduler.give_up(jobs[:2])
    assert all_of(scheduler) == "bc"


def test_a_student_waits_for_its_start_and_all_its_teachers_and_draws_them_forward() -> None:
    first, other, one, two = (job(key) for key in "foab")
    student = job("s", first, one, two)
    jobs = [other, first, one, two, student]
    scheduler = Scheduler(jobs, lambda _: False)
    scheduler.expect(jobs)
    scheduler.want(student)
    assert keys([scheduler.next() for _ in range(5)]) in ("abfo", "fabo")
    for done in (two, first, one):
        assert scheduler.next() is None
        scheduler.ended(done)
    assert scheduler.next() is student


@pytest.mark.parametrize("seed", range(5))
def test_every_unit_is_taken_once_and_after_what_it_starts_from(seed: int) -> None:
    draw = random.Random(seed)
    jobs: list[Job] = []
    for number in range(60):
        start = draw.choice(jobs) if jobs and draw.random() < 0.6 else None
        teachers = draw.sample(jobs, draw.randrange(min(len(jobs), 4) + 1))
        jobs.append(job(f"{number}.", start, *teachers))
    done = {each.unit.key for each in draw.sample(jobs, 10)}
    order = draw.sample(jobs, len(jobs))
    scheduler = Scheduler(order, lambda job: job.unit.key in done)
    scheduler.expect(order)
    taken: list[str] = []
    at_work: list[Job] = []
    while True:
        one = scheduler.next()
        if one is not None:
            assert all(need.unit.key in done for need in one.needs)
            taken.append(one.unit.key)
            at_work.append(one)
        elif not at_work:
            break
        if at_work and (one is None or draw.random() < 0.5):
            ended = at_work.pop(draw.randrange(len(at_work)))
            done.add(ended.unit.key)
            scheduler.ended(ended)
    assert len(taken) == len(set(taken)) == 50
    assert len(done) == 60


def test_many_units_are_taken_in_time_that_grows_with_their_number() -> None:
    """Each is asked about a few times, however many there are."""
    asked: list[str] = []
    first = [job(f"first {n}") for n in range(2000)]
    jobs = [*first, *(job(f"then {n}", start=first[n]) for n in range(2000))]
    scheduler = Scheduler(jobs, lambda job: bool(asked.append(job.unit.key)))
    scheduler.expect(jobs)
    assert len(all_of(scheduler).split("then")) == 2001
    assert len(asked) <= 3 * len(jobs)


def test_threads_that_wait_are_let_go_as_it_closes() -> None:
    scheduler, found = Scheduler([job("a")], lambda _: False), list[Any](["unknown"])
    thread = threading.Thread(target=lambda: found.append(scheduler.take()))
    thread.start()
    time.sleep(0.01)
    scheduler.close()
    thread.join(5)
    assert found == ["unknown", None]
    assert scheduler.next() is None
