"""How often a member was asked to be run anew."""

from __future__ import annotations

import os
from pathlib import Path


class RerunCounter:
    """A small file for each member that was ever run again.

    Args:
        folder: made when the first is counted.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def count(self, uid: str) -> int:
        """0 for a member that was only ever resumed."""
        try:
            return int((self.folder / uid).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return 0

    def more(self, uid: str) -> None:
        """The member is run once more."""
        self.folder.mkdir(parents=True, exist_ok=True)
        part = self.folder / f".{uid}.{os.getpid()}"
        part.write_text(str(self.count(uid) + 1), encoding="utf-8")
        part.replace(self.folder / uid)
