"""Uploads journals to a tracking store in order, in a thread, with retries during outages."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mtlv.errors import RefusedError
from mtlv.formatting import list_first, many
from mtlv.locks import hold_lock
from mtlv.tracking.journal import JournalRecord
from mtlv.tracking.journal_reader import JournalReader, Tell, journals, open_runs
from mtlv.tracking.replay import UnplayableError, call_of
from mtlv.tracking.tracker import TrackingStore

OPENING_SUFFIX = ".opening"
"""Lock file next to the journals, held while a run is opened, so that a uid gets only one run."""
MAX_NAMED_RUNS = 3  # in a message; more are counted
GRACE_SECONDS = 0.5
"""Seconds for the thread to end if it only waits for its next attempt."""


@dataclass(frozen=True)
class UploadInterval:
    """Intervals of the upload, in seconds."""

    interval: float = 5.0  # time between two uploads; metrics in between are sent together
    first: float = 1.0  # wait after the first failure; doubled after each further one, with 50% jitter
    longest: float = 60.0  # wait after many failures
    closing: float = 5.0  # longest wait while the process is ending
    silence: float = 10.0  # shorter outages are not reported


class Uploader:
    """Uploads journals, those of earlier processes first.

    If the store is unreachable, attempts are repeated with increasing delay. If the store rejects a call, the
    upload to that experiment stops: the rejected call and all after it stay in their journals.

    Args:
        outboxes: journals, oldest first; the last may still be written.
        open_tracker: opens the store for an experiment; called in the thread when needed.
        tell: called in the thread with a message about each outage and rejected record.
        pace: intervals of the upload.
        set_aside: whether to move rejected calls aside and upload those after them.
    """

    def __init__(
        self,
        outboxes: Sequence[JournalReader],
        open_tracker: Callable[[str], TrackingStore],
        tell: Tell,
        *,
        pace: UploadInterval | None = None,
        set_aside: bool = False,
    ) -> None:
        self._pace, self._tell, self._set_aside = pace or UploadInterval(), tell, set_aside
        self._open_tracker = open_tracker
        self._outboxes = list(outboxes)
        self.delivered = 0
        self.problem: Exception | None = None
        self._trackers: dict[str, TrackingStore] = {}
        self._refused: dict[str, Exception] = {}
        self._failures, self._since, self._is_reported = 0, 0.0, False
        self._wake, self._closing, self._stopped = threading.Event(), False, False
        self._thread = threading.Thread(target=self._work, name="mtlv-sender", daemon=True)

    def start(self) -> None:
        """Start uploading."""
        self._thread.start()

    @property
    def left(self) -> int:
        """Number of calls that have not been uploaded yet."""
        return sum(reader.count_left() for reader in self._outboxes)

    def close(self, patience: float, longest: float | None = None) -> int:
        """Upload the rest; stop after `patience` seconds without a successful upload, or after `longest`.

        Returns:
            Number of calls that are left.
        """
        self._closing = True
        self._wake.set()
        begun = since = time.monotonic()
        count = self.delivered
        try:
            while self._thread.is_alive():
                self._thread.join(0.02)
                now = time.monotonic()
                if self.delivered > count:
                    count, since = self.delivered, now
                if now - since > patience or (longest is not None and now - begun > longest):
                    break
        finally:
            self._stopped = True
            self._wake.set()
        self._thread.join(GRACE_SECONDS)
        left = self.left
        if not self._thread.is_alive():  # otherwise it may still upload, so no other process should
            for reader in self._outboxes:
                reader.close()
        return left

    def _work(self) -> None:
        while not self._stopped:
            closing = self._closing  # read first, so that everything written before is uploaded
            try:
                self._round()
            except Exception as error:  # any error: training continues and the calls are kept
                self._handle_failure(error)
                self._pause(self._delay())
                continue
            if self._is_reported:
                self._tell("the tracking store is reachable again")
            self._failures, self._is_reported = 0, False
            self.problem = next(iter(self._refused.values()), None)
            if closing:
                return
            self._pause(self._pace.interval)

    def _pause(self, seconds: float) -> None:
        self._wake.wait(seconds)
        self._wake.clear()

    def _round(self) -> None:
        """Upload all current calls, except for rejected ones."""
        for reader in self._outboxes:
            reader.read()  # once per round; otherwise each new point would be sent alone
        for reader in self._outboxes:
            while reader.experiment not in self._refused and not self._stopped:
                records = reader.take()
                if not records:
                    break
                try:
                    self._deliver(reader, records)
                except RefusedError as error:
                    self._refuse(reader, records, error)
            if reader.left_open and not reader.count_left():
                self._end_left_open(reader)

    def _deliver(self, reader: JournalReader, records: list[JournalRecord]) -> None:
        tracker = self._store(reader.experiment)
        try:
            call = call_of(records, reader.runs, reader.folder)
        except UnplayableError as error:
            reader.put_aside(records[0], str(error))
            return
        if records[0].call == "open_run":
            with hold_lock(reader.folder.parent / OPENING_SUFFIX, wait=True):
                reader.runs[records[0].run] = call(tracker)
        else:
            call(tracker)
        reader.mark_uploaded(records)
        self.delivered += len(records)

    def _end_left_open(self, reader: JournalReader) -> None:
        """Mark runs of an ended process of this machine as KILLED, unless another one continues them."""
        names = {uid: name for uid, name in reader.left_open.items() if uid in reader.runs}
        if reader.host == socket.gethostname():
            ours = {outbox.folder for outbox in self._outboxes}
            others = [folder for folder in journals(reader.folder.parent) if folder not in ours]
            going = {uid for folder in others for uid in open_runs(folder)}
            names = {uid: n for uid, n in names.items() if uid not in going and self._end_run(reader, uid)}
            text = "marked KILLED in MLflow, because their process was killed"
        else:
            text = f"left as RUNNING in MLflow, because their process on `{reader.host}` may go on"
        if names:
            listed = list_first([f"`{name}`" for name in names.values()], MAX_NAMED_RUNS)
            self._tell(f"{many(len(names), 'run')} {text}: {listed}; `mtlv run CONFIG` continues them")
        reader.left_open = {}

    def _end_run(self, reader: JournalReader, uid: str) -> bool:
        try:
            store = self._store(reader.experiment)
            return store.end_if_running(reader.runs[uid], int(1000 * reader.written_at))
        except RefusedError:  # the run or its experiment was deleted
            return False

    def _store(self, experiment: str) -> TrackingStore:
        if experiment not in self._trackers:
            self._trackers[experiment] = self._open_tracker(experiment)
        return self._trackers[experiment]

    def _refuse(self, reader: JournalReader, records: list[JournalRecord], error: RefusedError) -> None:
        if self._set_aside and reader.experiment in self._trackers:
            reader.put_aside(records[0], str(error))
            return
        self.problem = self._refused[reader.experiment] = error
        which = f"record {records[0].number} (`{records[0].call}`) of `{reader.folder}`"
        self._tell(f"{error} The tracking store rejected {which}; it stays there, with all later records")

    def _handle_failure(self, error: Exception) -> None:
        now = time.monotonic()
        self.problem = error
        self._since = self._since if self._failures else now
        self._failures += 1
        if now - self._since >= self._pace.silence and not self._is_reported:
            self._is_reported = True
            where = self._outboxes[-1].folder
            message = str(error) or type(error).__name__
            self._tell(f"{message} Training continues; all records are kept in `{where}`")

    def _delay(self) -> float:
        """Return the seconds until the next attempt, with jitter, so that not all processes retry at once."""
        delay = min(self._pace.first * 2.0 ** min(self._failures - 1, 20), self._pace.longest)
        delay = min(delay, self._pace.closing) if self._closing else delay
        return delay * random.uniform(0.5, 1.5)
