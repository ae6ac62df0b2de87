"""Several units at once, in processes of their own: the same results, and nothing lost whatever dies."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from listening import Listening
from memory_tracker import MemoryTracker
from what_came import children, files, points

from mtlv.errors import NoRoomError
from mtlv.events import EpochEnded, UnitStarted, ignore
from mtlv.execution import async_executor, choose, process_pool, scheduler
from mtlv.execution.concurrency import AdaptiveConcurrency, Concurrency, Slot
from mtlv.execution.messages import Ending, HeldElsewhere, Send, Trained
from mtlv.execution.process_pool import PoolExecutor
from mtlv.execution.worker import TrainRequest, Worker, WorkerDied
from mtlv.planning.resolve import resolve
from mtlv.processes import GRACE, Failed
from mtlv.store.local import Store
from mtlv.suite.run import run_suite
from mtlv.units.input_cache import InputCache
from mtlv.units.job import Job

WORKER = "mtlv.execution.worker"
TWO = ("execution.processes=2", "execution.threads=1")
ONE = ("execution.processes=1", "execution.threads=1")
THREE = ("execution.processes=3", "execution.threads=1")


class Listener(Listening):
    """What was told, and what is done about it as an epoch ends."""

    def __init__(self, at_epoch: Callable[[str], None] = lambda _: None) -> None:
        self.heard: list[tuple[str, ...]] = []
        self.at_epoch = at_epoch

    def unit_started(self, name: str, *_: object) -> None:
        self.heard.append(("started", name))

    def epoch(self, name: str, epoch: int, *_: object) -> None:
        self.heard.append(("epoch", name, str(epoch)))
        self.at_epoch(name)

    def unit_ended(self, name: str, cached: bool, *_: object) -> None:
        self.heard.append(("found" if cached else "ended", name))

    def unit_failed(self, name: str) -> None:
        self.heard.append(("failed", name))

    def note(self, text: str) -> None:
        self.heard.append(("note", text))

    def warn(self, text: str) -> None:
        self.heard.append(("warning", text))

    def names(self, word: str) -> list[str]:
        return [name for said, name, *_ in self.heard if said == word]


@pytest.mark.slow
@pytest.mark.chaos
def test_two_processes_give_the_same_as_one_though_one_of_them_is_killed(
    table: Callable, suite: Callable, tmp_path: Path
) -> None:
    """Of several architectures and folds, and of stages."""
    stages = "{stages: [{name: one, architecture: mtl}, {name: two, architecture: stl}]}"
    runs = f"runs=[{{architecture: stl}}, {{architecture: mtl}}, {{architecture: gmtl}}, {stages}]"
    changes = (runs, "data.folds=2", "data.columns.part=null", "store.checkpoint_steps=1")
    path, trackers, killed = table("t"), (MemoryTracker(), MemoryTracker()), []

    def kill(_: str) -> None:
        if not killed:
            killed.append(children(WORKER)[0])
            os.kill(killed[0], signal.SIGKILL)

    listener = Listener(kill)
    run_suite(suite(path, *changes, *TWO, store="two"), listener, trackers[1])
    run_suite(suite(path, *changes, *ONE, store="one"), ignore, trackers[0])
    assert files(tmp_path / "one") == files(tmp_path / "two")
    assert points(trackers[0]) == points(trackers[1])
    ended = listener.names("ended") + listener.names("found")  # its last words may have been lost with it
    assert len(ended) == len(set(ended)) == len(list((tmp_path / "two" / "units").iterdir()))
    assert not listener.names("failed")
    warnings = listener.names("warning")
    assert all("has ended (SIGKILL); another one continues" in text for text in warnings)
    assert not children(WORKER)


class Entered(AdaptiveConcurrency):
    """Lets up to three in, whatever they bring, and counts them."""

    def __init__(self, gain: float) -> None:
        super().__init__(3, limit="three are enough", free=lambda: 1e12)
        self.gain, self.seconds = gain, 0.0
        self.count = 0

    def enter(self) -> Slot | None:
        member = super().enter()
        self.count += member is not None
        return member


@pytest.mark.chaos
def test_processes_that_come_and_go_while_others_train_give_the_same_as_one(
    table: Callable, suite: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a GPU, where each must bring something: here they come whatever they bring, then never enough."""
    stages = "{stages: [{name: one, architecture: mtl}, {name: two, architecture: stl}]}"
    changes = (f"runs=[{{architecture: stl}}, {stages}]", "training.epochs=12", "store.checkpoint_steps=10")
    path, tracker, killed = table("t"), MemoryTracker(), []

    def kill(_: str) -> None:
        if not killed and len(children(WORKER)) > 1:
            killed.append(children(WORKER)[-1])
            os.kill(killed[0], signal.SIGKILL)

    run_suite(suite(path, *changes, *ONE, store="one"), ignore, tracker)
    for name, gain in (("come", 0.0), ("go", 1e9)):
        concurrency, listener, other = Entered(gain), Listener(kill), MemoryTracker()
        monkeypatch.setattr(choose, "concurrency_of", lambda *_, concurrency=concurrency: concurrency)
        run_suite(suite(path, *changes, *THREE, store=name), listener, other)
        assert files(tmp_path / "one") == files(tmp_path / name)
        assert points(tracker) == points(other)
        assert concurrency.count > 1
        assert not listener.names("failed")
        assert not children(WORKER)


NO_INPUTS = SimpleNamespace(inputs=None)


class Shelf:
    """A store that knows only which units are done."""

    place = None

    def __init__(self) -> None:
        self.done: list[str] = []

    def has(self, key: str) -> bool:
        return key in self.done

    def load(self, key: str) -> str:
        return key

    def whole(self, key: str, read: Callable[[], str], warn: object) -> str:
        return read()

    def holder(self, key: str) -> str:
        return "another"


class Erratic:
    """A process that does not train, but says that it does, and often fails in one of all possible ways."""

    def __init__(self, shelf: Shelf, device: list[int], seed: int) -> None:
        self.shelf, self.device, self.draw = shelf, device, random.Random(seed)
        self.narrow = seed % 2  # half of the tests have room for all
        device.append(id(self))

    def train(self, order: TrainRequest, receive: Send) -> Ending:
        fate, name = self.draw.random(), order.job.name
        if fate < 0.05:
            receive(HeldElsewhere())
            return HeldElsewhere()
        receive(UnitStarted(name, 1, 5, 50))
        if fate < 0.1:
            raise WorkerDied("SIGKILL")
        if self.narrow and fate < 0.25 and len(self.device) > 1:
            receive(Failed(NoRoomError("it does not fit")))
            return Failed(NoRoomError("it does not fit"))
        for epoch in range(1, 6):
            time.sleep(self.draw.random() / 1000)
            receive(EpochEnded(name, epoch, 5, 0.5, {}, 10 + self.draw.random()))
        self.shelf.done.append(order.job.unit.key)
        receive(Trained())
        return Trained()

    def finish(self) -> None:
        """It ends when it is waited for."""

    def end(self, patience: float) -> None:
        """Only then the device has its memory again."""
        time.sleep(0.005 * self.draw.random())
        self.device.remove(id(self))


def made_up_jobs(count: int) -> list[Job]:
    """Units of which some start from others."""
    jobs: list[Job] = []
    for number in range(count):
        start = jobs[number % 4] if number > max(4, count // 2) else None
        unit, settings = SimpleNamespace(key=f"{number}"), SimpleNamespace(training=SimpleNamespace(epochs=5))
        jobs.append(Job(unit, settings, SimpleNamespace(train=range(10)), f"unit {number}", start=start))
    return jobs


def nobody_left() -> bool:
    return not [thread for thread in threading.enumerate() if thread.name.startswith("mtlv-worker")]


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool that waits for nothing as long as usual, on a store that is made up."""
    for module in (scheduler, async_executor, process_pool):
        monkeypatch.setattr(module, "PAUSE", 0.002)
    monkeypatch.setattr(PoolExecutor, "tries", 1000)
    monkeypatch.setattr(Shelf, "has_weights", Shelf.has, raising=False)


def measured_concurrency(most: int, gain: float) -> AdaptiveConcurrency:
    concurrency = AdaptiveConcurrency(most, limit="", free=lambda: 1e12)
    concurrency.kind_of = lambda job: len(job.before)
    concurrency.gain, concurrency.seconds = gain, 0.0
    return concurrency


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("seed", range(8))
def test_whatever_processes_do_every_unit_ends_once_and_every_thread(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    concurrency = measured_concurrency(6, gain=seed / 4)
    shelf, seeds, device = Shelf(), iter(range(seed, 10**6, 1000)), list[int]()
    monkeypatch.setattr(process_pool, "Worker", lambda *_: Erratic(shelf, device, next(seeds)))
    jobs, listener = made_up_jobs(80), Listener()
    with PoolExecutor(NO_INPUTS, shelf, listener, jobs, concurrency=concurrency, threads=1) as executor:  # type: ignore[arg-type]
        executor.expect(jobs)
        assert [executor.run(job, lambda *_: None) for job in jobs] == [job.unit.key for job in jobs]
    assert sorted(shelf.done) == sorted(job.unit.key for job in jobs)
    assert len(listener.names("ended")) == len(jobs)
    assert not listener.names("failed")
    assert not device
    assert nobody_left()


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("concurrency_of", [Concurrency, lambda most: measured_concurrency(most, gain=0.0)])
@pytest.mark.parametrize("broken", ["a process", "the store"])
def test_what_breaks_beside_the_units_ends_the_suite_and_hangs_nothing(
    broken: str, concurrency_of: Callable[[int], Concurrency], monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf, jobs = Shelf(), made_up_jobs(9)

    def start(*_: object) -> Erratic:
        if broken == "a process":
            raise OSError("no memory for a process")
        return Erratic(shelf, [], 0)

    def has(self: Shelf, key: str) -> bool:
        if threading.current_thread() is not threading.main_thread():
            raise OSError("the store is out of reach")
        return key in self.done

    monkeypatch.setattr(process_pool, "Worker", start)
    if broken == "the store":
        monkeypatch.setattr(Shelf, "has", has)
    executor = PoolExecutor(NO_INPUTS, shelf, Listener(), jobs, concurrency=concurrency_of(3), threads=1)  # type: ignore[arg-type]
    executor.expect(jobs)
    words = {"a process": "no memory for a process", "the store": "the store is out of reach"}[broken]
    with executor, pytest.raises(OSError, match=words):
        executor.run(jobs[0], lambda *_: None)
    assert nobody_left()


@pytest.mark.usefixtures("hurried")
def test_a_unit_that_gave_way_and_is_then_anothers_starts_no_process_again_and_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is with another run for a while, whose end is waited for."""
    concurrency, shelf, jobs, started, until = (
        measured_concurrency(2, gain=0.0),
        Shelf(),
        made_up_jobs(4),
        [],
        [0.0],
    )

    class Full(Erratic):
        def train(self, order: TrainRequest, receive: Send) -> Ending:
            if time.monotonic() < until[0]:
                receive(HeldElsewhere())
                return HeldElsewhere()
            if len(self.device) > 1 and not until[0]:
                receive(UnitStarted(order.job.name, 1, 5, 50))
                until[0] = time.monotonic() + 0.3
                receive(Failed(NoRoomError("it does not fit")))
                return Failed(NoRoomError("it does not fit"))
            return super().train(order, receive)

    device: list[int] = []

    def start(*_: object) -> Full:
        started.append(1)
        return Full(shelf, device, 2)

    monkeypatch.setattr(process_pool, "Worker", start)
    listener = Listener()
    with PoolExecutor(NO_INPUTS, shelf, listener, jobs, concurrency=concurrency, threads=1) as executor:  # type: ignore[arg-type]
        executor.expect(jobs)
        for job in jobs:
            executor.run(job, lambda *_: None)
    assert not listener.names("failed")
    assert len(started) < 12
    assert nobody_left()


@pytest.mark.slow
def test_a_unit_without_room_beside_others_is_trained_again_and_fails_where_it_was_alone(
    table: Callable, suite: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    concurrency = Entered(0.0)

    class Crowded(Worker):
        """The device is too small for two at once, and for one unit."""

        def train(self, order: TrainRequest, receive: Send) -> Ending:
            epochs, documents = order.job.settings.training.epochs, order.job.documents
            receive(UnitStarted(order.job.name, order.number, epochs, documents))
            if len(concurrency._inside) > 1 or order.job.name.startswith("large"):
                receive(Failed(NoRoomError("it does not fit")))
                return Failed(NoRoomError("it does not fit"))
            return super().train(order, receive)

    monkeypatch.setattr(choose, "concurrency_of", lambda *_: concurrency)
    monkeypatch.setattr(process_pool, "Worker", Crowded)
    names = ("one", "two", "large", "three")
    runs = [f"{{name: {name}, training.head_weights: {{heart: {n}}}}}" for n, name in enumerate(names, 2)]
    weighted = ("training.head_loss=weighted_sum", "training.epochs=4")
    listener = Listener()
    made = suite(table("t"), f"runs=[{', '.join(runs)}]", *weighted, *THREE)
    result = run_suite(made, listener, MemoryTracker())
    assert [member.name for member in result.members] == ["one", "two", "three"]
    assert [text.split(" ")[0] for text in result.failed] == ["it"]
    assert [name.split(" ")[0] for name in listener.names("failed")] == ["large"]
    warnings = listener.names("warning")
    assert any(
        "not have enough memory for it and others; it continues with fewer processes" in w for w in warnings
    )
    assert (len(concurrency._inside), concurrency._allowed) == (0, 1)
    assert not children(WORKER)


def test_units_that_fail_take_no_other_with_them(
    table: Callable, suite: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One by its loss, one because the last process that may train it is killed."""
    monkeypatch.setattr(PoolExecutor, "tries", 1)
    runs = [
        "{name: bad, training.head_weights: {heart: 1e39}}",
        "{name: lost, training.head_weights: {heart: 2}, training.epochs: 400}",
        "{name: good, training.head_weights: {heart: 1}, training.epochs: 2}",
    ]

    base = suite(table("t"), f"runs=[{', '.join(runs)}]", "training.head_loss=weighted_sum", *TWO)
    store = Store(tmp_path / "store")
    (key,) = [job.unit.key for job in resolve(InputCache(store), base.members[1]).jobs]

    def kill(name: str) -> None:
        holder = int(store.lock(key).read_text().split()[1])
        if name.startswith("lost") and holder in children(WORKER):
            os.kill(holder, signal.SIGKILL)

    listener, tracker = Listener(kill), MemoryTracker()
    result = run_suite(base, listener, tracker)
    assert [member.name for member in result.members] == ["good"]
    bad, lost = result.failed  # in the order of members; they train at once, so either may fail first
    assert "the training loss is not finite" in bad
    assert "that trained it have ended (got SIGKILL)" in lost
    assert sorted(name.split(" ")[0] for name in listener.names("failed")) == ["bad", "lost"]
    status = {run.spec.name: run.status for run in tracker.runs.values() if run.spec.kind == "suite member"}
    assert status == {"bad": "FAILED", "lost": "FAILED", "good": "FINISHED"}
    assert not children(WORKER)


def test_ctrl_c_ends_all_processes_at_once(table: Callable, suite: Callable) -> None:
    begun = []

    def stop(_: str) -> None:
        begun.append(time.monotonic())
        raise KeyboardInterrupt

    tracker = MemoryTracker()
    made = suite(table("t"), "architecture=stl", "training.epochs=500", "store.checkpoint_steps=1", *TWO)
    with pytest.raises(KeyboardInterrupt):
        run_suite(made, Listener(stop), tracker)
    assert time.monotonic() - begun[0] < 2 * GRACE
    assert not children(WORKER)
    assert {run.status for run in tracker.runs.values()} == {"KILLED"}
