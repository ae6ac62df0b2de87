"""Which unit is next: in order, none twice, none before what it starts from."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

from mtlv.execution import scheduler as module
from mtlv.execution.scheduler import Board
from mtlv.units.job import Job


class FakeUnit:
    def __init__(self, key: str) -> None:
        self.key = key


def job(key: str, start: Job | None = None) -> Job:
    return Job(unit=FakeUnit(key), settings=None, fold=None, start=start)  # type: ignore[arg-type]


def keys(jobs: Sequence[Job | None]) -> str:
    return "".join(each.unit.key for each in jobs if each)


def all_of(board: Board) -> str:
    """Every unit that can be taken now, each ended at once."""
    found = []
    while (one := board.next()) is not None:
        found.append(one)
        board.ended(one)
    return keys(found)


def test_the_wanted_unit_goes_first_and_none_is_taken_twice() -> None:
    jobs = [job(key) for key in "abcd"]
    board = Board(jobs, lambda job: job.unit.key == "c")
    board.expect(jobs)
    board.want(jobs[1])
    assert keys([board.next() for _ in range(4)]) == "bad"
    board.again(jobs[0])
    assert board.take() is jobs[0]
    assert board.holds(jobs[0])
    assert not board.holds(jobs[2])


def test_a_unit_waits_for_what_it_starts_from_and_draws_it_forward() -> None:
    first, middle = job("f"), job("m")
    second = job("s", start=first)
    board = Board([middle, first, second], lambda _: False)
    board.expect([middle, first, second])
    board.want(second)
    taken = board.next()
    assert taken is first
    assert board.next() is middle
    assert board.next() is None  # nothing is ready before the first is done
    board.ended(first)
    assert board.next() is second


def test_a_start_that_another_process_has_done_lets_others_go() -> None:
    there: set[str] = set()
    first = job("f")
    second = job("s", start=first)
    board = Board([first, second], lambda job: job.unit.key in there)
    board.expect([first, second])
    assert board.next() is first
    board.again(first)  # another process had it
    there.add("f")
    assert board.next() is second


def test_one_that_another_process_has_is_looked_at_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    jobs = [job("a"), job("b")]
    board = Board(jobs, lambda _: False)
    board.expect(jobs)
    assert board.next() is jobs[0]
    board.again(jobs[0], after=5)
    assert keys([board.next(), board.next()]) == "b"
    now[0] = 5.0
    assert board.next() is jobs[0]


def test_what_a_member_gives_up_is_not_taken_unless_another_expects_it() -> None:
    jobs = [job(key) for key in "abc"]
    board = Board(jobs, lambda _: False)
    board.expect(jobs[:2])
    board.expect(jobs[1:])
    board.give_up(jobs[:2])
    assert all_of(board) == "bc"


@pytest.mark.parametrize("seed", range(5))
def test_every_unit_is_taken_once_and_after_what_it_starts_from(seed: int) -> None:
    draw = random.Random(seed)
    jobs: list[Job] = []
    for number in range(60):
        start = draw.choice(jobs) if jobs and draw.random() < 0.6 else None
        jobs.append(job(f"{number}.", start))
    done = {each.unit.key for each in draw.sample(jobs, 10)}
    order = draw.sample(jobs, len(jobs))
    board = Board(order, lambda job: job.unit.key in done)
    board.expect(order)
    taken: list[str] = []
    at_work: list[Job] = []
    while True:
        one = board.next()
        if one is not None:
            assert one.start is None or one.start.unit.key in done
            taken.append(one.unit.key)
            at_work.append(one)
        elif not at_work:
            break
        if at_work and (one is None or draw.random() < 0.5):
            ended = at_work.pop(draw.randrange(len(at_work)))
            done.add(ended.unit.key)
            board.ended(ended)
    assert len(taken) == len(set(taken)) == 50
    assert len(done) == 60


def test_many_units_are_taken_in_time_that_grows_with_their_number() -> None:
    """Each is asked about a few times, however many there are."""
    asked: list[str] = []
    first = [job(f"first {n}") for n in range(2000)]
    jobs = [*first, *(job(f"then {n}", start=first[n]) for n in range(2000))]
    board = Board(jobs, lambda job: bool(asked.append(job.unit.key)))
    board.expect(jobs)
    assert len(all_of(board).split("then")) == 2001
    assert len(asked) <= 3 * len(jobs)


def test_threads_that_wait_are_let_go_as_it_closes() -> None:
    board, found = Board([job("a")], lambda _: False), list[Any](["unknown"])
    thread = threading.Thread(target=lambda: found.append(board.take()))
    thread.start()
    time.sleep(0.01)
    board.close()
    thread.join(5)
    assert found == ["unknown", None]
    assert board.next() is None
