"""Events of a suite. A callback is a function of an event."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class UnitTime:
    """Time that a unit is expected to take: in seconds, or in another measure that all units share.

    Args:
        kind: units of the same kind take the same time for a token.
        epochs: epochs to train.
        epoch: time of an epoch with its validation.
        start: time of the rest: building the model, the test.
    """

    kind: str
    epochs: int
    epoch: float
    start: float = 0.0


@dataclass(frozen=True)
class SuiteStarted:
    """A suite starts training.

    Args:
        units: number of units.
        documents: documents times epochs of all units.
        stored: documents times epochs of the units that are in the store already, by name.
        times: expected times of all units, by name.
        processes: number of units that are trained at once.
        measured: whether the times are seconds, measured on this machine.
    """

    units: int
    documents: int
    stored: Mapping[str, int] = field(default_factory=dict)
    times: Mapping[str, UnitTime] = field(default_factory=dict, repr=False)
    processes: int = 1
    measured: bool = False


@dataclass(frozen=True)
class UnitStarted:
    """A unit starts.

    Args:
        name: name of the unit.
        index: its number in the suite, from 1.
        epochs: epochs to train.
        documents: documents times epochs.
        stack: number of units that are trained in one stack, itself included.
    """

    name: str
    index: int
    epochs: int
    documents: int
    stack: int = 1


@dataclass(frozen=True)
class UnitResumed:
    """A unit resumes from a checkpoint.

    Args:
        name: name of the unit.
        documents: documents that were trained before.
        epoch: number of epochs that were finished before.
        documents_per_second: speed until the checkpoint; 0 if unknown.
    """

    name: str
    documents: int
    epoch: int = 0
    documents_per_second: float = 0.0


@dataclass(frozen=True)
class UnitPlaced:
    """A unit is about to start on a node of a cluster."""

    name: str
    node: str


@dataclass(frozen=True)
class BatchTrained:
    """A unit was trained on `documents` more documents."""

    name: str
    documents: int


@dataclass(frozen=True)
class EpochEnded:
    """An epoch of a unit was trained and validated.

    Args:
        name: name of the unit.
        epoch: number of the epoch, from 1.
        epochs: number of epochs of the unit.
        loss: mean over the epoch's training documents.
        validation: metrics by name, as fractions.
        documents_per_second: speed of training.
    """

    name: str
    epoch: int
    epochs: int
    loss: float
    validation: Mapping[str, float]
    documents_per_second: float


@dataclass(frozen=True)
class UnitEnded:
    """A unit is finished, or was found in the store (`cached`).

    Args:
        name: name of the unit.
        cached: whether it was found in the store.
        documents: documents times epochs.
        index: its number in the suite, from 1.
    """

    name: str
    cached: bool
    documents: int
    index: int


@dataclass(frozen=True)
class UnitFailed:
    """A started unit is not trained any more: it failed, or its process was lost."""

    name: str


@dataclass(frozen=True)
class NoteGiven:
    """A note for the user."""

    text: str


@dataclass(frozen=True)
class WarningGiven:
    """A warning about something that may affect the results."""

    text: str


Event = (
    SuiteStarted
    | UnitStarted
    | UnitResumed
    | UnitPlaced
    | BatchTrained
    | EpochEnded
    | UnitEnded
    | UnitFailed
    | NoteGiven
    | WarningGiven
)
Callback = Callable[[Event], None]


def ignore(event: Event) -> None:
    """A callback that does nothing."""


def together(*callbacks: Callback) -> Callback:
    """Return a callback that calls others in order."""

    def call(event: Event) -> None:
        for callback in callbacks:
            callback(event)

    return call


def warner(callback: Callback) -> Callable[[str], None]:
    """Return a function that reports its text as a warning."""
    return lambda text: callback(WarningGiven(text))


def noter(callback: Callback) -> Callable[[str], None]:
    """Return a function that reports its text as a note."""
    return lambda text: callback(NoteGiven(text))
