"""Number of requested reruns of each member."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mtlv.disk import written_whole


@dataclass
class RerunCounter:
    """Counts reruns in a small file for each member that was run again."""

    folder: Path  # created with the first count

    def count(self, uid: str) -> int:
        """Return the number of reruns; 0 for a member that was only resumed."""
        try:
            return int((self.folder / uid).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return 0

    def more(self, uid: str) -> None:
        """Count one more rerun of the member."""
        with written_whole(self.folder / uid) as part:
            part.write_text(str(self.count(uid) + 1), encoding="utf-8")
