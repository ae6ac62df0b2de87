"""What makes one member of a suite."""

from __future__ import annotations

from dataclasses import dataclass

from mtlv.settings.draft import Change


@dataclass(frozen=True)
class Variant:
    """What makes one member: its changes, and its name if the config gives one."""

    changes: tuple[Change, ...]
    name: str | None = None
    place: str = ""
