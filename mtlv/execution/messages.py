"""Messages of a process that trains units, besides the events of the units themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mtlv.events import Event
from mtlv.plan import Scores
from mtlv.store.local import EpochRecord


@dataclass(frozen=True)
class EpochScored:
    """An epoch ended, with the scores of the validation part after it."""

    record: EpochRecord
    scores: Scores


@dataclass(frozen=True)
class Trained:
    """The unit is done and in the store."""

    peak_memory_mb: float


@dataclass(frozen=True)
class HeldElsewhere:
    """Another process works on the unit, or has just ended it."""


@dataclass(frozen=True)
class StartDamaged:
    """The unit that this one starts from is damaged, and must be trained again first."""


@dataclass(frozen=True)
class Failed:
    """The unit failed for a reason that a user can mend, or the system's."""

    error: Exception


@dataclass(frozen=True)
class Crashed:
    """The unit failed for a reason that nobody foresaw."""

    traceback: str


@dataclass(frozen=True)
class GivenUp:
    """Too many processes were lost over the unit."""

    error: Exception


Ending = Trained | HeldElsewhere | StartDamaged | Failed | Crashed
"""The last message of a unit."""
Message = Event | EpochScored | Ending | GivenUp
Send = Callable[[Message], None]
