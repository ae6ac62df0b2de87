"""A suite of all four architectures that is killed, shared and compared: its folder, and what lies in it."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONFIG = """\
experiment: chaos
data: {name: synthetic, documents: 160, max_length: 32}
encoder: {name: tiny, dropout: 0.1}
grouping: {k: 3, k_max: 4}
training: {epochs: 3, batch_size: 16, learning_rate: 1e-3, device: cpu}
store: {checkpoint_steps: 3}
tracking: {models: none}
matrix: {architecture: [stl, mtl, gmhl, gmtl]}
"""
TIMES = ("time/", "cost/documents_per_second", "cost/peak")  # what a clock or a scale says, not arithmetic
OF_PROCESS = ("train_seconds", "total_seconds", "peak_memory_mb", "seconds", "timestamp_ms")


def begin(folder: Path, *argv: str) -> subprocess.Popen[bytes]:
    """`mtlv run` in a process of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "c.yml").write_text(CONFIG, encoding="utf-8")
    env = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    log = log_of(folder).open("ab")
    with log:
        return subprocess.Popen(
            [sys.executable, "-m", "mtlv", "run", "c.yml", *argv],
            cwd=folder,
            env=env,
            stdout=log,
            stderr=log,
        )


def log_of(folder: Path) -> Path:
    """What its processes said; not on the disk that may be full."""
    return folder.parents[1] / f"{folder.name}.log"


def run(folder: Path, *argv: str) -> None:
    """To its end, which must be a good one."""
    code = begin(folder, *argv).wait()
    assert code == 0, log_of(folder).read_text(encoding="utf-8")[-3000:]


def units(folder: Path) -> dict[str, str]:
    """Digests of weights, scores and curves of all finished units, by file."""
    return {
        f"{path.parent.name}/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((folder / "mtlv-store" / "units").glob("*/*"))
        if path.suffix in (".safetensors", ".parquet", ".npy")
    }


def points(folder: Path) -> dict[tuple[str, str, int], list[float]]:
    """All values of each metric and step of each run (by its uid); more than one is a doubled point."""
    found: dict[tuple[str, str, int], list[float]] = {}
    with closing(sqlite3.connect(folder / "mlflow.db")) as database:
        rows = database.execute(
            "SELECT tags.value, metrics.key, metrics.step, metrics.value FROM metrics "
            "JOIN tags ON tags.run_uuid = metrics.run_uuid AND tags.key = 'mtlv.uid'"
        )
        for uid, key, step, value in rows:
            found.setdefault((uid, key, step), []).append(value)
    return found


def arithmetic(found: dict[tuple[str, str, int], list[float]]) -> dict[tuple[str, str, int], set[float]]:
    """Without what clocks say."""
    return {place: set(values) for place, values in found.items() if not place[1].startswith(TIMES)}


def doubled(found: dict[tuple[str, str, int], list[float]]) -> list[tuple[str, str, int]]:
    return [place for place, values in found.items() if len(values) > 1]


def artifacts(folder: Path) -> dict[str, int]:
    """Names of all artifacts, by the uid of their run, and how many runs have them."""
    out: dict[str, int] = {}
    with closing(sqlite3.connect(folder / "mlflow.db")) as database:
        rows = database.execute(
            "SELECT tags.value, runs.artifact_uri, runs.status FROM runs "
            "JOIN tags ON tags.run_uuid = runs.run_uuid AND tags.key = 'mtlv.uid'"
        )
        for uid, uri, status in rows.fetchall():
            out[f"{uid}: {status}"] = out.get(f"{uid}: {status}", 0) + 1
            place = Path(uri.removeprefix("file://"))
            for path in place.rglob("*"):
                if path.is_file():
                    name = f"{uid}/{path.relative_to(place)}"
                    out[name] = out.get(name, 0) + 1
    return out


def wait_until(true: Callable[[], bool], seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.2)
