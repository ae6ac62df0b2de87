"""Events of a suite. Whoever watches one is a function that takes an event."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class SuiteStarted:
    """A suite begins to train.

    Args:
        units: how many there are.
        documents: of all units, documents times epochs.
    """

    units: int
    documents: int


@dataclass(frozen=True)
class UnitStarted:
    """A unit begins.

    Args:
        name: of the unit.
        index: its place in the suite, from 1.
        epochs: to be trained.
        documents: times epochs.
    """

    name: str
    index: int
    epochs: int
    documents: int


@dataclass(frozen=True)
class UnitResumed:
    """A unit goes on from a checkpoint, behind which `documents` were trained."""

    name: str
    documents: int


@dataclass(frozen=True)
class UnitPlaced:
    """A unit is about to begin on a node of a cluster."""

    name: str
    node: str


@dataclass(frozen=True)
class BatchTrained:
    """A unit was trained on `documents` more."""

    name: str
    documents: int


@dataclass(frozen=True)
class EpochEnded:
    """An epoch of a unit was trained and validated.

    Args:
        name: of the unit.
        epoch: from 1.
        epochs: of the unit.
        loss: mean over the epoch's training documents.
        validation: metrics by name, fractions.
        documents_per_second: of training.
    """

    name: str
    epoch: int
    epochs: int
    loss: float
    validation: Mapping[str, float]
    documents_per_second: float


@dataclass(frozen=True)
class UnitEnded:
    """A unit is done, or was found in the store (`cached`)."""

    name: str
    cached: bool
    documents: int


@dataclass(frozen=True)
class UnitFailed:
    """A unit that began is not trained any more: it failed, or its process was lost."""

    name: str


@dataclass(frozen=True)
class NoteGiven:
    """Something worth knowing."""

    text: str


@dataclass(frozen=True)
class WarningGiven:
    """Something that may harm the results."""

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
    """A callback that calls others in their order."""

    def call(event: Event) -> None:
        for callback in callbacks:
            callback(event)

    return call


def warner(callback: Callback) -> Callable[[str], None]:
    """A function of a text that gives a warning."""
    return lambda text: callback(WarningGiven(text))
