"""First timestamps of the epochs of a unit, so that repeated training logs the same points."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

from mtlv.foreign import parse_json


@dataclass
class EpochTimestamps:
    """Append-only files of first timestamps, one per unit key.

    A tracker stores a point twice if it has another timestamp or value. An interrupted unit continues
    from its last checkpoint, possibly some epochs earlier: with these timestamps, and the same values on the
    same kind of processor and number of threads, its points are identical to those already logged. If
    arithmetic is not deterministic (a GPU, another number of threads), the epochs after the checkpoint are
    stored twice, with values that differ in their last digits.
    """

    folder: Path

    def timestamp_ms(self, key: str, epoch: int) -> int:
        """Return the first time in milliseconds since 1970 for `epoch` of unit `key`; now, if it is new."""
        path = self._path(key)
        found = _first(path, epoch)
        if found is not None:
            return found
        now = time.time_ns() // 10**6
        self.folder.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"epoch": epoch, "timestamp_ms": now}) + "\n"
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(file, line.encode())  # one write, so that lines of two processes do not mix
        finally:
            os.close(file)
        return _first(path, epoch) or now  # another process may have been first

    def forget(self, key: str) -> None:
        """Remove the timestamps of unit `key`, to log it again in other runs."""
        self._path(key).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.jsonl"


def _first(path: Path, epoch: int) -> int | None:
    if not path.is_file():
        return None
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            entry = parse_json(line)
        except ValueError:  # an incomplete line, after a full disk
            continue
        if entry["epoch"] == epoch:
            return int(entry["timestamp_ms"])
    return None
