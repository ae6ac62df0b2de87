"""Leases among processes of which one after the other is killed: never two hold one."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

PROCESSES, SECONDS = 5, 40
WORK = f"""
import os, random, sys, time
from mtlv.store.remote import leases
from mtlv.store.remote.client import ObjectClient

leases.AGAIN = 0.02
own, draw = leases.Leases(ObjectClient(sys.argv[1]), ttl=4.0), random.Random(sys.argv[3])
log = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
end = time.monotonic() + {SECONDS}
while time.monotonic() < end:
    key = f"k{{draw.randrange(4)}}"
    with own.held(key) as mine:
        if mine:
            os.write(log, f"enter {{key}} {{os.getpid()}}\\n".encode())
            time.sleep(draw.random() * 0.05)
            os.write(log, f"exit {{key}} {{os.getpid()}}\\n".encode())
    time.sleep(draw.random() * 0.01)
"""


@pytest.fixture
def server() -> Iterator[str]:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "user")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        import boto3

        boto3.client("s3").create_bucket(Bucket="bucket")
        yield "s3://bucket/leases"
    server.stop()


@pytest.mark.parametrize("medium", ["file", "s3"])
def test_of_processes_that_are_killed_never_two_hold_a_lease(
    medium: str, tmp_path: Path, request: pytest.FixtureRequest, say: Callable[[str], None]
) -> None:
    address = request.getfixturevalue("server") if medium == "s3" else f"file://{tmp_path}/objects"
    log, killed, draw = tmp_path / "log", set[int](), random.Random(0)

    def begin() -> subprocess.Popen[bytes]:
        words = [sys.executable, "-c", WORK, address, str(log), str(draw.random())]
        return subprocess.Popen(words, env={**os.environ})

    processes = [begin() for _ in range(PROCESSES)]
    end = time.monotonic() + SECONDS
    try:
        while time.monotonic() < end:
            time.sleep(2.5)
            place = draw.randrange(PROCESSES)
            if processes[place].poll() is None:
                processes[place].kill()
                processes[place].wait()
                killed.add(processes[place].pid)
                processes[place] = begin()
        assert [process.wait(10 * SECONDS) for process in processes] == [0] * PROCESSES
    finally:
        for process in processes:
            process.kill()
            process.wait()
    times, twice = count(log.read_text().splitlines(), killed)
    say(f"{medium}: {times} times held, {len(killed)} processes killed, {twice} held twice")
    assert times > 100
    assert killed
    assert twice == 0


def count(lines: list[str], killed: set[int]) -> tuple[int, int]:
    """How often a lease was taken, and how often while a process that was not killed held it."""
    held: dict[str, int] = {}
    times = twice = 0
    for line in lines:
        what, key, pid = line.split()
        if what == "enter":
            times += 1
            twice += held.get(key, 0) != 0 and held[key] not in killed
            held[key] = int(pid)
        elif held.get(key) == int(pid):
            del held[key]
    return times, twice
