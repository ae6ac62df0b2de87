"""How long a suite still takes: the expected time of what is left, times how much longer epochs take now."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mtlv.events import (
    BatchTrained,
    EpochEnded,
    Event,
    SuiteStarted,
    UnitEnded,
    UnitFailed,
    UnitResumed,
    UnitStarted,
    UnitTime,
)

RECENT_EPOCHS = 5  # whose time says how long the next ones take
LEAST_SHARE = 0.25  # share of an epoch that tells a time
Epoch = tuple[str, float, float]
"""An epoch, or what was trained of it: kind of the unit, seconds (a share of its stack's), and expected."""


@dataclass
class _Running:
    """A unit in training: documents of an epoch, and what was trained since `since`, when an epoch began."""

    time: UnitTime
    documents: float
    since: float
    stack: int  # units that began in its process, itself included
    sharing: int  # those of them that train this epoch
    epochs: float = 0.0  # trained, with those before a resume
    trained: float = 0.0  # documents since `since`

    @property
    def share(self) -> float:
        """Share of an epoch that was trained since `since`."""
        return min(1.0, self.trained / self.documents) if self.documents else 0.0


class TimeLeft:
    """A callback that knows how long a suite still takes, on a machine whose load changes.

    Units of a kind take their expected time, times the ratio of real to expected time in the last epochs of
    that kind, or of all kinds. Units end as early as those before did (`training.patience`), several at once
    share the time, and the time between units counts.

    Args:
        clock: returns seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begin(SuiteStarted(0, 0))

    def _begin(self, suite: SuiteStarted) -> None:
        self._times, self._processes, self._measured = suite.times, suite.processes, suite.measured
        self._waiting = dict.fromkeys(name for name in suite.times if name not in suite.stored)
        self._running: dict[str, _Running] = {}
        self._recent: list[Epoch] = []
        self._ended = self._planned = 0.0  # epochs of units that were trained to their end, and as planned
        self._pauses: list[float] = []  # seconds between units
        self._paused: float | None = None  # since when no unit has been running

    def __call__(self, event: Event) -> None:
        """Handle an event."""
        match event:
            case SuiteStarted():
                self._begin(event)
            case UnitStarted():
                self._start(event)
            case UnitResumed():
                self._resume(self._running[event.name], event)
            case BatchTrained(name, documents):
                self._train(self._running[name], documents)
            case EpochEnded(name, epoch):
                self._end_epoch(self._running[name], epoch)
            case UnitEnded(name, cached):
                self._waiting.pop(name, None)
                self._end(name, is_trained=not cached)
            case UnitFailed(name):
                self._end(name)

    def seconds(self) -> float | None:
        """Return the expected seconds until all units are trained; None if nothing tells them yet."""
        epochs = [*self._recent, *self._begun_epochs()]
        if not epochs and not self._measured:
            return None
        share = self._ended / self._planned if self._planned else 1.0
        waiting = [self._times[name] for name in self._waiting]
        left = [
            _factor(epochs, unit.kind) * (unit.start + unit.epoch * unit.epochs * share) for unit in waiting
        ]
        pauses = self._pauses[-RECENT_EPOCHS:]
        between = sum(pauses) / len(pauses) * len(left) if pauses else 0.0
        for running in self._running.values():
            unit, done = running.time, running.epochs + running.share
            rest = max(unit.epochs * share - done, min(unit.epochs - done, 1.0), 0.0)
            left.append(_factor(epochs, unit.kind) * unit.epoch * rest)
        busy = sum(1 / min(unit.stack, len(self._running)) for unit in self._running.values())
        at_once = min(max(self._processes, busy), len(left) or 1)
        return max(sum(left) / at_once, *left, 0.0) + between

    def _begun_epochs(self) -> Iterator[Epoch]:
        """Yield what was trained of the epochs that have not ended, if it tells a time."""
        for unit in self._running.values():
            if unit.share >= LEAST_SHARE:
                seconds = (self._clock() - unit.since) / unit.sharing
                yield unit.time.kind, seconds, unit.time.epoch * unit.share

    def _start(self, event: UnitStarted) -> None:
        now, of_epoch = self._clock(), event.documents / event.epochs
        if self._paused is not None:
            self._pauses.append(now - self._paused)
        self._paused = None
        self._waiting.pop(event.name, None)
        expected = self._times.get(event.name) or UnitTime("", event.epochs, of_epoch)
        self._running[event.name] = _Running(expected, of_epoch, now, event.stack, event.stack)

    def _resume(self, unit: _Running, event: UnitResumed) -> None:
        unit.epochs = event.documents / (unit.documents or 1.0)
        unit.since, unit.trained = self._clock(), 0.0
        if event.documents_per_second:
            self._recent.append(
                (unit.time.kind, unit.documents / event.documents_per_second, unit.time.epoch)
            )

    def _train(self, unit: _Running, documents: float) -> None:
        if not unit.trained:  # others of its stack may have ended with the last epoch
            unit.sharing = min(unit.stack, len(self._running))
        unit.trained += documents

    def _end_epoch(self, unit: _Running, epoch: int) -> None:
        now, start = self._clock(), 0.0 if unit.epochs else unit.time.start
        expected = start + unit.time.epoch * max(0.0, epoch - unit.epochs)
        self._recent.append((unit.time.kind, (now - unit.since) / unit.sharing, expected))
        unit.epochs, unit.since, unit.trained = float(epoch), now, 0.0

    def _end(self, name: str, *, is_trained: bool = False) -> None:
        unit = self._running.pop(name, None)
        if unit is None:
            return
        if is_trained:
            self._ended += unit.epochs
            self._planned += unit.time.epochs
        self._paused = None if self._running else self._clock()


def _factor(epochs: Sequence[Epoch], kind: str) -> float:
    """Return how many times the expected time epochs of a kind take, or those of all kinds."""
    last = ([epoch for epoch in epochs if epoch[0] == kind] or epochs)[-RECENT_EPOCHS:]
    expected = sum(epoch[2] for epoch in last)
    return sum(epoch[1] for epoch in last) / expected if expected else 1.0
