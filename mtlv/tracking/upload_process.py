"""Delivers a suite's journal in a process of its own: in a thread, it would hold up training."""

from __future__ import annotations

import os
import pickle  # nosec B403 # between a process and the child it started, over their own pipes
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from subprocess import Popen
from types import TracebackType
from typing import Any, BinaryIO, Self

from mtlv import processes
from mtlv.errors import MtlvError, RefusedError, TrackingError
from mtlv.tracking import Tracker
from mtlv.tracking.address import is_remote, kept_address
from mtlv.tracking.journal_reader import JournalReader, Tell, dead_journals
from mtlv.tracking.mlflow_access import check_access, load_mlflow
from mtlv.tracking.uploader import Uploader, UploadInterval

NICENESS = 19
"""Of the process: where cores are few, training goes first."""
TOLD, DONE, FAILED, GONE = "told", "done", "failed", "gone"  # the first word of each answer


@dataclass(frozen=True)
class UploadState:
    """How far a delivery got.

    Args:
        left: calls that are not in the store.
        problem: why not.
        page: address of the experiment's page, where the store was opened.
    """

    left: int
    problem: str = ""
    page: str = ""


def open_tracker(uri: str, experiment: str) -> Tracker:
    """The store that journals are delivered to; the only place where MLflow is chosen."""
    from mtlv.tracking.mlflow_tracker import MlflowTracker

    return MlflowTracker(uri, experiment)


class UploadProcess:
    """The process, as the one that trains sees it; it is ended with the `with` statement.

    Args:
        uri: of the tracking store.
        experiment: name.
        tell: hears of outages and refusals, in a thread.
    """

    def __init__(self, uri: str, experiment: str, tell: Tell) -> None:
        self.uri, self._tell = uri, tell
        self._answers: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        self._asking = True
        self._process = _begin()
        self._listener = threading.Thread(target=self._listen, name="mtlv-courier", daemon=True)
        self._listener.start()
        self._send((uri, experiment))

    def check(self) -> bool:
        """Whether the store answers; waits until that is known.

        Raises:
            TrackingError: what waiting would not mend: a wrong address, an unknown user, a file that cannot
                be written.
        """
        return bool(self._ask("check"))

    def begin(self, root: Path, journal: Path, pace: UploadInterval) -> int:
        """Open the experiment, where the store answers, and begin to deliver.

        Args:
            root: folder of the store's journals; what earlier processes left in it is delivered first.
            journal: folder of this process's own.
            pace: how often the tracking store is asked.

        Returns:
            How many calls earlier processes left.

        Raises:
            TrackingError: the store refuses.
        """
        return int(self._ask("begin", root, journal, pace))

    def finish(self, patience: float, longest: float | None = None) -> UploadState:
        """Deliver what is there, as `Uploader.close`.

        Raises:
            TrackingError: the process has ended.
        """
        return UploadState(*self._ask("finish", patience, longest))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._asking = True
        self._process.kill()
        self._listener.join()
        processes.end(self._process)

    def _ask(self, what: str, *given: object) -> Any:
        self._asking = True
        self._send((what, *given))
        kind, content = self._answers.get()
        self._asking = False
        if kind == GONE:
            self._answers.put((kind, content))  # nothing else will come
        if kind != DONE:
            raise content
        return content

    def _send(self, request: object) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # it has ended: the listener knows
            pickle.dump(request, self._process.stdin)
            self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        while True:
            try:
                kind, content = pickle.load(self._process.stdout)  # nosec B301 # our own child writes it
            except Exception:  # its end, or what is no answer
                break
            self._tell(content) if kind == TOLD else self._answers.put((kind, content))
        gone = TrackingError("the process that delivers to the tracking store has ended")
        self._answers.put((GONE, gone))
        if not self._asking:
            self._tell(f"{gone} What is tracked is kept, for `mtlv sync` to deliver")


class _Deliverer:
    """The same in the other process; each method answers the one of `UploadProcess` with its name."""

    def __init__(self, uri: str, experiment: str, tell: Tell) -> None:
        self._uri, self._experiment, self._tell = uri, experiment, tell
        self._opened: dict[str, Tracker] = {}
        self._there = False

    def check(self) -> bool:
        def answers() -> bool:
            check_access(self._uri)
            return True

        self._there = bool(self._or_away(answers))
        return self._there

    def begin(self, root: Path, journal: Path, pace: UploadInterval) -> int:
        if self._there:
            opened = self._or_away(lambda: open_tracker(self._uri, self._experiment))
            self._opened = {self._experiment: opened} if opened else {}
        older = self._left_behind(root)
        outboxes = [*older, JournalReader(journal, self._tell, live=True)]
        left = sum(reader.left() for reader in older)
        self._sender = Uploader(outboxes, self._tracker, self._tell, pace=pace)
        self._sender.start()
        return left

    def finish(self, patience: float, longest: float | None) -> tuple[int, str, str]:
        left = self._sender.close(patience, longest)
        problem = self._sender.problem
        return left, str(problem or ""), "" if left else self._page()

    def _or_away(self, ask: Callable[[], Any]) -> Any:
        """What the store says; None, and a word about it, where it is a server that is away."""
        try:
            return ask()
        except RefusedError:
            raise
        except TrackingError as error:
            if not is_remote(self._uri):
                raise
            self._tell(
                f"{error} Training begins without it: what is tracked is kept and delivered when it answers"
            )
            return None

    def _left_behind(self, root: Path) -> list[JournalReader]:
        """Journals of earlier processes to the same store; one of another store is for `mtlv sync`."""
        here = []
        for reader in dead_journals(root, self._tell):
            here.append(reader) if reader.to.uri == kept_address(self._uri) else reader.close()
        return here

    def _tracker(self, experiment: str) -> Tracker:
        if experiment not in self._opened:
            self._opened[experiment] = open_tracker(self._uri, experiment)
        return self._opened[experiment]

    def _page(self) -> str:
        try:
            return str(getattr(self._opened.get(self._experiment), "page", ""))
        except TrackingError:
            return ""


def serve(asked: BinaryIO, answers: BinaryIO) -> None:
    """Answer one request after the other until no more come."""
    alone = threading.Lock()

    def say(kind: str, content: object) -> None:
        with alone:
            pickle.dump((kind, content), answers)
            answers.flush()

    uri, experiment = pickle.load(asked)  # nosec B301 # our own parent writes it
    deliverer = _Deliverer(uri, experiment, lambda text: say(TOLD, text))
    while True:
        try:
            name, *given = pickle.load(asked)  # nosec B301 # our own parent writes it
        except EOFError:
            return
        try:
            say(DONE, getattr(deliverer, name)(*given))
        except MtlvError as error:
            say(FAILED, error)
        except Exception as error:  # nobody sees what this process prints
            say(FAILED, TrackingError(f"delivering failed: {type(error).__name__}: {error}"))


def _begin() -> Popen[bytes]:
    return processes.begin("mtlv.tracking.upload_process")


def _work() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # who trains decides; its end closes the pipe
    with suppress(OSError, AttributeError):
        os.nice(NICENESS)
    threading.Thread(target=load_mlflow, daemon=True).start()  # it takes a second, and is wanted soon
    with processes.asked_and_answers(grace=True) as (asked, answers):  # for what is being delivered
        serve(asked, answers)
    os._exit(0)  # not waiting for a call that hangs


if __name__ == "__main__":
    _work()
