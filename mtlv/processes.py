"""Modules of ours that run as a process beside this one; both send each other Python objects over pipes.

Each ends with this process, even if it is busy.
"""

from __future__ import annotations

import importlib
import os
import pickle  # nosec B403 # between a process and the child it started, over their own pipes
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread, Timer
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[1]
GRACE = 10.0
"""Seconds that a process with `grace` has left after the one that began it. Nobody else tells it to end, so
the kernel does: by its signal SIGUSR1, whose number these seconds are; see `_by_kernel`."""
LOOK = 1.0  # seconds between two looks for the process that began this one, where the kernel does not tell
PR_SET_PDEATHSIG = 1  # of Linux's <sys/prctl.h>

Process = subprocess.Popen[bytes]


class ProcessEnded(Exception):
    """The other process sends nothing more."""


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
        """The next object; waits for it.

        Raises:
            ProcessEnded: there is none, or only a part of it.
        """
        try:
            return pickle.load(self.incoming)  # nosec B301 # our own parent or child writes it
        except MemoryError:
            raise
        except Exception as error:  # its end, also in the middle of a message
            raise ProcessEnded from error


class ChildProcess(Connection):
    """A module of ours in a process of its own.

    Args:
        module: such as `mtlv.comparison.drawing`; its `main()` works in `parent`.
        environment: variables besides this process's own.
    """

    def __init__(self, module: str, **environment: str) -> None:
        self.process = _begin(module, **environment)
        assert self.process.stdout is not None
        assert self.process.stdin is not None
        super().__init__(self.process.stdout, self.process.stdin)

    def send(self, message: object) -> None:
        """Send an object; if the process has ended, `receive` says so."""
        with suppress(OSError, ValueError):
            super().send(message)

    def finish(self) -> None:
        """Close the pipe to it: it receives nothing more, and ends when it is done."""
        with suppress(OSError, ValueError):
            self.outgoing.close()

    def end(self, patience: float = 0.0) -> None:
        """End it, at once or after so many seconds, and close its pipes."""
        if patience:
            self.finish()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(patience)
        self.process.kill()
        self.process.wait()
        self.finish()
        self.incoming.close()

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Kill the process where the block, which waits for it, takes longer."""
        timer = Timer(seconds, self.process.kill)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def how_it_ended(self) -> str:
        """Its signal or exit code, once it has closed its pipe."""
        try:
            code = self.process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "it did not answer"
        if code >= 0:
            return f"exit code {code}"
        with suppress(ValueError):
            return signal.Signals(-code).name
        return f"signal {-code}"

    def was_killed(self) -> bool:
        """Whether it was ended by a signal, once it has closed its pipe: at a limit, or by somebody."""
        with suppress(subprocess.TimeoutExpired):
            return self.process.wait(GRACE) < 0
        self.process.kill()
        return True


def _begin(module: str, **environment: str) -> Process:
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))

    def start() -> Process:
        return subprocess.Popen(  # nosec B603 # this Python, a module of ours
            [sys.executable, "-m", "mtlv.processes", module, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for this process to answer
            env=os.environ | environment | {"PYTHONPATH": path},
        )

    begun: Future[Process] = Future()
    _starter().put((start, begun))
    return begun.result()


@cache
def _starter() -> SimpleQueue[tuple[Callable[[], Process], Future[Process]]]:
    """Orders to the thread that starts all processes. Linux ends a process with the *thread* that started it;
    this one lives as long as its process, while the one that calls `begin` may end before."""
    orders: SimpleQueue[tuple[Callable[[], Process], Future[Process]]] = SimpleQueue()

    def work() -> None:
        while True:
            start, begun = orders.get()
            try:
                begun.set_result(start())
            except Exception as error:  # whoever asked has to know
                begun.set_exception(error)

    Thread(target=work, name="mtlv-starter", daemon=True).start()
    return orders


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_starter.cache_clear)  # a fork has none of the threads


@contextmanager
def parent(*, grace: bool = False, memory: int | None = None) -> Iterator[Connection]:
    """In the child: its connection to the process that began it; nothing that is printed comes between.

    Args:
        grace: whether it has `GRACE` seconds to end in good order after the process that began it, which it
            knows from the end of what it is asked; else it ends at once.
        memory: most bytes that it may take; what needs more ends it by a signal. Not on macOS and Windows.
    """
    pid = int(sys.argv[2])
    if not _by_kernel(grace):
        Thread(target=_watch, args=(pid, grace), daemon=True).start()
    if os.getppid() != pid:  # it has ended before the kernel was asked
        os._exit(1)
    if memory is not None:
        _hold(memory)
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        try:
            yield Connection(sys.stdin.buffer, answers)
        except MemoryError:
            if memory is None:
                raise
            os.kill(os.getpid(), signal.SIGKILL)  # as other code than Python's would have ended


def _by_kernel(grace: bool) -> bool:
    """Have Linux end this process with the one that began it: a thread of its own could not while other code
    lets no thread run. False where that cannot be had."""
    if sys.platform != "linux":
        return False
    import ctypes

    libc = ctypes.CDLL(None)
    if not grace:
        return bool(libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) == 0)
    # A handler in C, for one in Python would wait for other code too. It is called with the signal's number,
    # which `alarm` takes for seconds; then SIGALRM ends the process, as nobody handles it.
    libc.signal(int(signal.SIGUSR1), libc.alarm)
    return bool(libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGUSR1), 0, 0, 0) == 0)


def _watch(parent: int, grace: bool) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK)
    time.sleep(GRACE if grace else 0)
    os._exit(1)


def _hold(memory: int) -> None:
    """Take no more memory of its own than so many bytes; files that are mapped do not count."""
    with suppress(ImportError, OSError, ValueError):  # Windows has none
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        least = memory if most == resource.RLIM_INFINITY else min(memory, most)
        resource.setrlimit(resource.RLIMIT_DATA, (least, most))


def alive(pid: int, since: int | None) -> bool:
    """Whether a process of this machine is still there.

    Args:
        pid: its number, which another may have by now.
        since: what `born` said of it.
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is there, and another user's
        pass
    return born(pid) == since


def born(pid: int) -> int | None:
    """When a process was started, in ticks of its machine; None where the system does not say."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return int(text.rsplit(")", 1)[1].split()[19])
    except (OSError, ValueError, IndexError):
        return None


if __name__ == "__main__":  # not the module itself: its classes would be others than those of the parent
    importlib.import_module(sys.argv[1]).main()
