"""A callback for tests: a method for each kind of event that a test is interested in."""

from __future__ import annotations

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
    """Names of units that were trained, and warnings."""

    def __init__(self) -> None:
        self.trained: list[str] = []
        self.warned: list[str] = []

    def unit_started(self, name: str, *_: object) -> None:
        self.trained.append(name)

    def warn(self, text: str) -> None:
        self.warned.append(text)
