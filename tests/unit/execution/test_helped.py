"""Several units at once, in this process and in helpers: the same results, and nothing lost whatever dies."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace
from typing import ClassVar

import pytest
from listening import Listening
from made_up_units import MadeUpRunner, Shelf, made_up_job, made_up_jobs, sleep_a_little
from memory_tracker import MemoryTracker
from what_came import children, files, points

from mtlv.errors import NoRoomError, TrackingError, TrainingError
from mtlv.events import ignore
from mtlv.execution import helped
from mtlv.execution import helper as helper_module
from mtlv.execution.helped import HelpedExecutor, Helper
from mtlv.execution.helper import Expectation, HelperExecutor, HelpRequest, UnitError, help_suite
from mtlv.processes import GRACE_SECONDS, Failed
from mtlv.suite.run import run_suite
from mtlv.units.job import Job

HELPER = "mtlv.execution.helper"
TWO = ("execution.processes=2", "execution.threads=1")
ONE = ("execution.processes=1", "execution.threads=1")


@pytest.fixture(scope="module", autouse=True)
def narrow_tiny() -> None:
    """Helper processes have the real one."""


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

    def unit_ended(self, name: str, cached: bool, _: int, index: int) -> None:
        self.heard.append(("found" if cached else "ended", name))
        self.heard.append(("index", str(index)))

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
def test_two_processes_give_the_same_as_one_though_the_helper_is_killed(
    table: Callable, suite: Callable, tmp_path: Path
) -> None:
    """Of several architectures and folds, and of stages."""
    stages = "{stages: [{name: one, architecture: mtl}, {name: two, architecture: stl}]}"
    runs = f"runs=[{{architecture: stl}}, {{architecture: mtl}}, {{architecture: gmtl}}, {stages}]"
    changes = (runs, "data.folds=2", "data.columns.part=null", "store.checkpoint_steps=1")
    path, trackers, killed = table("t"), (MemoryTracker(), MemoryTracker()), []

    def kill(_: str) -> None:
        if not killed and children(HELPER):
            killed.append(children(HELPER)[0])
            os.kill(killed[0], signal.SIGKILL)

    listener = Listener(kill)
    run_suite(suite(path, *changes, *TWO, store="two"), listener, trackers[1])
    run_suite(suite(path, *changes, *ONE, store="one"), ignore, trackers[0])
    assert killed
    assert files(tmp_path / "one") == files(tmp_path / "two")
    assert points(trackers[0]) == points(trackers[1])
    ended = listener.names("ended") + listener.names("found")  # its last words may have been lost with it
    assert len(ended) == len(set(ended)) == len(list((tmp_path / "two" / "units").iterdir()))
    assert sorted(map(int, listener.names("index"))) == list(range(1, len(ended) + 1))
    assert not listener.names("failed")
    assert not [text for text in listener.names("note") if "is training it" in text]  # the helper is ours
    assert not children(HELPER)


def test_units_that_fail_take_no_other_with_them(table: Callable, suite: Callable) -> None:
    runs = [
        "{name: bad, training.head_weights: {heart: 1e39}}",
        "{name: good, training.head_weights: {heart: 1}}",
        "{name: worse, training.head_weights: {heart: 2e39}}",
    ]
    made = suite(table("t"), f"runs=[{', '.join(runs)}]", "training.head_loss=weighted_sum", *TWO)
    listener, tracker = Listener(), MemoryTracker()
    result = run_suite(made, listener, tracker)
    assert [member.name for member in result.members] == ["good"]
    assert len(result.failed) == 2
    assert all("the training loss is not finite" in text for text in result.failed)
    assert sorted(name.split(" ")[0] for name in listener.names("failed")) == ["bad", "worse"]
    status = {run.spec.name: run.status for run in tracker.runs.values() if run.spec.kind == "suite member"}
    assert status == {"bad": "FAILED", "good": "FINISHED", "worse": "FAILED"}
    assert not children(HELPER)


def test_ctrl_c_ends_all_processes_at_once(table: Callable, suite: Callable) -> None:
    begun = []

    def stop(_: str) -> None:
        if children(HELPER):
            begun.append(time.monotonic())
            raise KeyboardInterrupt

    tracker = MemoryTracker()
    made = suite(table("t"), "architecture=stl", "training.epochs=500", "store.checkpoint_steps=1", *TWO)
    with pytest.raises(KeyboardInterrupt):
        run_suite(made, Listener(stop), tracker)
    assert time.monotonic() - begun[0] < 2 * GRACE_SECONDS
    assert not children(HELPER)
    assert {run.status for run in tracker.runs.values()} == {"KILLED"}


def test_a_helper_says_that_its_store_cannot_be_used() -> None:
    received: SimpleQueue = SimpleQueue()
    helper = Helper(HelpRequest(Path("/proc/nowhere/store"), 1, (), Counter(), {}), received)
    try:
        message = received.get(timeout=120)[1]
    finally:
        helper.end()
    assert isinstance(message, Failed)
    assert isinstance(message.error, TrackingError)
    assert "`store.uri`: /proc/nowhere/store cannot be written" in str(message.error)


# ---- What a helper does ----------------------------------------------------------------------------------


class Outbox:
    """A connection to the main process that keeps what is sent."""

    def __init__(self) -> None:
        self.sent: list[object] = []

    def send(self, message: object) -> None:
        self.sent.append(message)


def helper_executor(
    jobs: list[Job], train_one: Callable[[Job], None]
) -> tuple[HelperExecutor, Shelf, Outbox]:
    shelf, parent = Shelf(), Outbox()
    runner = MadeUpRunner(None, shelf, ignore, frozenset(), train_one)  # type: ignore[arg-type]
    request = HelpRequest(None, 1, jobs, Counter(job.unit.key for job in jobs[:3]), {})  # type: ignore[arg-type]
    return HelperExecutor(runner, request, parent), shelf, parent  # type: ignore[arg-type]


def test_a_helper_trains_what_the_main_process_expects_and_sends_errors() -> None:
    def train_one(job: Job) -> None:
        if job.unit.key == "a":
            raise TrainingError("the loss is not finite")

    jobs = [made_up_job(key) for key in "abcde"]
    executor, shelf, parent = helper_executor(jobs, train_one)
    executor.hear(UnitError("b", TrainingError("it failed in another helper")))
    executor.hear(Expectation("ce", -1))
    executor.hear(Expectation("de", 2))
    while executor.train_next():
        pass
    assert shelf.finished == ["d", "e"]
    (message,) = parent.sent
    assert isinstance(message, UnitError)
    assert message.key == "a"
    assert "the loss is not finite" in str(message.error)
    assert executor.has_room


def test_a_helper_without_memory_for_a_unit_makes_room() -> None:
    def train_one(_: Job) -> None:
        raise NoRoomError("it does not fit")

    executor, _, parent = helper_executor([made_up_job("a")], train_one)
    assert executor.train_next()
    assert not executor.has_room
    assert [message.key for message in parent.sent if isinstance(message, UnitError)] == ["a"]


# ---- What the main process does --------------------------------------------------------------------------


class Killed(BaseException):
    """Ends a helper as SIGKILL does: nothing more is sent."""


class ThreadHelper:
    """A helper that is a thread of this process."""

    alive: ClassVar[set[int]] = set()

    def __init__(self, request: HelpRequest, received: SimpleQueue) -> None:
        self.job: Job | None = None
        self.child = SimpleNamespace(process=SimpleNamespace(pid=id(self)), how_it_ended=lambda: "SIGKILL")
        self._received, self._messages = received, SimpleQueue[object]()
        self.tell(request)
        self.alive.add(id(self))
        self._thread = threading.Thread(target=self._work, name="mtlv-helper", daemon=True)
        self._thread.start()

    def tell(self, message: object) -> None:
        self._messages.put(message)

    def leave(self) -> None:
        self._messages.put(None)

    def end(self) -> None:
        self.leave()
        self._thread.join()

    def send(self, message: object) -> None:
        self._received.put((self, message))

    def _work(self) -> None:
        try:
            help_suite(self._messages, self)  # type: ignore[arg-type]
        except Killed:
            pass
        except Exception as error:
            self.send(Failed(error))
        self.alive.discard(id(self))
        self.send(None)


def is_helper() -> bool:
    return threading.current_thread() is not threading.main_thread()


@pytest.fixture
def in_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Shelf, Callable[[Job], None]], None]]:
    """Lets helpers be threads that share a store in memory and wait for nothing as long as usual."""

    def prepare(shelf: Shelf, train_one: Callable[[Job], None]) -> None:
        def runner(_: object, store: Shelf, callback: object, starts: object) -> MadeUpRunner:
            return MadeUpRunner(None, store, callback, starts, train_one)  # type: ignore[arg-type]

        monkeypatch.setattr(helped, "Helper", ThreadHelper)
        monkeypatch.setattr(helper_module, "Store", lambda _: shelf)
        monkeypatch.setattr(helper_module, "InputCache", lambda *_: SimpleNamespace(inputs=None))
        monkeypatch.setattr(helper_module, "UnitRunner", runner)
        for module in (helped, helper_module):
            monkeypatch.setattr(module, "PAUSE_SECONDS", 0.002)

    yield prepare
    assert not [thread for thread in threading.enumerate() if thread.name == "mtlv-helper"]
    assert not ThreadHelper.alive


def main_executor(
    shelf: Shelf, listener: Listener, jobs: list[Job], train_one: Callable[[Job], None], processes: int
) -> HelpedExecutor:
    runner = MadeUpRunner(None, shelf, listener, frozenset(), train_one)  # type: ignore[arg-type]
    return HelpedExecutor(runner, jobs, processes=processes, threads=1)


def run_all(executor: HelpedExecutor, jobs: list[Job]) -> list[object]:
    with executor:
        executor.expect(jobs)
        return [executor.run(job, lambda *_: None) for job in jobs]


@pytest.mark.parametrize("seed", range(8))
def test_whatever_helpers_do_every_unit_ends_once(
    seed: int, monkeypatch: pytest.MonkeyPatch, in_threads: Callable
) -> None:
    """They are killed, and half of the tests have too little memory for all of them."""
    monkeypatch.setattr(helped, "MAX_TRIES", 1000)
    draw, shelf, listener, jobs = random.Random(seed), Shelf(), Listener(), made_up_jobs(60)

    def train_one(_: Job) -> None:
        sleep_a_little(draw)
        fate = draw.random()
        if is_helper() and fate < 0.1:
            raise Killed
        if seed % 2 and fate > 0.95 and ThreadHelper.alive:
            raise NoRoomError("it does not fit")

    in_threads(shelf, train_one)
    results = run_all(main_executor(shelf, listener, jobs, train_one, 5), jobs)
    assert results == [job.unit.key for job in jobs]
    assert sorted(shelf.finished) == sorted(results)
    ended = listener.names("ended") + listener.names("found")
    assert sorted(ended) == sorted(job.name for job in jobs)
    assert sorted(map(int, listener.names("index"))) == list(range(1, len(jobs) + 1))
    assert not listener.names("failed")


def test_a_unit_that_kills_its_processes_fails_and_this_process_never_trains_it(
    in_threads: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf, listener, jobs, by = Shelf(), Listener(), made_up_jobs(6), []

    def train_one(job: Job) -> None:
        if job.unit.key == "3":
            by.append(is_helper())
            raise Killed
        while not is_helper() and not by:
            time.sleep(0.001)  # while this process has another unit

    def open_later(_: object) -> Shelf:
        if by:
            time.sleep(0.3)  # this process requests the lost unit before the second helper can take it
        return shelf

    in_threads(shelf, train_one)
    monkeypatch.setattr(helper_module, "Store", open_later)
    with main_executor(shelf, listener, jobs, train_one, 2) as executor:
        executor.expect(jobs)
        for job in jobs[:3]:
            executor.run(job, lambda *_: None)
        with pytest.raises(TrainingError, match=r"2 processes that trained it have ended \(got SIGKILL"):
            executor.run(jobs[3], lambda *_: None)
        executor.run(jobs[4], lambda *_: None)
    assert by == [True, True]
    assert listener.names("failed") == ["unit 3"]
    (warning,) = listener.names("warning")
    assert "has ended (SIGKILL); another one continues" in warning


def test_a_unit_without_memory_beside_others_is_trained_alone_here(
    in_threads: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This process has unit 0 and then tries 1, as a helper did, while two other helpers have 2 and 3."""
    shelf, listener, jobs, begun = Shelf(), Listener(), made_up_jobs(8), threading.Event()
    attempts: list[tuple[bool, bool]] = []  # whether a helper tried unit 1, and whether helpers were there

    def wait_for(condition: Callable[[], bool]) -> None:
        while not condition():
            time.sleep(0.001)

    def train_one(job: Job) -> None:
        key = job.unit.key
        if key == "0":
            begun.set()
            wait_for(lambda: bool(attempts))
        elif key == "1":
            if is_helper():
                wait_for(lambda: shelf.locks["2"].locked() and shelf.locks["3"].locked())
            attempts.append((is_helper(), bool(ThreadHelper.alive)))
            if ThreadHelper.alive:
                raise NoRoomError("it does not fit")
        elif is_helper():
            wait_for(lambda: (False, True) in attempts)

    def open_later(_: object) -> Shelf:
        begun.wait()
        return shelf

    in_threads(shelf, train_one)
    monkeypatch.setattr(helper_module, "Store", open_later)
    run_all(main_executor(shelf, listener, jobs, train_one, 4), jobs)
    assert attempts == [(True, True), (False, True), (False, False)]
    assert not listener.names("failed")
    assert "not enough memory for it and others" in listener.names("warning")[0]
    assert len(listener.names("ended") + listener.names("found")) == len(jobs)


def test_a_unit_without_memory_alone_fails(in_threads: Callable) -> None:
    shelf, listener, jobs = Shelf(), Listener(), made_up_jobs(4)

    def train_one(job: Job) -> None:
        if job.unit.key == "1":
            raise NoRoomError("it does not fit")

    in_threads(shelf, train_one)
    with main_executor(shelf, listener, jobs, train_one, 2) as executor:
        executor.expect(jobs)
        executor.run(jobs[0], lambda *_: None)
        with pytest.raises(NoRoomError, match="it does not fit"):
            executor.run(jobs[1], lambda *_: None)
        executor.run(jobs[2], lambda *_: None)
    assert listener.names("failed") == ["unit 1"]


@pytest.mark.parametrize("broken", ["a process", "the store"])
def test_what_breaks_beside_the_units_ends_the_suite_and_hangs_nothing(
    broken: str, in_threads: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf, jobs = Shelf(), made_up_jobs(9)

    def fail(*_: object) -> None:
        raise OSError(f"no room for {broken}")

    in_threads(shelf, lambda _: time.sleep(0.05))
    if broken == "a process":
        monkeypatch.setattr(helped, "Helper", fail)
    else:
        monkeypatch.setattr(helper_module, "Store", fail)
    executor = main_executor(shelf, Listener(), jobs, lambda _: time.sleep(0.05), 3)
    with pytest.raises(OSError, match=f"no room for {broken}"):
        run_all(executor, jobs)


def test_a_search_trains_nothing_that_is_not_expected_yet(in_threads: Callable) -> None:
    shelf, jobs = Shelf(), made_up_jobs(6)
    in_threads(shelf, lambda _: None)
    with main_executor(shelf, Listener(), jobs, lambda _: None, 3) as executor:
        for first in (0, 3):
            executor.expect(jobs[first : first + 3])
            for job in jobs[first : first + 3]:
                executor.run(job, lambda *_: None)
            time.sleep(0.05)  # for helpers, which have nothing to do
            assert len(shelf.finished) == first + 3
