"""Leases on objects: one holder at a time, given back, renewed, and taken over when nobody renews."""

from __future__ import annotations

import json
import threading
import uuid
from contextlib import ExitStack
from pathlib import Path

import pytest

from mtlv.store.remote import client, leases, objects
from mtlv.store.remote.client import ObjectClient
from mtlv.store.remote.leases import FOLDER, Leases
from mtlv.store.remote.objects import ObjectStoreError


@pytest.fixture(params=["memory", "file"])
def far(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectClient:
    name = uuid.uuid4().hex
    return ObjectClient(
        f"file://{tmp_path}/objects" if request.param == "file" else f"memory://{name}", pauses=()
    )


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What `leases` takes for the time; nothing is renewed by itself."""
    now = [1000.0]
    monkeypatch.setattr(leases.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(Leases, "_renew_all", lambda self: None)
    return now


def other(far: ObjectClient, key: str, number: int = 1, **changes: object) -> str:
    """A lease of a process of another machine."""
    name = f"{FOLDER}/{key}/{number:06d}.json"
    content = {"holder": "process 7 on elsewhere", "machine": "elsewhere", "pid": 7, "count": 0, **changes}
    far.objects.put(name, json.dumps(content).encode())
    return name


def test_one_holder_at_a_time(far: ObjectClient) -> None:
    one, two = Leases(far), Leases(far)
    with one.held("k") as mine:
        assert mine
        assert one.holder("k") == two.holder("k")
        assert str(two.holder("k")).startswith("process ")
        with two.held("k") as theirs, two.held("another") as free:
            assert (theirs, free) == (False, True)
    assert far.names(FOLDER) == {}
    assert one.holder("k") is None
    with Leases(far).held("k") as mine:
        assert mine


def test_it_is_given_back_by_an_error(far: ObjectClient) -> None:
    with pytest.raises(KeyError), Leases(far).held("k") as mine:
        raise KeyError(mine)
    assert far.names(FOLDER) == {}


def test_of_many_at_once_one_has_it(far: ObjectClient) -> None:
    """Many times, so that they meet."""
    for turn in range(20):
        gate, held = threading.Barrier(6), list[bool]()

        def take(turn: int = turn, gate: threading.Barrier = gate, held: list[bool] = held) -> None:
            own = Leases(far)
            gate.wait()
            with own.held(f"k{turn}") as mine:
                held.append(mine)
                gate.wait()

        threads = [threading.Thread(target=take) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(held) <= 1


def test_one_that_is_not_renewed_is_taken_over_and_a_slow_one_does_not_come_back(
    far: ObjectClient, clock: list[float]
) -> None:
    left = other(far, "k")
    mine = Leases(far, ttl=60)
    with mine.held("k") as taken:
        assert not taken
    clock[0] += 59
    with mine.held("k") as taken:
        assert not taken
    clock[0] += 30
    with mine.held("k") as taken:
        assert taken
        assert list(far.names(FOLDER)) == [f"{FOLDER}/k/000002.json"]
        assert left not in far.names(FOLDER)
    assert far.names(FOLDER) == {}


def test_one_that_is_renewed_is_left_alone(far: ObjectClient, clock: list[float]) -> None:
    mine = Leases(far, ttl=60)
    for count in range(5):
        other(far, "k", count=count)
        with mine.held("k") as taken:
            assert not taken
        clock[0] += 50


def test_a_holder_that_was_away_for_too_long_finds_out(far: ObjectClient, clock: list[float]) -> None:
    slow, quick = Leases(far, ttl=60), Leases(far, ttl=60)
    stack = ExitStack()
    assert stack.enter_context(slow.held("k"))
    [held] = slow._mine.values()
    held.content["machine"] = "another"  # its end is not seen at once
    slow._renew(held)
    quick.holder("k")
    clock[0] += 61
    with quick.held("k") as taken:
        assert taken
        slow._renew(held)
        assert held.over
        stack.close()
        assert list(far.names(FOLDER)) == [f"{FOLDER}/k/000002.json"]  # the other's is not touched


def test_of_a_dead_process_of_this_machine_it_is_known_at_once(far: ObjectClient) -> None:
    other(far, "k", machine=leases._machine(), pid=2**22 + 1, born=5)
    with Leases(far).held("k") as taken:
        assert taken


def test_renewing_changes_it_and_ends_with_the_block(
    far: ObjectClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Leases(far, ttl=0.04)
    renewed = threading.Event()
    renew = own._renew

    def told(mine: object) -> None:
        renew(mine)
        renewed.set()

    monkeypatch.setattr(own, "_renew", told)
    with own.held("k") as mine:
        assert mine
        [name] = far.names(FOLDER)
        assert renewed.wait(30)
        assert json.loads(far.objects.get(name) or b"")["count"] >= 1
    assert far.names(FOLDER) == {}


def test_half_a_lease_is_one(far: ObjectClient, clock: list[float]) -> None:
    far.objects.put(f"{FOLDER}/k/000001.json", b'{"hol')
    own = Leases(far)
    assert own.holder("k") == "another process"
    with own.held("k") as taken:
        assert not taken


def test_without_exclusive_creation_it_is_best_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    """The medium is one that only writes: who finds its own words after a while has it."""
    monkeypatch.setattr(objects, "SETTLE", 0.0)
    far = ObjectClient(f"memory://{uuid.uuid4().hex}", pauses=())
    far.objects.exclusive = False
    far.prove()
    assert not far.objects.exclusive
    one, two = Leases(far), Leases(far)
    with one.held("k") as mine, two.held("k") as theirs:
        assert (mine, theirs) == (True, False)
    assert all(not name.startswith(FOLDER) for name in far.names(""))


def test_a_server_that_ignores_exclusive_creation_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    far = ObjectClient(f"memory://{uuid.uuid4().hex}", pauses=())

    def create(name: str, content: bytes) -> bool:
        far.objects.put(name, content)
        return True

    monkeypatch.setattr(far.objects, "create", create)
    assert far.objects.exclusive
    far.prove()
    assert not far.objects.exclusive


def test_what_passes_is_waited_out(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(client.time, "sleep", slept.append)
    far = ObjectClient(f"memory://{uuid.uuid4().hex}", pauses=(1, 2, 4))
    answers = [ObjectStoreError("busy", "wait", passing=True)] * 2

    def put(name: str, content: bytes) -> None:
        if answers:
            raise answers.pop()

    monkeypatch.setattr(far.objects, "put", put)
    far.put("a", b"")
    assert slept == [1, 2]
