"""The definition of one member of a suite."""

from __future__ import annotations

from dataclasses import dataclass

from mtlv.settings.draft import Change


@dataclass(frozen=True)
class Variant:
    """The definition of one member: its changes, and its name if the config sets one.

    `shares` are changes made from values of the config and the command line, which do not replace them.
    """

    changes: tuple[Change, ...]
    name: str | None = None
    place: str = ""
    shares: tuple[Change, ...] = ()
