"""The definition of one member of a suite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mtlv.settings.draft import Change, Origin


@dataclass(frozen=True)
class Variant:
    """The definition of one member: its changes, and its name if the config sets one.

    Args:
        axes: values of each key to try, see `tune`; None if it has no `tune` of its own.
        tuned: number of the member for which this one tries values; None if it has no others.
    """

    changes: tuple[Change, ...]
    name: str | None = None
    place: str = ""
    axes: tuple[tuple[Change, ...], ...] | None = None
    tuned: int | None = None


def variant(name: str, origin: Origin, changes: Mapping[str, Any]) -> Variant:
    """Return a member with these values by dotted key, all written at `origin`."""
    changed = tuple(Change(key, value, origin) for key, value in changes.items())
    return Variant(changed, name, origin.place(()))
