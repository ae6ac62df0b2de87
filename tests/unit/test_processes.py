"""Children end with their parent, whatever they are doing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mtlv import processes
from mtlv.processes import ChildProcess

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
BUSY = {
    "in Python": "while True: pass",
    "in C, which lets no other thread run": "import re; re.match(r'(a+)+$', 'a' * 60 + 'b')",
}
CHILD = """
import os
from mtlv import processes
from mtlv.processes import ChildProcess, ProcessEnded
{before}
def main():
  with processes.parent({given}) as parent:
    parent.send(os.getpid())
    {work}
"""
PARENT = """
import sys, threading, time
from mtlv import processes
from mtlv.processes import ChildProcess, ProcessEnded
children = []
def begin():
    children.append(processes.ChildProcess("a_child"))
    print(children[0].receive(), flush=True)
thread = threading.Thread(target=begin)
thread.start()
thread.join()
time.sleep(600)
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Writes a module that children find."""

    def written(work: str, given: str = "", before: str = "") -> None:
        (tmp_path / "a_child.py").write_text(CHILD.format(work=work, given=given, before=before))

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path), str(processes.ROOT))))
    return written


@pytest.fixture
def parent(write) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    yield process
    process.kill()
    process.communicate()


@pytest.fixture
def child(write) -> Iterator[list[ChildProcess]]:
    held: list[ChildProcess] = []
    yield held
    for process in held:
        process.end()


def gone(pid: int, seconds: float) -> bool:
    """Whether a process ends within so many seconds; one that nobody waits for has ended too."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def killed(parent: subprocess.Popen[str], seconds: float) -> bool:
    """Whether its child ends within so many seconds after the parent was killed, and not before."""
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    try:
        assert not gone(pid, 0.3), "the thread that began it has ended, and it with it"
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        return gone(pid, seconds)
    finally:
        if not gone(pid, 0.05):
            os.kill(pid, signal.SIGKILL)


@LINUX
@pytest.mark.parametrize("work", BUSY.values(), ids=BUSY)
def test_a_busy_child_ends_with_its_killed_parent(write, work: str, request: pytest.FixtureRequest):
    write(work)
    assert killed(request.getfixturevalue("parent"), 2.0)


@LINUX
def test_where_the_kernel_does_not_a_thread_ends_the_child(write, request: pytest.FixtureRequest):
    write(BUSY["in Python"], before="processes._by_kernel = lambda grace: False")
    assert killed(request.getfixturevalue("parent"), 4.0)


@LINUX
def test_a_child_whose_parent_is_gone_already_does_not_begin(write, tmp_path: Path):
    write("open('begun', 'w')")
    nobody = subprocess.Popen([sys.executable, "-c", ""])
    nobody.wait()
    command = [sys.executable, "-m", "mtlv.processes", "a_child", str(nobody.pid)]
    assert subprocess.run(command, cwd=tmp_path, stdin=subprocess.DEVNULL, timeout=60).returncode == 1
    assert not (tmp_path / "begun").exists()


@LINUX
def test_a_child_that_has_to_end_in_good_order_has_seconds_for_it(write, child):
    """What the kernel would do at the parent's death: an alarm, which ends a process that still runs then."""
    write(
        "import ctypes, signal; asks = ctypes.c_int(); ctypes.CDLL(None).prctl(2, ctypes.byref(asks));"
        "os.kill(os.getpid(), asks.value);"
        "parent.send((asks.value, signal.getitimer(signal.ITIMER_REAL)[0]))",
        given="grace=True",
    )
    child.append(ChildProcess("a_child"))
    child[0].receive()
    asks, left = child[0].receive()
    assert asks != signal.SIGKILL
    assert 5 < left <= 20


def test_what_cannot_be_started_is_told_where_it_was_asked_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(FileNotFoundError):
        ChildProcess("a_child")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of threads
def test_a_fork_of_this_process_can_begin_children_too(write):
    write("pass")
    ChildProcess("a_child").end()
    pid = os.fork()
    if pid == 0:
        threading.Timer(20, os._exit, (3,)).start()
        ChildProcess("a_child").end()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@LINUX
@pytest.mark.parametrize("module", ["mtlv.execution.helper", "mtlv.tracking.upload_process"])
def test_those_that_write_what_is_not_done_again_have_seconds_for_it(child, module: str):
    child.append(ChildProcess(module))
    status = Path(f"/proc/{child[0].process.pid}/status")
    end = time.monotonic() + 60
    while not int(status.read_text().split("SigCgt:")[1].split()[0], 16) >> (signal.SIGUSR1 - 1) & 1:
        assert child[0].process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.05)
