"""However a store fails, it ends with everything exactly once and in order, and nobody waits for it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from memory_tracker import MemoryTracker

from mtlv.errors import RefusedError, TrackingError
from mtlv.locks import release
from mtlv.sealed import seal
from mtlv.tracking import Chart, DataPart, Metric, RunSpec, TableFile, TrackedModel, View
from mtlv.tracking.journal import ABOUT, CALLS, FILES, Journal, JournalRecord, line_of
from mtlv.tracking.journal_reader import ASIDE, JournalReader, dead_journals, journals
from mtlv.tracking.journal_tracker import JournalTracker
from mtlv.tracking.sync import waiting
from mtlv.tracking.uploader import Uploader, UploadInterval

QUICK = UploadInterval(interval=0.01, first=0.001, longest=0.01, closing=0.01, silence=0.0)
PATIENCE = 10.0  # seconds; nothing here takes so long


def away(call: Callable[[], Any]) -> Any:
    """Nobody listens, or the answer is 500 or 429."""
    raise TrackingError("the tracking server `http://h` cannot be reached: error code 500")


def lost(call: Callable[[], Any]) -> Any:
    """Stored, but the answer does not arrive."""
    call()
    raise TrackingError("the tracking server `http://h` cannot be reached: timed out")


def broken(call: Callable[[], Any]) -> Any:
    """What nobody thought of."""
    raise RuntimeError("boom")


class Store:
    """A tracker whose ids are not the uids, with a fault for some of its calls, by number from 0."""

    def __init__(self, faults: dict[int, Callable[..., Any]] | None = None) -> None:
        self.memory = MemoryTracker()
        self.calls: list[str] = []
        self.faults = faults or {}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            number = len(self.calls)
            self.calls.append(name)
            fault = self.faults.get(number, lambda act: act())
            return fault(lambda: getattr(self.memory, name)(*map(self._uid, args)))

        return call

    def _uid(self, value: Any) -> Any:
        if isinstance(value, RunSpec):
            return replace(value, parent=self._uid(value.parent))
        if isinstance(value, TrackedModel):
            return replace(value, metrics_run=self._uid(value.metrics_run))
        if isinstance(value, str) and value.startswith("id-"):
            return value[3:]
        assert not (isinstance(value, str) and value in self.memory.runs), "a uid where an id is wanted"
        return value

    def open_run(self, spec: RunSpec) -> str:
        return f"id-{self.__getattr__('open_run')(spec)}"


@pytest.fixture
def root(tmp_path):
    return tmp_path / "journal"


@pytest.fixture
def told():
    return []


def begin(root, store, told, *, pace=QUICK, older=(), **options):
    journal = Journal(root, "http://h", "e")
    own = JournalReader(journal.folder, told.append, live=True)
    uploader = Uploader([*older, own], lambda experiment: store, told.append, pace=pace, **options)
    return JournalTracker(journal), uploader


def write_all(tracker, folder):
    """Every call of the protocol; into a tracker of whichever kind."""
    (folder / "weights").write_bytes(b"w" * 10)
    (folder / "p.png").write_bytes(b"png")
    (folder / "scores").mkdir(exist_ok=True)
    (folder / "scores" / "test.parquet").write_bytes(b"scores")
    tracker.describe_all(
        "all", [View("Runs", "fold", ("params.a",), {"s": (Chart("line", ("a", "b")),)}, ("c",))]
    )
    parent = tracker.open_run(
        RunSpec("p", "parent", "suite member", params={"a": [1, None]}, tags={"t": "肺炎"})
    )
    child = tracker.open_run(RunSpec("c", "child", parent=parent, colour="#123456", description="d"))
    tracker.data(child, [DataPart("openi", "d", "training", "s", 3, ("x", "y"))])
    for step in range(30):
        tracker.metrics(child, [Metric(f"m{n}", step / 7, step, 1000 + step) for n in range(20)])
    tracker.text(child, "text", "a/b.txt")
    tracker.table(child, TableFile("t.json", ("a", "b"), [["x", float("nan")], [1, None]]))
    tracker.artifact(child, folder / "p.png", "deep")
    tracker.artifact(child, folder / "scores")
    tracker.image(child, folder / "p.png", "pictures/p")
    tracker.describe(child, "later")
    tracker.tags(child, {"t": "new"})
    points = [Metric("m1", 0.0, 0, 1000)]
    model = TrackedModel(
        {"n/w": folder / "weights"},
        {"code.py": "x"},
        "code.py",
        "n",
        {"o": "double"},
        {"p": "q"},
        "d",
        {"s": "1"},
    )
    tracker.model(parent, replace(model, metrics=points, metrics_run=child, dataset=("openi", "d")))
    tracker.close(child)
    tracker.close(parent, "FAILED")


def content(memory):
    """All that a store in memory holds, to compare; the model's files by what is in them."""
    runs = {}
    for uid, run in memory.runs.items():
        spec = replace(run.spec, began_ms=0, params=run.params)
        model = run.model and replace(run.model, files=dict.fromkeys(run.model.files, None))
        runs[uid] = {**vars(run), "spec": spec, "model": model, "points": list(run.points)}
    return repr((runs, memory.description, memory.views))


@pytest.fixture
def expected(tmp_path):
    memory = MemoryTracker()
    write_all(memory, tmp_path)
    return content(memory)


def test_a_good_store_gets_everything_and_the_journal_goes(root, told, tmp_path, expected):
    store = Store()
    tracker, uploader = begin(root, store, told)
    uploader.start()
    write_all(tracker, tmp_path)
    assert uploader.close(PATIENCE) == 0
    tracker.journal.close(delivered=True)
    assert content(store.memory) == expected
    assert journals(root) == []
    assert told == []


FAULTS = {
    "away at every second call": dict.fromkeys(range(0, 200, 2), away),
    "every answer lost once": dict.fromkeys(range(0, 200, 2), lost),
    "away for long": dict.fromkeys(range(3, 60), away),
    "answers lost for long": dict.fromkeys(range(3, 60), lost),
    "broken at times": dict.fromkeys(range(0, 100, 3), broken),
    "all in turn": {n: (away, lost, broken)[n % 3] for n in range(100) if n % 5},
}


@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS)
def test_whatever_fails_for_a_while_the_store_ends_as_it_should(faults, root, told, tmp_path, expected):
    store = Store(faults)
    tracker, uploader = begin(root, store, told)
    write_all(tracker, tmp_path)
    uploader.start()
    assert uploader.close(PATIENCE) == 0
    assert content(store.memory) == expected
    assert told[0].startswith(("the tracking server", "boom"))
    assert "are kept in" in told[0]
    assert told[1] == "the tracking store is reachable again"


@pytest.mark.parametrize("end", [0, 3, 7, 14])
@pytest.mark.parametrize("fault", [away, lost])
def test_a_later_process_goes_on_where_delivery_stopped(end, fault, root, told, tmp_path, expected):
    store = Store(dict.fromkeys(range(end, 10_000), fault))
    tracker, uploader = begin(root, store, told)
    write_all(tracker, tmp_path)
    uploader.start()
    left = uploader.close(0.1)
    tracker.journal.close()
    assert left > 0
    store.faults = {}
    tracker, later = begin(root, store, told, older=dead_journals(root, told.append))
    assert later.left == left
    later.start()
    assert later.close(PATIENCE) == 0
    assert content(store.memory) == expected
    assert journals(root) == [tracker.journal.folder]


def test_calls_return_and_the_end_is_near_though_the_store_hangs_for_ever(root, told, tmp_path):
    never = threading.Event()
    store = Store(dict.fromkeys(range(100), lambda call: never.wait()))
    tracker, uploader = begin(root, store, told)
    uploader.start()
    begun = time.monotonic()
    write_all(tracker, tmp_path)
    assert time.monotonic() - begun < 2
    left = uploader.close(0.2)
    assert time.monotonic() - begun < 4
    tracker.journal.close()
    assert left == uploader.left > 40
    assert dead_journals(root, told.append) == [], "a call is under way: nobody else may deliver"
    never.set()


def test_longest_bounds_the_end_though_calls_get_through(root, told):
    store = Store(dict.fromkeys(range(1000), lambda call: (time.sleep(0.05), call())[1]))
    tracker, uploader = begin(root, store, told)
    run = tracker.open_run(RunSpec("u", "n"))
    for number in range(200):
        tracker.text(run, "t", f"{number}.txt")
    uploader.start()
    assert 150 < uploader.close(PATIENCE, longest=0.3) < 201


def test_metrics_in_between_go_together(root, told):
    store = Store()
    tracker, uploader = begin(root, store, told, pace=replace(QUICK, interval=60))
    run = tracker.open_run(RunSpec("u", "n"))
    for step in range(100):
        tracker.metrics(run, [Metric(f"m{n}", 1.0, step) for n in range(25)])
    uploader.start()
    assert uploader.close(PATIENCE) == 0
    assert store.calls == ["open_run", "metrics", "metrics", "metrics"]
    assert len(store.memory.runs["u"].points) == 2500


def refuse(call):
    raise RefusedError("the tracking server `http://h` does not allow this user to do this")


def test_a_refusal_is_told_once_and_all_behind_it_waits(root, told, tmp_path, expected):
    store = Store(dict.fromkeys(range(5, 1000), refuse))
    tracker, uploader = begin(root, store, told)
    write_all(tracker, tmp_path)
    uploader.start()
    assert uploader.close(PATIENCE) == 10
    tracker.journal.close()
    assert len(told) == 1
    assert "does not allow this user" in told[0]
    assert "rejected record 35 (`text`) of" in told[0]
    assert isinstance(uploader.problem, RefusedError)
    assert len(store.calls) == 6, "nothing was asked again"
    store.faults = {}
    _, later = begin(root, store, told, older=dead_journals(root, told.append))
    later.start()
    assert later.close(PATIENCE) == 0
    assert content(store.memory) == expected


def test_a_refused_record_is_put_aside_only_where_that_is_asked_for(root, told):
    store = Store({2: refuse})
    tracker, uploader = begin(root, store, told, set_aside=True)
    run = tracker.open_run(RunSpec("u", "n"))
    for name in "abc":
        tracker.text(run, name, f"{name}.txt")
    uploader.start()
    assert uploader.close(PATIENCE) == 0
    assert list(store.memory.runs["u"].files) == ["a.txt", "c.txt"]
    (kept,) = root.joinpath(ASIDE).glob("*/broken.jsonl")
    assert json.loads(kept.read_text())["record"] == "3 (`text`)"
    assert "record 3 (`text`)" in told[0]


def test_a_store_that_refuses_to_be_opened_is_told_once_and_nothing_is_put_aside(root, told):
    def closed(experiment):
        raise RefusedError("the experiment `e` was deleted in MLflow")

    journal = Journal(root, "http://h", "e")
    own = JournalReader(journal.folder, told.append, live=True)
    uploader = Uploader([own], closed, told.append, pace=QUICK, set_aside=True)
    JournalTracker(journal).open_run(RunSpec("u", "n"))
    uploader.start()
    assert uploader.close(PATIENCE) == 1
    assert len(told) == 1
    assert not (root / ASIDE).exists()


def test_another_experiment_does_not_wait_for_one_that_refuses(root, told):
    stores = {"e": Store(dict.fromkeys(range(99), refuse)), "f": Store()}
    old = Journal(root, "http://h", "e")
    JournalTracker(old).open_run(RunSpec("u", "n"))
    old.close()
    journal = Journal(root, "http://h", "f")
    older = dead_journals(root, told.append)
    own = JournalReader(journal.folder, told.append, live=True)
    uploader = Uploader([*older, own], stores.__getitem__, told.append, pace=QUICK)
    JournalTracker(journal).open_run(RunSpec("v", "n"))
    uploader.start()
    assert uploader.close(PATIENCE) == 1
    assert list(stores["f"].memory.runs) == ["v"]
    assert old.folder in journals(root)


def test_earlier_journals_go_first_so_that_the_newest_word_stands(root, told):
    store = Store()
    for status in ("KILLED", "FAILED"):
        journal = Journal(root, "http://h", "e")
        tracker = JournalTracker(journal)
        tracker.close(tracker.open_run(RunSpec("u", "n", tags={"t": status})), status)
        journal.close()
    tracker, uploader = begin(root, store, told, older=dead_journals(root, told.append))
    tracker.close(tracker.open_run(RunSpec("u", "n")))
    uploader.start()
    assert uploader.close(PATIENCE) == 0
    run = store.memory.runs["u"]
    assert (run.status, run.tags["t"]) == ("FINISHED", "FAILED")


DAMAGED = {
    "an unknown call": (JournalRecord(2, "erase", "u", [], {}), "the call is unknown"),
    "a call that is no record": (JournalRecord(2, "__init__", "u", [], {}), "the call is unknown"),
    "a missing argument": (JournalRecord(2, "text", "u", ["a"], {}), "its content is invalid"),
    "an argument of another type": (JournalRecord(2, "text", "u", ["a", 1], {}), "its content is invalid"),
    "points that are none": (JournalRecord(2, "metrics", "u", [[1]], {}), "its content is invalid"),
    "a run that was never opened": (JournalRecord(2, "describe", "x", [""], {}), "was not opened"),
    "no run": (JournalRecord(2, "describe", "", [""], {}), "was not opened"),
    "a file that is not there": (
        JournalRecord(2, "artifact", "u", ["a", ""], {"a": "00"}),
        "is missing, incomplete or changed",
    ),
    "a file outside": (JournalRecord(2, "image", "u", ["../../../x", "k"], {"../../../x": "00"}), "name"),
    "a folder outside": (JournalRecord(2, "artifact", "u", ["../..", ""], {}), "name"),
}


@pytest.mark.parametrize(("record", "said"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_record_is_named_and_set_aside_and_the_rest_goes_on(record, said, root, told):
    (root.parent / "x").write_text("abc")
    store = Store()
    journal = Journal(root, "http://h", "e")
    JournalTracker(journal).open_run(RunSpec("u", "n"))
    after = JournalRecord(3, "close", "u", ["FINISHED", 1], {})
    with (journal.folder / CALLS).open("ab") as file:
        file.write(line_of(record) + line_of(after))
    journal.close()
    uploader = Uploader(dead_journals(root, told.append), lambda e: store, told.append, pace=QUICK)
    uploader.start()
    assert uploader.close(PATIENCE) == 0
    assert store.calls == ["open_run", "close"]
    assert f"record 2 (`{record.call}`)" in told[0]
    assert said in told[0]


def test_files_go_when_they_are_delivered_and_stay_until_then(root, told, tmp_path):
    gate = threading.Event()
    store = Store({1: lambda call: (gate.wait(PATIENCE), call())[1]})
    tracker, uploader = begin(root, store, told)
    run = tracker.open_run(RunSpec("u", "n"))
    (tmp_path / "f").write_text("f")
    tracker.artifact(run, tmp_path / "f")
    uploader.start()
    files = tracker.journal.folder / FILES
    assert [path.read_text() for path in files.rglob("f")] == ["f"]
    gate.set()
    end = time.monotonic() + PATIENCE
    while list(files.iterdir()) and time.monotonic() < end:
        time.sleep(0.005)
    assert list(files.iterdir()) == []
    assert uploader.close(PATIENCE) == 0


def test_waits_grow_to_a_limit_and_vary(root, told):
    _, uploader = begin(root, Store(), told, pace=UploadInterval())
    waits = []
    for uploader._failures in (1, 2, 3, 7, 5000):
        found = [uploader._delay() for _ in range(50)]
        assert max(found) > min(found)
        waits.append((min(found), max(found)))
    for (low, high), middle in zip(waits, (1, 2, 4, 60, 60), strict=True):
        assert middle * 0.5 <= low <= high <= middle * 1.5


def test_a_run_keeps_the_times_of_its_calls(root, told):
    opened = []

    class Timed(Store):
        def open_run(self, spec):
            opened.append(spec.began_ms)
            return super().open_run(spec)

        def close(self, run, status, ended_ms):
            opened.append(ended_ms)

    tracker, uploader = begin(root, Timed(), told)
    before = time.time_ns() // 1_000_000
    tracker.close(tracker.open_run(RunSpec("u", "n")))
    after = time.time_ns() // 1_000_000
    time.sleep(0.01)
    uploader.start()
    assert uploader.close(PATIENCE) == 0
    assert before <= opened[0] <= opened[1] <= after


def killed(root, *, host=None):
    """A journal of a process that was killed within two of its three runs; the third had ended."""
    journal = Journal(root, "http://h", "e")
    tracker = JournalTracker(journal)
    parent = tracker.open_run(RunSpec("p", "suite", "suite member"))
    for uid in ("c", "d"):
        child = tracker.open_run(RunSpec(uid, f"fold {uid}", parent=parent))
        tracker.text(child, "\tclose\t", "a.txt")
        if uid == "c":
            tracker.close(child)
    release(journal._lock)
    if host is not None:
        about = json.loads((journal.folder / ABOUT).read_text())
        del about["sha256"]
        (journal.folder / ABOUT).write_text(seal(about | {"host": host}))
    return journal


def upload(root, store, told):
    uploader = Uploader(dead_journals(root, told.append), lambda experiment: store, told.append, pace=QUICK)
    uploader.start()
    assert uploader.close(PATIENCE) == 0


def statuses(store):
    return {uid: run.status for uid, run in store.memory.runs.items()}


def test_runs_of_a_killed_process_are_marked(root, told):
    store = Store({7: away, 9: away})
    killed(root)
    upload(root, store, told)
    assert statuses(store) == {"p": "KILLED", "c": "FINISHED", "d": "KILLED"}
    marks = [text for text in told if "marked KILLED" in text]
    assert len(marks) == 1
    assert "`mtlv run CONFIG` continues them" in marks[0]
    assert journals(root) == []


def test_they_are_marked_although_all_was_uploaded_before(root, told):
    store, journal = Store(), killed(root)
    reader = JournalReader(journal.folder, told.append, live=True)
    first = Uploader([reader], lambda experiment: store, told.append, pace=QUICK)
    first.start()
    assert first.close(PATIENCE) == 0
    assert statuses(store) == {"p": "RUNNING", "c": "FINISHED", "d": "RUNNING"}
    assert waiting(root.parent, told.append) == 0, "`mtlv status` changes nothing"
    store.memory.close("d")  # by a later process
    upload(root, store, told)
    assert statuses(store) == {"p": "KILLED", "c": "FINISHED", "d": "FINISHED"}
    assert told == [
        "1 run marked KILLED in MLflow, because their process was killed: `suite`; "
        "`mtlv run CONFIG` continues them"
    ]
    assert waiting(root.parent, told.append) == 0
    assert journals(root) == []


def test_runs_of_another_machine_are_named_and_not_marked(root, told):
    store = Store()
    killed(root, host="elsewhere")
    upload(root, store, told)
    assert statuses(store) == {"p": "RUNNING", "c": "FINISHED", "d": "RUNNING"}
    (text,) = told
    assert "left as RUNNING" in text
    assert "process on `elsewhere` may go on: `suite`, `fold d`" in text
    assert journals(root) == []


def test_runs_that_a_living_process_continues_are_not_marked(root, told):
    store = Store()
    killed(root)
    living = Journal(root, "http://h", "e")
    JournalTracker(living).open_run(RunSpec("d", "fold d"))
    upload(root, store, told)
    assert statuses(store) == {"p": "KILLED", "c": "FINISHED", "d": "RUNNING"}
    living.close()


def test_runs_that_this_process_continues_end_as_it_says(root, told):
    store = Store()
    killed(root)
    tracker, uploader = begin(root, store, told, older=dead_journals(root, told.append))
    parent = tracker.open_run(RunSpec("p", "suite", "suite member"))
    uploader.start()
    tracker.close(parent)
    assert uploader.close(PATIENCE) == 0
    assert statuses(store) == {"p": "FINISHED", "c": "FINISHED", "d": "KILLED"}


def test_runs_of_a_deleted_experiment_are_left(root, told):
    def gone(_: Callable[[], Any]) -> Any:
        raise RefusedError("the run does not exist")

    store = Store()
    store.faults = {6: gone}
    killed(root)
    upload(root, store, told)
    assert store.calls[6:] == ["end_if_running", "end_if_running"]
    assert statuses(store) == {"p": "RUNNING", "c": "FINISHED", "d": "KILLED"}
    assert journals(root) == []
