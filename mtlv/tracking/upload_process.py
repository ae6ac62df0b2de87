"""Uploads a suite's journal in another process, because a thread would slow down training."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Self

from mtlv import processes
from mtlv.errors import MtlvError, RefusedError, TrackingError
from mtlv.processes import ChildProcess, Connection, Failed
from mtlv.tracking.address import is_remote, kept_address
from mtlv.tracking.journal_reader import JournalReader, Tell, dead_journals
from mtlv.tracking.mlflow_access import check_access, load_mlflow
from mtlv.tracking.mlflow_tracker import MlflowTracker
from mtlv.tracking.tracker import TrackingStore
from mtlv.tracking.uploader import Uploader, UploadInterval

NICENESS = 19
"""Priority of the process: with few cores, training has precedence."""


@dataclass(frozen=True)
class UploadState:
    """State of an upload."""

    left: int  # number of calls that are not in the store
    problem: str = ""  # reason for them
    page: str = ""  # address of the experiment's page, if the store was opened


def open_tracker(uri: str, experiment: str) -> TrackingStore:
    """Open the destination of journals; the only place where MLflow is chosen."""
    return MlflowTracker(uri, experiment)


class UploadProcess:
    """The upload process, as used by the training process; it stops when the `with` block ends.

    `tell` is called in a thread with messages about outages and rejected records.
    """

    def __init__(self, uri: str, experiment: str, tell: Tell) -> None:
        self.uri, self.experiment, self._tell = uri, experiment, tell
        self._answers: SimpleQueue[Any] = SimpleQueue()  # to requests; texts are messages for the user
        self._asking = True
        self._gone = Failed(TrackingError("the process that uploads to the tracking store has ended"))
        self._process = ChildProcess("mtlv.tracking.upload_process")
        self._listener = threading.Thread(target=self._listen, name="mtlv-uploads", daemon=True)
        self._listener.start()
        self._process.send((uri, experiment))

    def check(self) -> bool:
        """Wait for the first response, and return whether the store is reachable.

        Raises:
            TrackingError: an error that waiting would not fix: a wrong address, an unknown user, a file that
                cannot be written.
        """
        return bool(self._ask("check"))

    def begin(self, root: Path, journal: Path, pace: UploadInterval) -> int:
        """Open the experiment, if the store is reachable, and start uploading: first the journals in `root`
        that earlier processes left.

        Returns:
            Number of calls left by earlier processes.

        Raises:
            TrackingError: the store rejects a request.
        """
        return int(self._ask("begin", root, journal, pace))

    def finish(self, patience: float, longest: float | None = None) -> UploadState:
        """Upload the rest, as `Uploader.close` does.

        Raises:
            TrackingError: the process has ended.
        """
        state = self._ask("finish", patience, longest)
        assert isinstance(state, UploadState)
        return state

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._asking = True
        self._process.process.kill()
        self._listener.join()
        self._process.end()

    def _ask(self, method: str, *arguments: object) -> Any:
        self._asking = True
        self._process.send((method, arguments))
        answer = self._answers.get()
        self._asking = False
        if not isinstance(answer, Failed):
            return answer
        if answer is self._gone:
            self._answers.put(answer)  # there will be no other answer
        raise answer.error

    def _listen(self) -> None:
        for message in self._process.messages():
            self._tell(message) if isinstance(message, str) else self._answers.put(message)
        self._answers.put(self._gone)
        if not self._asking:
            self._tell(f"{self._gone.error} All records are kept; upload them with `mtlv sync`")


class _Deliverer:
    """Methods of `UploadProcess`, in the upload process."""

    def __init__(self, uri: str, experiment: str, tell: Tell) -> None:
        self._uri, self._experiment, self._tell = uri, experiment, tell
        self._opened: dict[str, TrackingStore] = {}
        self._there = False

    def check(self) -> bool:
        self._there = self._reaches(lambda: check_access(self._uri))
        return self._there

    def begin(self, root: Path, journal: Path, pace: UploadInterval) -> int:
        if self._there:
            self._reaches(lambda: self._tracker(self._experiment))
        older = []  # journals of earlier processes for this store; `mtlv sync` uploads those of others
        for reader in dead_journals(root, self._tell):
            older.append(reader) if reader.uri == kept_address(self._uri) else reader.close()
        readers = [*older, JournalReader(journal, self._tell, live=True)]
        left = sum(reader.count_left() for reader in older)
        self._uploader = Uploader(readers, self._tracker, self._tell, pace=pace)
        self._uploader.start()
        return left

    def finish(self, patience: float, longest: float | None) -> UploadState:
        left = self._uploader.close(patience, longest)
        problem = self._uploader.problem
        return UploadState(left, str(problem or ""), "" if left else self._page())

    def _reaches(self, ask: Callable[[], object]) -> bool:
        """Ask the store; return False, with a message, if it is a server that is unreachable."""
        try:
            ask()
            return True
        except RefusedError:
            raise
        except TrackingError as error:
            if not is_remote(self._uri):
                raise
            self._tell(
                f"{error} Training starts anyway: all records are kept and uploaded when it is reachable"
            )
            return False

    def _tracker(self, experiment: str) -> TrackingStore:
        if experiment not in self._opened:
            self._opened[experiment] = open_tracker(self._uri, experiment)
        return self._opened[experiment]

    def _page(self) -> str:
        try:
            return str(getattr(self._opened.get(self._experiment), "page", ""))
        except TrackingError:
            return ""


def serve(parent: Connection) -> None:
    """Answer requests, which name methods of `_Deliverer`, until there are no more."""
    uri, experiment = parent.receive()
    deliverer = _Deliverer(uri, experiment, parent.send)
    for method, arguments in parent.messages():
        try:
            answer = getattr(deliverer, method)(*arguments)
        except MtlvError as error:
            answer = Failed(error)
        except Exception as error:  # the output of this process is not shown
            answer = Failed(TrackingError(f"the upload failed: {type(error).__name__}: {error}"))
        parent.send(answer)


def main() -> None:
    """Upload until the parent ends."""
    processes.ignore_end_signals()
    with suppress(OSError, AttributeError):
        os.nice(NICENESS)
    threading.Thread(target=load_mlflow, daemon=True).start()  # takes a second, and is needed soon
    with processes.parent(grace=True) as parent:  # to finish the current upload
        serve(parent)
    os._exit(0)  # without waiting for a blocked call
