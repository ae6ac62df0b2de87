"""How many processes train at once: it grows while that pays, and only what may be compared is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Thread
from typing import Any

import pytest

from mtlv.events import BatchTrained, EpochEnded, UnitStarted
from mtlv.execution.concurrency import AdaptiveConcurrency, Concurrency, Slot, kind_of
from mtlv.execution.messages import Trained
from mtlv.planning.resolve import resolve
from mtlv.units.input_cache import InputCache

EPOCHS, DOCUMENTS = 100, 1000  # of an epoch of the units here
ROOM = 100.0  # free memory where a test does not say otherwise


class Device:
    """Tells how much of its memory is free."""

    def __init__(self, free: float = ROOM) -> None:
        self.free = free

    def __call__(self) -> float:
        return self.free


def concurrency_of(
    most: int, device: Device | None = None, *, limit: str = "no core is left", seconds: float = 0.0
) -> AdaptiveConcurrency:
    """Its units are named by their kind."""
    concurrency = AdaptiveConcurrency(most, limit=limit, free=device or Device())
    concurrency.kind_of, concurrency.seconds = lambda job: job, seconds
    return concurrency


def come(concurrency: AdaptiveConcurrency, kind: str = "a") -> Slot:
    """One more process, which begins a unit."""
    member = wanted(concurrency)
    assert member is not None
    begin(concurrency, member, kind)
    return member


def wanted(concurrency: AdaptiveConcurrency) -> Slot | None:
    """Who is let in; None where nobody ever will be."""
    assert not nobody_is_wanted(concurrency)
    return concurrency.enter()


def nobody_is_wanted(concurrency: AdaptiveConcurrency) -> bool:
    """Whether one more would have to wait."""
    return not concurrency._over and len(concurrency._inside) >= concurrency._allowed


def begin(concurrency: AdaptiveConcurrency, member: Slot, kind: str = "a") -> None:
    concurrency.hear(member, kind, UnitStarted("unit", 1, EPOCHS, EPOCHS * DOCUMENTS))


def end_epoch(concurrency: AdaptiveConcurrency, member: Slot, speed: float) -> str | None:
    return concurrency.hear(member, member.kind, EpochEnded("unit", 1, EPOCHS, 0.5, {}, speed))


def train(concurrency: AdaptiveConcurrency, members: Sequence[Slot], *speeds: float) -> list[str]:
    """An epoch of each, in turn; what was said of it."""
    each = speeds * len(members) if len(speeds) == 1 else speeds
    said = [end_epoch(concurrency, member, speed) for member, speed in zip(members, each, strict=True)]
    return [text for text in said if text is not None]


def warm_up(concurrency: AdaptiveConcurrency, members: Sequence[Slot]) -> None:
    """The first epoch of the last one, and those that the others began before it was over."""
    assert train(concurrency, members[::-1], 1.0) == []


def grown(
    concurrency: AdaptiveConcurrency, together: Mapping[int, float], kind: str = "a"
) -> tuple[list[Slot], str]:
    """Processes come as long as they are let in; `together` has the work of n of them. Those that were inside
    at last, and what was said."""
    members: list[Slot] = []
    for count, speed in together.items():
        members.append(come(concurrency, kind))
        warm_up(concurrency, members)
        said = train(concurrency, members, speed / count)
        if said:
            return members, said[0]
    raise AssertionError("nothing was said")


def test_a_given_number_begins_at_once_and_stays() -> None:
    concurrency = Concurrency(3)
    members = [concurrency.enter() for _ in range(3)]
    assert not any(concurrency.leaves(member) for member in members)
    assert not any(concurrency.gives_way(member) for member in members)
    assert concurrency.hear(members[0], None, EpochEnded("unit", 1, EPOCHS, 0.5, {}, 1.0)) is None
    assert concurrency.described("3 processes") == "3 processes"


def test_it_grows_while_that_pays_and_the_last_one_leaves_after_its_unit() -> None:
    concurrency = concurrency_of(8)
    members, said = grown(concurrency, {1: 100, 2: 160, 3: 190, 4: 194})
    assert said == "3 processes train 1.9 times as fast as one: one more gave 2%"
    assert wanted(concurrency) is None
    assert [concurrency.leaves(member) for member in members] == [True, False, False, False]  # who asks first
    assert [concurrency.leaves(member) for member in members] == [True, False, False, False]


def test_one_that_does_harm_brought_nothing() -> None:
    concurrency = concurrency_of(8)
    members, said = grown(concurrency, {1: 100, 2: 60})
    assert said == "one process trains: one more gave nothing"
    assert [concurrency.leaves(member) for member in members] == [True, False]


def test_it_ends_at_the_most() -> None:
    concurrency = concurrency_of(2)
    members, said = grown(concurrency, {1: 100, 2: 200})
    assert said == "2 processes train 2.0 times as fast as one: no core is left"
    assert not any(concurrency.leaves(member) for member in members)
    assert wanted(concurrency) is None


@pytest.mark.parametrize(("least", "free", "more"), [(181, 181, True), (179, 179, False), (100, 250, False)])
def test_another_must_find_the_most_that_one_took_and_half_of_it(
    least: float, free: float, more: bool
) -> None:
    device = Device(300)
    concurrency = concurrency_of(8, device)
    one = come(concurrency)
    device.free = least
    warm_up(concurrency, [one])
    device.free = free
    said = train(concurrency, [one], 50)
    if more:
        assert not said
        assert wanted(concurrency) is not None
    else:
        text = "one process trains: the device does not have enough memory for one more"
        assert said == [text]
        assert wanted(concurrency) is None


def test_first_epochs_do_not_count_nor_what_began_before_all_were_warm() -> None:
    concurrency = concurrency_of(8)
    one = come(concurrency)
    assert train(concurrency, [one], 1) == []
    assert nobody_is_wanted(concurrency)
    train(concurrency, [one], 100)
    two = come(concurrency)
    train(concurrency, [one], 1)  # began before the other came
    train(concurrency, [one], 2)  # the other is starting
    assert train(concurrency, [two], 3) == []  # its first
    train(concurrency, [one], 4)  # began before the other's first was over
    assert train(concurrency, [two], 60) == []  # not all were measured
    assert nobody_is_wanted(concurrency)
    assert train(concurrency, [one], 60) == []
    assert wanted(concurrency) is not None  # 1.2 times as much


def test_each_is_measured_for_some_seconds() -> None:
    concurrency = concurrency_of(8, seconds=5.0)
    one = come(concurrency)
    train(concurrency, [one], 500)
    train(concurrency, [one], 500)  # 2 seconds each
    train(concurrency, [one], 500)
    assert nobody_is_wanted(concurrency)
    train(concurrency, [one], 500)
    assert wanted(concurrency) is not None


def test_a_lost_process_and_one_that_waits_are_measured_anew() -> None:
    concurrency = concurrency_of(2)
    one = come(concurrency)
    train(concurrency, [one], 100)
    train(concurrency, [one], 100)
    two = come(concurrency)
    warm_up(concurrency, [one, two])
    train(concurrency, [one], 1000)
    concurrency.rests(two)  # alone, the other is fast
    train(concurrency, [one], 1000)
    begin(concurrency, two)
    assert train(concurrency, [two, one], 1000, 1000) == []  # its first; and what began before
    assert train(concurrency, [one, two], 80) == [
        "2 processes train 1.6 times as fast as one: no core is left"
    ]


def test_units_of_other_kinds_are_compared_with_their_own_kind() -> None:
    concurrency = concurrency_of(2)
    one = come(concurrency, "long")
    train(concurrency, [one], 10)
    train(concurrency, [one], 10)
    two = come(concurrency, "short")
    warm_up(concurrency, [one, two])
    assert train(concurrency, [one, two], 8, 900) == [
        "2 processes train 1.6 times as fast as one: no core is left"  # not 90 times
    ]


def test_where_no_kind_was_measured_before_one_leaves_until_it_was() -> None:
    concurrency = concurrency_of(2)
    one = come(concurrency, "first stage")
    train(concurrency, [one], 10)
    train(concurrency, [one], 10)
    two = come(concurrency, "second stage")
    begin(concurrency, one, "second stage")
    warm_up(concurrency, [one, two])
    assert train(concurrency, [one, two], 70) == []
    assert concurrency.leaves(two)
    concurrency.left(two)
    train(concurrency, [one], 1)
    assert train(concurrency, [one], 100) == []
    two = come(concurrency, "second stage")
    warm_up(concurrency, [one, two])
    (said,) = train(concurrency, [one, two], 70)
    assert said.startswith("2 processes train 1.4 times")


def test_where_a_unit_finds_no_room_one_leaves_unless_it_was_alone() -> None:
    concurrency = concurrency_of(8)
    one = come(concurrency)
    assert not concurrency.gives_way(one)
    train(concurrency, [one], 100)
    train(concurrency, [one], 100)
    two = come(concurrency)
    assert concurrency.gives_way(one)  # though it was alone when its unit began
    assert concurrency.gives_way(two)  # both at once
    assert (concurrency.leaves(one), concurrency.leaves(two)) == (True, False)
    begin(concurrency, two)
    assert concurrency.gives_way(two)  # one has not ended yet: its memory is not free
    concurrency.left(one)
    begin(concurrency, two)
    assert not concurrency.gives_way(two)
    assert wanted(concurrency) is None


def test_where_nothing_can_ever_be_compared_it_ends() -> None:
    concurrency, kinds = concurrency_of(2), iter("abcdefghijklmnopqrstuvwxyz")
    one = come(concurrency, next(kinds))
    for _ in range(4):
        begin(concurrency, one, next(kinds))
        train(concurrency, [one], 100)
        train(concurrency, [one], 100)
        two = come(concurrency, next(kinds))
        begin(concurrency, one, next(kinds))
        warm_up(concurrency, [one, two])
        said = train(concurrency, [one, two], 100)
        if said:
            break
        assert concurrency.leaves(two)
        concurrency.left(two)
    assert said == ["2 processes train: there are too many kinds of units to compare"]


def test_who_waits_is_sent_away_as_it_closes() -> None:
    concurrency = concurrency_of(8)
    come(concurrency)
    found: list[Slot | None] = []
    threads = [Thread(target=lambda: found.append(concurrency.enter())) for _ in range(3)]
    for thread in threads:
        thread.start()
    concurrency.close()
    for thread in threads:
        thread.join(5)
    assert found == [None, None, None]


def test_other_words_say_nothing_of_speed() -> None:
    concurrency = concurrency_of(8)
    one = come(concurrency)
    assert concurrency.hear(one, "a", BatchTrained("unit", 16)) is None
    assert concurrency.hear(one, "a", Trained()) is None
    assert end_epoch(concurrency, one, 0.0) is None
    assert end_epoch(concurrency, one, 0.0) is None  # a clock that stood still
    assert nobody_is_wanted(concurrency)


def test_folds_seeds_and_labels_are_one_kind_and_encoders_are_not(table: Any, suite: Any) -> None:
    path = table("t")
    cache = InputCache()

    def kinds(*changes: str) -> set[Any]:
        made = suite(path, "data.columns.part=null", "data.folds=2", *changes).members[0]
        return {kind_of(job) for job in resolve(cache, made).jobs}

    (stl,) = kinds("architecture=stl")
    assert kinds("architecture=stl", "seed=5") == {stl}
    assert kinds("architecture=stl", "training.learning_rate=1e-4") == {stl}
    assert kinds("architecture=stl", "training.batch_size=4") != {stl}
    assert kinds("architecture=stl", "data.max_length=16") != {stl}
