"""The time left of a suite: expected times, corrected by what epochs take on a machine whose load changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from mtlv.events import (
    BatchTrained,
    EpochEnded,
    SuiteStarted,
    UnitEnded,
    UnitFailed,
    UnitResumed,
    UnitStarted,
    UnitTime,
)
from mtlv.time_left import TimeLeft


class Suite:
    """A suite with a clock, whose units have 100 documents an epoch."""

    def __init__(self, times: Mapping[str, UnitTime], *, processes: int = 1, measured: bool = True) -> None:
        self.now, self.times = 0.0, times
        self.left = TimeLeft(lambda: self.now)
        stored = {"stored": 100}
        self.left(SuiteStarted(len(times), 0, stored, times, processes, measured))

    def start(self, name: str, resumed: float = 0.0, stack: int = 1) -> None:
        epochs = self.times[name].epochs
        self.left(UnitStarted(name, 1, epochs, 100 * epochs, stack))
        if resumed:
            self.left(UnitResumed(name, round(100 * resumed)))

    def train(self, name: str, epoch: int, seconds: float, documents: int = 100) -> None:
        self.left(BatchTrained(name, documents))
        self.now += seconds
        self.left(EpochEnded(name, epoch, self.times[name].epochs, 0.5, {}, 1.0))

    def end(self, name: str) -> None:
        self.left(UnitEnded(name, False, 0, 1))

    def run(self, name: str, seconds: float) -> None:
        self.start(name)
        for epoch in range(self.times[name].epochs):
            self.train(name, epoch + 1, seconds)
        self.end(name)

    @property
    def seconds(self) -> float | None:
        return self.left.seconds()


def units(count: int, kind: str = "a", epochs: int = 4, epoch: float = 10.0) -> dict[str, UnitTime]:
    return {f"{kind}{number}": UnitTime(kind, epochs, epoch) for number in range(count)}


def test_measured_times_are_known_before_the_first_unit() -> None:
    times = units(3) | {"long": UnitTime("b", 2, 100.0, start=7.0), "stored": UnitTime("b", 2, 100.0)}
    assert Suite(times).seconds == 3 * 40 + 207
    assert Suite(times, processes=2).seconds == 207, "no unit is divided"
    assert Suite(units(3), processes=2).seconds == 60
    assert Suite(units(1), processes=4).seconds == 40
    assert Suite({}).seconds == 0


def test_times_that_are_not_measured_are_told_by_epochs() -> None:
    suite = Suite(units(2, epoch=100.0), measured=False)
    assert suite.seconds is None
    suite.start("a0")
    suite.left(BatchTrained("a0", 20))
    suite.now = 3.0
    assert suite.seconds is None, "a few batches tell no time"
    suite.left(BatchTrained("a0", 30))
    assert suite.seconds == pytest.approx(7.5 * 6.0), "half an epoch tells it"
    suite.train("a0", 1, 9.0, 50)
    assert suite.seconds == pytest.approx(7 * 12)


def test_recent_epochs_say_what_the_next_ones_take() -> None:
    suite = Suite(units(4, epochs=10))
    suite.run("a0", 10)
    assert suite.seconds == pytest.approx(300)
    suite.run("a1", 30)  # others began to use the machine
    assert suite.seconds == pytest.approx(600)
    suite.start("a2")
    for epoch in range(5):
        suite.train("a2", epoch + 1, 10)
    assert suite.seconds == pytest.approx(150), "and stopped"


def test_units_of_a_kind_tell_their_own_time_and_that_of_unknown_kinds() -> None:
    suite = Suite(units(2) | units(2, "b", epoch=20.0) | units(1, "c"))
    suite.run("a0", 20)
    assert suite.seconds == pytest.approx(2 * (40 + 2 * 80 + 40)), "all are as slow"
    suite.run("b0", 60)
    assert suite.seconds == pytest.approx(2 * 40 + 3 * 80 + 40 * 260 / 90), "c has the last five of all"


def test_a_slow_epoch_is_seen_before_it_ends() -> None:
    suite = Suite(units(1, epochs=2, epoch=100.0))
    suite.start("a0")
    suite.left(BatchTrained("a0", 20))
    suite.now = 90
    assert suite.seconds == pytest.approx(180)
    suite.left(BatchTrained("a0", 5))
    assert suite.seconds == pytest.approx(360 * 1.75)


def test_time_before_the_first_epoch_is_of_the_start() -> None:
    suite = Suite({name: UnitTime("a", 3, 10.0, start=20.0) for name in "xyz"})
    suite.start("x")
    suite.train("x", 1, 30)
    assert suite.seconds == pytest.approx(20 + 2 * 50)


@pytest.mark.parametrize("resumed", [1.0, 1.6])
def test_a_resumed_unit_has_what_is_left_of_it(resumed: float) -> None:
    suite = Suite(units(2))
    suite.now = 50.0
    suite.start("a0", resumed)
    assert suite.seconds == pytest.approx(40 + (4 - resumed) * 10)
    suite.train("a0", 2, (2 - resumed) * 20, round(100 * (2 - resumed)))
    assert suite.seconds == pytest.approx(2 * (40 + 20))


def test_several_units_at_once_share_the_time() -> None:
    suite = Suite(units(4), processes=2)
    suite.start("a0")
    suite.start("a1")
    suite.train("a0", 1, 20)
    suite.train("a1", 1, 0)
    assert suite.seconds == pytest.approx(2 * (30 + 30 + 40 + 40) / 2)
    suite.left(UnitFailed("a0"))
    assert suite.seconds == pytest.approx(2 * (30 + 40 + 40) / 2)


def test_units_of_a_stack_share_one_process() -> None:
    suite = Suite(
        {name: UnitTime("a", 4, 10.0) for name in ("a0", "a1", "waits")} | {"b0": UnitTime("a", 6, 10.0)}
    )
    stack = ("b0", "a0", "a1")
    for name in stack:
        suite.start(name, stack=3)
    for epoch in range(1, 5):
        for name in stack:
            suite.left(BatchTrained(name, 100))
        suite.now += 60.0  # of three units at once: 20 s for each
        for name in stack:
            suite.left(EpochEnded(name, epoch, 6, 0.5, {}, 1.0))
            if epoch == 4 and name != "b0":
                suite.end(name)
    assert suite.seconds == pytest.approx(4 * 20.0 + 2 * 20.0)
    suite.train("b0", 5, 20.0)
    assert suite.seconds == pytest.approx(4 * 20.0 + 20.0), "alone now, so that no other shares its epoch"


def test_waiting_units_end_as_early_as_those_before() -> None:
    suite = Suite(units(3))
    suite.start("a0")
    suite.train("a0", 1, 10)
    suite.train("a0", 2, 10)
    suite.end("a0")  # its score did not rise
    assert suite.seconds == pytest.approx(2 * 20)
    suite.start("a1")
    for epoch in range(3):
        suite.train("a1", epoch + 1, 10)
    assert suite.seconds == pytest.approx(10 + 20), "a unit that goes on has an epoch more"


def test_the_time_between_units_counts() -> None:
    suite = Suite(units(4))
    suite.run("a0", 10)
    suite.now += 6  # evaluation
    suite.run("a1", 10)
    assert suite.seconds == pytest.approx(2 * (40 + 6))


def test_units_that_another_process_trained_do_not_wait() -> None:
    suite = Suite(units(3))
    suite.left(UnitEnded("a1", True, 0, 2))
    assert suite.seconds == 80
    suite.start("a0")
    suite.left(UnitFailed("a0"))
    suite.start("a0")  # its process was lost
    assert suite.seconds == 80


def slow_machine(second: Callable[[float], float]) -> list[float]:
    """Return announced over real seconds left, at each epoch of 600 rows and 8 labels on a machine in use.

    `second` returns how long a second of work takes at a time. Private layers take longer than measured.
    """
    times = {"mtl": UnitTime("whole", 15, 16.0, 4.0)}
    times |= {f"stl {n}": UnitTime("whole", 15, 16.0, 4.0) for n in range(8)}
    times |= {f"group {n}": UnitTime("whole", 15, 16.0, 4.0) for n in range(8)}
    times["layers"] = UnitTime("private", 15, 32.0, 4.0)
    suite, announced = Suite(times), list[tuple[float, float]]()
    for name, time in times.items():
        suite.start(name)
        for epoch in range(time.epochs):
            work = time.epoch * (1.25 if time.kind == "private" else 1) + (0 if epoch else time.start)
            suite.train(name, epoch + 1, work * second(suite.now))
            announced.append((suite.now, suite.seconds or 0.0))
        suite.end(name)
        suite.now += 3 * second(suite.now)
    return [left / (suite.now - now) for now, left in announced[:-30]]


def test_the_announced_time_is_right_as_soon_as_the_load_is_steady() -> None:
    assert all(0.85 < ratio < 1.05 for ratio in slow_machine(lambda _: 1.0))
    assert all(0.85 < ratio < 1.05 for ratio in slow_machine(lambda _: 4.4)), "from the first epoch on"
    ratios = slow_machine(lambda now: 1.0 if now < 2000 else 4.4)
    late = [number for number, ratio in enumerate(ratios) if not 0.85 < ratio < 1.1]
    assert late == list(range(late[0], late[-1] + 1))
    assert late[-1] < 2000 / 16 + 6, "an estimate by all epochs so far would still be wrong at the end"
