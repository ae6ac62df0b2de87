"""When each epoch of a unit was first told, so that training it again tells the same points."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from mtlv.foreign import parse_json


class EpochTimestamps:
    """Append-only files of first timestamps, one per unit key.

    A tracker keeps a point twice if it comes with another timestamp or value. An interrupted unit goes on
    from its last checkpoint, maybe some epochs back: with the timestamps of here, and the same values on the
    same kind of processor and number of threads, its points are the ones already told. Where arithmetic is
    not deterministic (a GPU, another number of threads), the epochs after the checkpoint stand twice, and the
    two values differ in their last digits.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def timestamp_ms(self, key: str, epoch: int) -> int:
        """Milliseconds since 1970 at which `epoch` of unit `key` was first asked for; now, if it is new."""
        path = self._path(key)
        found = _first(path, epoch)
        if found is not None:
            return found
        now = time.time_ns() // 10**6
        self.folder.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"epoch": epoch, "timestamp_ms": now}) + "\n"
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(file, line.encode())  # one write: lines of two processes do not mix
        finally:
            os.close(file)
        return _first(path, epoch) or now  # another process may have been first

    def forget(self, key: str) -> None:
        """Unit `key` is to be told anew, in other runs."""
        self._path(key).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.jsonl"


def _first(path: Path, epoch: int) -> int | None:
    if not path.is_file():
        return None
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            entry = parse_json(line)
        except ValueError:  # half a line, of a disk that was full
            continue
        if entry["epoch"] == epoch:
            return int(entry["timestamp_ms"])
    return None
