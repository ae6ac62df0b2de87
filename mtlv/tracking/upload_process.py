"""Delivers a suite's journal in a process of its own: in a thread, it would hold up training."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Self

from mtlv import processes
from mtlv.errors import MtlvError, RefusedError, TrackingError
from mtlv.processes import ChildProcess, Connection, ProcessEnded
from mtlv.tracking import Tracker
from mtlv.tracking.address import is_remote, kept_address
from mtlv.tracking.journal_reader import JournalReader, Tell, dead_journals
from mtlv.tracking.mlflow_access import check_access, load_mlflow
from mtlv.tracking.mlflow_tracker import MlflowTracker
from mtlv.tracking.uploader import Uploader, UploadInterval

NICENESS = 19
"""Of the process: where cores are few, training goes first."""


@dataclass(frozen=True)
class Request:
    """A method of `_Deliverer`, to be called."""

    method: str
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Result:
    """What a request gave."""

    value: Any


@dataclass(frozen=True)
class Failed:
    """Why a request failed; `gone` where the process has ended, so that all further ones fail."""

    error: Exception
    gone: bool = False


@dataclass(frozen=True)
class Outage:
    """A text about an outage or a refusal."""

    text: str


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
        self._answers: SimpleQueue[Result | Failed] = SimpleQueue()
        self._asking = True
        self._process = ChildProcess("mtlv.tracking.upload_process")
        self._listener = threading.Thread(target=self._listen, name="mtlv-uploads", daemon=True)
        self._listener.start()
        self._process.send((uri, experiment))

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
        self._process.process.kill()
        self._listener.join()
        self._process.end()

    def _ask(self, method: str, *arguments: object) -> Any:
        self._asking = True
        self._process.send(Request(method, arguments))
        answer = self._answers.get()
        self._asking = False
        if isinstance(answer, Result):
            return answer.value
        if answer.gone:
            self._answers.put(answer)  # nothing else will come
        raise answer.error

    def _listen(self) -> None:
        with suppress(ProcessEnded):
            while True:
                message = self._process.receive()
                self._tell(message.text) if isinstance(message, Outage) else self._answers.put(message)
        gone = TrackingError("the process that delivers to the tracking store has ended")
        self._answers.put(Failed(gone, gone=True))
        if not self._asking:
            self._tell(f"{gone} What is tracked is kept, for `mtlv sync` to deliver")


class _Deliverer:
    """The methods of `UploadProcess`, in the process itself."""

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
        readers = [*older, JournalReader(journal, self._tell, live=True)]
        left = sum(reader.left() for reader in older)
        self._uploader = Uploader(readers, self._tracker, self._tell, pace=pace)
        self._uploader.start()
        return left

    def finish(self, patience: float, longest: float | None) -> tuple[int, str, str]:
        left = self._uploader.close(patience, longest)
        problem = self._uploader.problem
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


def serve(parent: Connection) -> None:
    """Answer one request after another until no more come."""
    uri, experiment = parent.receive()
    deliverer = _Deliverer(uri, experiment, lambda text: parent.send(Outage(text)))
    while True:
        try:
            request = parent.receive()
        except ProcessEnded:
            return
        answer: Result | Failed
        try:
            answer = Result(getattr(deliverer, request.method)(*request.arguments))
        except MtlvError as error:
            answer = Failed(error)
        except Exception as error:  # nobody sees what this process prints
            answer = Failed(TrackingError(f"delivering failed: {type(error).__name__}: {error}"))
        parent.send(answer)


def main() -> None:
    """Deliver until the parent ends."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the parent decides; its end closes the pipe
    with suppress(OSError, AttributeError):
        os.nice(NICENESS)
    threading.Thread(target=load_mlflow, daemon=True).start()  # it takes a second, and is wanted soon
    with processes.parent(grace=True) as parent:  # for what is being delivered
        serve(parent)
    os._exit(0)  # not waiting for a call that hangs
