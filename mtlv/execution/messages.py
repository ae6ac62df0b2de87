"""Messages of a process that trains units, in addition to the events of the units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mtlv.events import Event
from mtlv.plan import Scores
from mtlv.processes import Crashed, Failed
from mtlv.store.records import EpochRecord


@dataclass(frozen=True)
class EpochScored:
    """An epoch ended, with its validation scores."""

    record: EpochRecord
    scores: Scores


@dataclass(frozen=True)
class Trained:
    """The unit is finished and in the store."""


@dataclass(frozen=True)
class HeldElsewhere:
    """Another process is training the unit, or has just finished it."""


@dataclass(frozen=True)
class NeededDamaged:
    """A unit that this one needs is damaged, and must be trained again first."""

    key: str


Ending = Trained | HeldElsewhere | NeededDamaged | Failed | Crashed
"""The last message of a unit."""
Message = Event | EpochScored | Ending
Send = Callable[[Message], None]
