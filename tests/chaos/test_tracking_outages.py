"""A real MLflow server that is away, hangs, errs and loses answers: nothing lost or doubled, nobody waits."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from threading import Thread

import pytest
from faulty import Held, Proxy, Server

from mtlv.events import ignore
from mtlv.settings import Settings, load_overrides
from mtlv.suite.delivery import TrackerConnection, deliver
from mtlv.tracking import Metric, RunSpec, TableFile, Tracker
from mtlv.tracking.sync import sync_store
from mtlv.tracking.upload_process import UploadProcess

EVERY = 0.25  # seconds between two epochs of the make-believe training
LABELS = 23
INTO = 5.0  # seconds of training before a fault
STALL = 0.05  # seconds: the longest that a call of the tracker may take


class Site:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server = Server(folder)
        self.server.start()
        self.proxy = Proxy(self.server.port)
        self.proxy.open()

    def settings(self, name: str) -> Settings:
        store = f"store.uri={self.folder / 'stores' / name}"
        given = [f"experiment={name}", f"tracking.uri={self.proxy.uri}", "tracking.flush_seconds=90", store]
        return load_overrides(given).members[0].settings


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("site"))
    yield made
    made.proxy.close()
    made.server.kill()


@contextmanager
def delivering(settings: Settings, *, answers: bool) -> Iterator[TrackerConnection]:
    uri = settings.tracking.uri
    assert uri is not None
    with UploadProcess(uri, settings.experiment, print) as uploads:
        assert uploads.check() == answers
        with deliver(settings, ignore, uploads) as delivery:
            yield delivery


class Timed:
    """A tracker that keeps the longest time of a call."""

    def __init__(self, tracker: Tracker) -> None:
        self.tracker = tracker
        self.times: list[float] = []

    def __getattr__(self, name: str) -> Callable[..., object]:
        def call(*args: object) -> object:
            begun = time.perf_counter()
            try:
                return getattr(self.tracker, name)(*args)
            finally:
                self.times.append(time.perf_counter() - begun)

        return call


def train(tracker: Timed, seconds: float, folder: Path, uid: str) -> set[tuple[str, str, int, float]]:
    """A child run under a parent, as a suite makes them; what was tracked."""
    parent = tracker.open_run(RunSpec(f"{uid}-p", "parent", "suite member", params={"a": 1}))
    child = tracker.open_run(RunSpec(uid, "child", "fold", parent, params={"fold": 0}))
    sent = set()
    end, step = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        keys = [
            f"val.tasks.{figure}/label {n}" for figure in ("f1", "precision", "recall") for n in range(LABELS)
        ]
        points = [Metric(key, step / 8, step, 1_700_000_000_000 + step) for key in keys]
        tracker.metrics(child, points)
        sent |= {(uid, m.key, m.step, m.value) for m in points}
        step += 1
        time.sleep(EVERY)
    for number in range(5):
        tracker.text(child, f"text {number} " * 1000, f"report/{number}.txt")
    (folder / "picture.png").write_bytes(b"\x89PNG" + bytes(200_000))
    tracker.artifact(child, folder / "picture.png")
    tracker.image(child, folder / "picture.png", "pictures/p")
    (folder / "picture.png").write_bytes(b"replaced")
    tracker.table(child, TableFile("t.json", ("a",), [[1]]))
    tracker.close(child)
    tracker.close(parent)
    return sent


def down(site: Site, seconds: float) -> None:
    site.proxy.close()
    time.sleep(seconds)
    site.proxy.open()


def restart(site: Site, seconds: float) -> None:
    site.server.kill()
    time.sleep(seconds)
    site.server.start()


def stopped(site: Site, seconds: float) -> None:
    """The server hangs, and works off what it was asked when it goes on: requests that were given up."""
    site.server.signal(signal.SIGSTOP)
    time.sleep(seconds)
    site.server.signal(signal.SIGCONT)


def later(wait: float, fault: Callable[[Site, float], None], site: Site, seconds: float) -> None:
    time.sleep(wait)
    fault(site, seconds)


def mode(name: str) -> Callable[[Site, float], None]:
    def fault(site: Site, seconds: float) -> None:
        site.proxy.mode = name
        time.sleep(seconds)
        site.proxy.mode = "ok"

    return fault


FAULTS = {
    "calm": (lambda site, seconds: None, 20),
    "down": (down, 60),
    "restart": (restart, 5),
    "stopped": (stopped, 25),
    "hang": (mode("hang"), 25),
    "500": (mode("500"), 20),
    "429": (mode("429"), 20),
    "lost answers": (mode("lost"), 20),
    "slow": (mode("slow"), 20),
}


def judge(
    site: Site, name: str, sent: set[tuple[str, str, int, float]], tracker: Timed, say: Callable
) -> None:
    """Say what arrived, and demand that it is all, once."""
    held = Held(site.folder, name)
    counts = Counter(held.points)
    lost, doubled = sent - set(counts), sum(counts.values()) - len(set(counts))
    ends = Counter(status for _, status in held.active)
    say(
        f"{name}: {len(sent)} points sent, {len(lost)} lost, {doubled} doubled; {len(held.files)} files; "
        f"runs {dict(ends)}, {len(held.runs) - len(held.active)} twins removed; {len(tracker.times)} calls, "
        f"longest {max(tracker.times) * 1000:.1f} ms, mean {fmean(tracker.times) * 1000:.2f} ms"
    )
    assert (lost, doubled, set(counts) - sent) == (set(), 0, set())
    assert ends == {"FINISHED": 2}
    picture = b"\x89PNG" + bytes(200_000)
    assert held.files["u", "picture.png"] == picture
    assert sum(content == picture for content in held.files.values()) == 3
    assert sum(path.startswith("report/") for _, path in held.files) == 5
    assert len(held.files) == 9
    assert max(tracker.times) < STALL


@pytest.mark.parametrize("at_start", [False, True], ids=["in training", "at the first call"])
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_while_it_trains(
    name: str, at_start: bool, site: Site, tmp_path: Path, say: Callable
) -> None:
    """Faults at the first call meet the making of runs, which is where twins come from."""
    fault, seconds = FAULTS[name]
    if at_start and name in ("calm", "restart"):
        pytest.skip("no other than in training")
    seconds = min(seconds, 25) if at_start else seconds
    experiment = f"{name} {'first' if at_start else 'later'}"
    settings = site.settings(experiment)
    with delivering(settings, answers=True) as delivery:
        breaker = Thread(target=later, args=(0 if at_start else INTO, fault, site, seconds))
        before, begun = site.proxy.requests, time.monotonic()
        breaker.start()
        time.sleep(0.2)
        tracker = Timed(delivery.tracker)
        sent = train(tracker, INTO + seconds + 6, tmp_path, "u")
        asked = (site.proxy.requests - before) / (time.monotonic() - begun)
        breaker.join()
    say(f"{experiment}: {asked:.2f} requests a second while it trained")
    assert asked < 1
    assert delivery.upload.left == 0
    judge(site, experiment, sent, tracker, say)


def test_down_before_the_start_and_back_in_training(site: Site, tmp_path: Path, say: Callable) -> None:
    site.proxy.close()
    settings = site.settings("down before")
    with delivering(settings, answers=False) as delivery:
        breaker = Thread(target=down, args=(site, 15))
        breaker.start()
        tracker = Timed(delivery.tracker)
        sent = train(tracker, 20, tmp_path, "u")
        breaker.join()
    assert delivery.upload.left == 0
    judge(site, "down before", sent, tracker, say)


def test_away_until_sync(site: Site, tmp_path: Path, say: Callable) -> None:
    site.proxy.close()
    settings = site.settings("never")
    settings = settings.model_copy(
        update={"tracking": settings.tracking.model_copy(update={"flush_seconds": 1})}
    )
    with delivering(settings, answers=False) as delivery:
        tracker = Timed(delivery.tracker)
        sent = train(tracker, 5, tmp_path, "u")
    assert delivery.upload.left > 10
    site.proxy.open()
    store = Path(settings.store.uri)
    say(str(sync_store(store, None, print, patience=60)))
    judge(site, "never", sent, tracker, say)
    before = Held(site.folder, "never")
    assert "nothing to upload" in sync_store(store, None, print, patience=60)[0]
    assert vars(Held(site.folder, "never")) == vars(before)
