"""A callback for tests: a method for each kind of event that a test is interested in."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mtlv import events

METHODS = {
    events.SuiteStarted: "suite_started",
    events.UnitStarted: "unit_started",
    events.UnitResumed: "unit_resumed",
    events.UnitPlaced: "unit_placed",
    events.BatchTrained: "batch",
    events.EpochEnded: "epoch",
    events.UnitEnded: "unit_ended",
    events.UnitFailed: "unit_failed",
    events.NoteGiven: "note",
    events.WarningGiven: "warn",
}


class Listening:
    """Calls a subclass's method of the event's kind, where it has one, with the event's fields."""

    def __call__(self, event: events.Event) -> None:
        method = getattr(self, METHODS[type(event)], None)
        if method is not None:
            method(*vars(event).values())


class Watcher(Listening):
    """Keeps what is said of a suite; `at_epoch` is called as an epoch of any unit ends."""

    def __init__(self, at_epoch: Callable[[], object] = lambda: None) -> None:
        self.at_epoch = at_epoch
        self.announced = self.documents = 0
        self.stored: Mapping[str, int] = {}
        self.trained: list[str] = []
        self.ended: list[str] = []
        self.found: list[str] = []
        self.failed: list[str] = []
        self.notes: list[str] = []
        self.warned: list[str] = []

    def suite_started(self, units: int, _: int, stored: Mapping[str, int], *__: object) -> None:
        self.announced, self.stored = units, stored

    def unit_started(self, name: str, *_: object) -> None:
        self.trained.append(name)

    def unit_resumed(self, _: str, documents: int, *__: object) -> None:
        self.documents += documents

    def batch(self, _: str, documents: int) -> None:
        self.documents += documents

    def epoch(self, *_: object) -> None:
        self.at_epoch()

    def unit_ended(self, name: str, cached: bool, *_: object) -> None:
        (self.found if cached else self.ended).append(name)

    def unit_failed(self, name: str) -> None:
        self.failed.append(name)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def warn(self, text: str) -> None:
        self.warned.append(text)


def interrupt() -> None:
    """Press Ctrl-C."""
    raise KeyboardInterrupt
