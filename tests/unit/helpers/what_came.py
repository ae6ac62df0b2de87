"""What a suite left behind, and the processes that it began, for tests that compare ways of running it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from memory_tracker import MemoryTracker

TIMES = ("time/", "cost/")
ENDINGS = (".safetensors", ".parquet")


def files(store: Path) -> Mapping[str, bytes]:
    """Weights, scores and curves of all finished units."""
    found = (store / "units").glob("[!.]*/*")  # a lost node may leave half-written ones
    return {f"{each.parent.name}/{each.name}": each.read_bytes() for each in found if each.suffix in ENDINGS}


def points(tracker: MemoryTracker) -> Mapping[str, list[tuple[str, int, float]]]:
    """All that runs were told, each point once, but for what a clock says."""
    return {
        uid: sorted((p.key, p.step, p.value) for p in run.points if not p.key.startswith(TIMES))
        for uid, run in tracker.runs.items()
    }


def children(module: str) -> list[int]:
    """Processes of a module of ours that this one started."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = path.joinpath("cmdline").read_bytes().split(b"\0")
            parent = int(path.joinpath("stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError):
            continue
        if parent == os.getpid() and module.encode() in words:
            found.append(int(path.name))
    return found
