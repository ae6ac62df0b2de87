"""The definition of one member of a suite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mtlv.settings.draft import Change, Origin


@dataclass(frozen=True)
class Variant:
    """The definition of one member: its changes, and its name if the config sets one."""

    changes: tuple[Change, ...]
    name: str | None = None
    place: str = ""


def written_at(name: str, changes: Mapping[str, Any], origin: Origin, place: str) -> Variant:
    """Return a member whose problems are reported where the key that stands for it was written."""
    here = Origin(lambda _: origin.place(()), origin.folder)
    return Variant(tuple(Change(key, value, here) for key, value in changes.items()), name, place)
