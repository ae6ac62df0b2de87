"""Child processes that run modules of mtlv; both sides exchange Python objects over pipes.

Each child ends with its parent, even if it is busy.
"""

from __future__ import annotations

import importlib
import os
import pickle  # nosec B403 # between a process and the child it started, over their own pipes
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import IO, Any

from mtlv.errors import MtlvError

ROOT = Path(__file__).resolve().parents[1]
GRACE_SECONDS = 10.0
"""Seconds that a process with `grace` has after the end of its parent.

The kernel sends it SIGUSR1, whose number equals these seconds; see `_by_kernel`.
"""
LOOK_SECONDS = 1.0  # seconds between checks of the parent, if the kernel sends no signal
PR_SET_PDEATHSIG = 1  # from Linux's <sys/prctl.h>

Process = subprocess.Popen[bytes]


class ProcessEnded(Exception):
    """Raised when the other process sends nothing more."""


@dataclass(frozen=True)
class Failed:
    """Work of a child failed with an error that a user can fix, or an error of the system."""

    error: Exception


@dataclass(frozen=True)
class Crashed:
    """Work of a child failed with an unexpected error."""

    traceback: str


def failure(error: Exception) -> Failed | Crashed:
    """Return the message about an error in a child, whose own output is not shown."""
    if isinstance(error, MtlvError | OSError):
        return Failed(error)
    return Crashed("".join(traceback.format_exception(error)))


class Connection:
    """Two pipes that carry pickled objects; several threads may send."""

    def __init__(self, incoming: IO[bytes], outgoing: IO[bytes]) -> None:
        self.incoming, self.outgoing = incoming, outgoing
        self._sending = Lock()

    def send(self, message: object) -> None:
        """Send an object.

        Raises:
            OSError, ValueError: the pipe is closed.
        """
        with self._sending:
            pickle.dump(message, self.outgoing)
            self.outgoing.flush()

    def receive(self) -> Any:
        """Wait for the next object and return it.

        Raises:
            ProcessEnded: there is none, or it is incomplete.
        """
        try:
            return pickle.load(self.incoming)  # nosec B301 # our own parent or child writes it
        except MemoryError:
            raise
        except Exception as error:  # the other process ended, possibly in the middle of a message
            raise ProcessEnded from error

    def messages(self) -> Iterator[Any]:
        """Yield all objects that the other process sends until it ends."""
        with suppress(ProcessEnded):
            while True:
                yield self.receive()


class ChildProcess(Connection):
    """A module of mtlv in another process, with some environment variables; its `main()` uses `parent`."""

    def __init__(self, module: str, **environment: str) -> None:
        self.process = _begin(module, **environment)
        assert self.process.stdout is not None
        assert self.process.stdin is not None
        super().__init__(self.process.stdout, self.process.stdin)

    def send(self, message: object) -> None:
        """Send an object; if the process has ended, `receive` raises the error."""
        with suppress(OSError, ValueError):
            super().send(message)

    def finish(self) -> None:
        """Close the pipe to the process, which ends when its work is finished."""
        with suppress(OSError, ValueError):
            self.outgoing.close()

    def end(self, patience: float = 0.0) -> None:
        """End the process, immediately or after `patience` seconds, and close its pipes."""
        if patience:
            self.finish()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(patience)
        self.process.kill()
        self.process.wait()
        self.finish()
        self.incoming.close()

    def how_it_ended(self) -> str:
        """Return its signal or exit code, after it has closed its pipe."""
        try:
            code = self.process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "it did not respond"
        if code >= 0:
            return f"exit code {code}"
        with suppress(ValueError):
            return signal.Signals(-code).name
        return f"signal {-code}"


def _begin(module: str, **environment: str) -> Process:
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))

    def start() -> Process:
        return subprocess.Popen(  # nosec B603 # this Python, a module of ours
            [sys.executable, "-m", "mtlv.processes", module, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is handled by this process
            env=os.environ | environment | {"PYTHONPATH": path},
        )

    begun: Future[Process] = Future()
    _starter().put((start, begun))
    return begun.result()


@cache
def _starter() -> SimpleQueue[tuple[Callable[[], Process], Future[Process]]]:
    """Return the queue of the thread that starts all processes.

    Linux ends a process with the *thread* that started it. This thread lives as long as its process, but the
    calling thread may end before.
    """
    orders: SimpleQueue[tuple[Callable[[], Process], Future[Process]]] = SimpleQueue()

    def work() -> None:
        while True:
            start, begun = orders.get()
            try:
                begun.set_result(start())
            except Exception as error:  # reported to the requester
                begun.set_exception(error)

    Thread(target=work, name="mtlv-starter", daemon=True).start()
    return orders


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_starter.cache_clear)  # a fork does not have the threads


def ignore_end_signals() -> None:
    """Ignore SIGTERM and SIGHUP in a child: the parent decides when to stop, and its end closes the pipe."""
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)


@contextmanager
def parent(*, grace: bool = False) -> Iterator[Connection]:
    """Return the child's connection to its parent, separate from printed output.

    Args:
        grace: whether it has `GRACE_SECONDS` to stop gracefully after the parent, whose end it detects from
            the closed pipe; otherwise it ends immediately.
    """
    pid = int(sys.argv[2])
    if not _by_kernel(grace):
        Thread(target=_watch, args=(pid, grace), daemon=True).start()
    if os.getppid() != pid:  # it ended before the kernel was asked
        os._exit(1)
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        yield Connection(sys.stdin.buffer, answers)


def _by_kernel(grace: bool) -> bool:
    """Let Linux end this process with its parent; return False if not supported.

    A thread could not do this while other code blocks all threads.
    """
    if sys.platform != "linux":
        return False
    import ctypes

    libc = ctypes.CDLL(None)
    if not grace:
        return bool(libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) == 0)
    # A handler in C, because one in Python would also wait for other code. It is called with the signal's
    # number, which `alarm` takes as seconds; then SIGALRM, which has no handler, ends the process.
    libc.signal(int(signal.SIGUSR1), libc.alarm)
    return bool(libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGUSR1), 0, 0, 0) == 0)


def _watch(parent: int, grace: bool) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_SECONDS)
    time.sleep(GRACE_SECONDS if grace else 0)
    os._exit(1)


def alive(pid: int, since: int | None) -> bool:
    """Return whether a process that was `born` at `since` still exists; another may have got its id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it exists and belongs to another user
        pass
    return born(pid) == since


def born(pid: int) -> int | None:
    """Return the start of a process, in ticks of its machine; None if not available."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return int(text.rsplit(")", 1)[1].split()[19])
    except (OSError, ValueError, IndexError):
        return None


if __name__ == "__main__":  # the module is not run as __main__: its classes would differ from the parent's
    importlib.import_module(sys.argv[1]).main()
