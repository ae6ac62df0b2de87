"""The definition of one member of a suite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from mtlv.settings.draft import Change, Origin


@dataclass(frozen=True)
class Variant:
    """The definition of one member: its changes, and its name if the config sets one.

    Args:
        shares: changes made from values of the config and the command line, which do not replace them.
        axes: values of each key to try, see `tune`; None if it has no `tune` of its own.
        tuned: number of the member for which this one tries values; None if it has no others.
    """

    changes: tuple[Change, ...]
    name: str | None = None
    place: str = ""
    shares: tuple[Change, ...] = ()
    axes: tuple[tuple[Change, ...], ...] | None = None
    tuned: int | None = None


def variant(
    name: str, origin: Origin, changes: Mapping[str, Any], shares: Mapping[str, Any] = MappingProxyType({})
) -> Variant:
    """Return a member with these values by dotted key, all written at `origin`."""
    changed, shared = (
        tuple(Change(key, value, origin) for key, value in values.items()) for values in (changes, shares)
    )
    return Variant(changed, name, origin.place(()), shared)
