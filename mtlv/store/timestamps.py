"""First timestamps of the epochs of a unit, so that repeated training logs the same points."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from mtlv.errors import shorten
from mtlv.sealed import seal, unseal


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
    reported: set[tuple[str, int]] = field(default_factory=set)  # damaged lines that were reported

    def timestamp_ms(self, key: str, epoch: int, *, warn: Callable[[str], None] = lambda _: None) -> int:
        """Return the first time in milliseconds since 1970 for `epoch` of unit `key`; now, if it is new.

        `warn` is called once for each damaged line, which is left out.
        """
        path = self._path(key)
        content = path.read_bytes() if path.is_file() else None
        if content == b"":
            warn(f"{path} is damaged (it is empty); epochs may be logged twice")
        content = content or b""
        known = self._timestamps(path, content, warn)
        if epoch in known:
            return known[epoch]
        now = time.time_ns() // 10**6
        self.folder.mkdir(parents=True, exist_ok=True)
        start = "\n" if content and not content.endswith(b"\n") else ""  # after an incomplete line
        line = start + seal({"epoch": epoch, "timestamp_ms": now}) + "\n"
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(file, line.encode())  # one write, so that lines of two processes do not mix
        finally:
            os.close(file)
        # Another process may have been first.
        return self._timestamps(path, path.read_bytes(), warn).get(epoch, now)

    def forget(self, key: str) -> None:
        """Remove the timestamps of unit `key`, so that it can be logged again in other runs."""
        self._path(key).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.jsonl"

    def _timestamps(self, path: Path, content: bytes, warn: Callable[[str], None]) -> dict[int, int]:
        """Return the first timestamp of each epoch in a file."""
        known: dict[int, int] = {}
        for number, line in enumerate(content.split(b"\n"), start=1):
            try:
                entry = unseal(line) if line else {}
            except ValueError as error:
                if (path.name, number) not in self.reported:
                    self.reported.add((path.name, number))
                    fault = f"line {number} of {path} is damaged ({shorten(str(error))})"
                    warn(f"{fault}; its epoch may be logged twice")
                continue
            if entry:
                known.setdefault(entry["epoch"], entry["timestamp_ms"])
        return known
