"""Number of requested reruns of each member."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mtlv.sealed import read_sealed, write_sealed


@dataclass
class RerunCounter:
    """Counts reruns in a small file for each member that was run again."""

    folder: Path  # created with the first count

    def count(self, uid: str, warn: Callable[[str], None] = lambda _: None) -> int:
        """Return the number of reruns; 0 for a member that was only resumed, or whose file was damaged."""
        content = read_sealed(self.folder / uid, warn, "the runs continue those of the first time")
        return 0 if content is None else int(content["count"])

    def more(self, uid: str, warn: Callable[[str], None] = lambda _: None) -> None:
        """Count one more rerun of the member."""
        write_sealed(self.folder / uid, {"count": self.count(uid, warn) + 1})
