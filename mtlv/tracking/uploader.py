"""Delivers journals to a tracking store, in order, in a thread of its own, however long the store is away."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mtlv.errors import RefusedError
from mtlv.locks import hold, release
from mtlv.tracking.journal import JournalRecord
from mtlv.tracking.journal_reader import JournalReader, Tell
from mtlv.tracking.replay import UnplayableError, call_of
from mtlv.tracking.tracker import Tracker

OPENING = ".opening"
"""File beside the journals: who opens a run holds it, so that two processes make one run of a uid."""
GRACE = 0.5
"""Seconds for the thread to end where it waits for nothing but its next try."""


@dataclass(frozen=True)
class UploadInterval:
    """How often a store is asked, in seconds.

    Args:
        interval: between two deliveries; points of metrics in between go together.
        first: wait after the first failure; doubled after each further one, and varied by a half.
        longest: wait after many failures.
        closing: longest wait when the process wants to end.
        silence: failures shorter than this are not worth a word.
    """

    interval: float = 5.0
    first: float = 1.0
    longest: float = 60.0
    closing: float = 5.0
    silence: float = 10.0


class Uploader:
    """Delivers journals, those of earlier processes first.

    A store that is away is asked again, ever more rarely. What a store refuses for good ends the delivery to
    that experiment: the refused call and all behind it stay in their journals.

    Args:
        outboxes: the journals, the oldest first; the last may still be written.
        open_tracker: opens the store for an experiment; called in the thread, once it is needed.
        tell: hears of outages and refusals, once each, in the sender's thread.
        pace: how often the store is asked.
        set_aside: whether a refused call is put aside, so that those behind it are delivered.
    """

    def __init__(
        self,
        outboxes: Sequence[JournalReader],
        open_tracker: Callable[[str], Tracker],
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
        self._trackers: dict[str, Tracker] = {}
        self._refused: dict[str, Exception] = {}
        self._failures, self._since, self._told = 0, 0.0, False
        self._wake, self._closing, self._stopped = threading.Event(), False, False
        self._thread = threading.Thread(target=self._work, name="mtlv-sender", daemon=True)

    def start(self) -> None:
        """Begin to deliver."""
        self._thread.start()

    @property
    def left(self) -> int:
        """Calls that were not delivered yet."""
        return sum(reader.left() for reader in self._outboxes)

    def tracker(self, experiment: str) -> Tracker | None:
        """The opened store of an experiment, once something was delivered there."""
        return self._trackers.get(experiment)

    def close(self, patience: float, longest: float | None = None) -> int:
        """Deliver what is there; give up after `patience` seconds without a delivery, or after `longest`.

        Returns:
            How many calls are left.
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
        self._thread.join(GRACE)
        return self._end()

    def _end(self) -> int:
        """Give the journals back, unless the thread still holds on to one; returns what is left of all."""
        left = self.left
        if not self._thread.is_alive():  # else it may still deliver, so nobody else should
            for reader in self._outboxes:
                reader.close()
        return left

    def _work(self) -> None:
        while not self._stopped:
            closing = self._closing  # before looking: what is written until then is delivered
            try:
                self._round()
            except Exception as error:  # whatever it is, training goes on and the calls stay
                self._failed(error)
                self._pause(self._delay())
                continue
            self._recovered()
            if closing:
                return
            self._pause(self._pace.interval)

    def _pause(self, seconds: float) -> None:
        self._wake.wait(seconds)
        self._wake.clear()

    def _round(self) -> None:
        """Deliver all that is there now, of what is not refused."""
        for reader in self._outboxes:
            reader.read()  # once: what is written meanwhile is for the next round, or each point came alone
        for reader in self._outboxes:
            while reader.to.experiment not in self._refused and not self._stopped:
                records = reader.take()
                if not records:
                    break
                try:
                    self._deliver(reader, records)
                except RefusedError as error:
                    self._refuse(reader, records, error)

    def _deliver(self, reader: JournalReader, records: list[JournalRecord]) -> None:
        experiment = reader.to.experiment
        if experiment not in self._trackers:
            self._trackers[experiment] = self._open_tracker(experiment)
        try:
            call = call_of(records, reader.runs, reader.folder)
        except UnplayableError as error:
            reader.put_aside(records[0], str(error))
            return
        tracker = self._trackers[experiment]
        if records[0].call == "open_run":
            with _one_opens(reader.folder.parent):
                reader.runs[records[0].content["uid"]] = call(tracker)
        else:
            call(tracker)
        reader.done(records)
        self.delivered += len(records)

    def _refuse(self, reader: JournalReader, records: list[JournalRecord], error: RefusedError) -> None:
        if self._set_aside and reader.to.experiment in self._trackers:
            reader.put_aside(records[0], str(error))
            return
        self.problem = self._refused[reader.to.experiment] = error
        which = f"record {records[0].number} (`{records[0].call}`) of `{reader.folder}`"
        self._tell(f"{error} The tracking store refuses {which}; it waits there, with what follows")

    def _failed(self, error: Exception) -> None:
        now = time.monotonic()
        self.problem = error
        self._since = self._since if self._failures else now
        self._failures += 1
        if now - self._since >= self._pace.silence and not self._told:
            self._told = True
            where = self._outboxes[-1].folder
            said = str(error) or type(error).__name__
            self._tell(f"{said} Nothing waits for it: what is tracked is kept in `{where}`")

    def _recovered(self) -> None:
        if self._told:
            self._tell("the tracking store answers again")
        self._failures, self._told = 0, False
        self.problem = next(iter(self._refused.values()), None)

    def _delay(self) -> float:
        """Seconds until the next try; varied, so that many processes do not come back all at once."""
        delay = min(self._pace.first * 2.0 ** min(self._failures - 1, 20), self._pace.longest)
        delay = min(delay, self._pace.closing) if self._closing else delay
        return delay * random.uniform(0.5, 1.5)


@contextmanager
def _one_opens(root: Path) -> Iterator[None]:
    lock = hold(root / OPENING, wait=True)
    try:
        yield
    finally:
        release(lock)
