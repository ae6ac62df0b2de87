"""A disk that fills: the run stops with a clear message, and goes on once there is room; nothing is lost."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from suites import arithmetic, begin, doubled, log_of, points, run, units

WITH_CHECKPOINTS = (4, 9, 14)  # megabytes; the suite needs about 30
WITHOUT = (3, 6, 9, 12, 15, 18, 21, 24, 27)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system in memory of a few megabytes; needs root."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], check=False)
    if done.returncode:
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def resize(place: Path, megabytes: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={megabytes}m", place], check=True)


def used(place: Path) -> int:
    """Megabytes, rounded up."""
    found = os.statvfs(place)
    return -(-(found.f_blocks - found.f_bfree) * found.f_bsize // 2**20)


def test_a_suite_on_a_disk_that_fills(small_disk: Path, tmp_path: Path, say: Callable[[str], None]) -> None:
    alone, place = tmp_path / "alone", small_disk / "suite"
    run(alone)
    stopped = 0
    stages = [(size, "store.checkpoint_steps=3") for size in WITH_CHECKPOINTS]
    stages += [(size, "store.checkpoint_steps=null") for size in WITHOUT]
    for megabytes, change in stages:
        resize(small_disk, max(megabytes, used(small_disk)))
        before = units(place) if place.exists() else {}
        code = begin(place, change).wait()
        said = log_of(place).read_text(encoding="utf-8", errors="replace")
        assert "Traceback" not in said, said[-3000:]
        assert code in (0, 2), said[-3000:]
        stopped += code == 2
        assert before.items() <= units(place).items()
    resize(small_disk, 200)
    run(place)
    say(f"a full disk stopped the suite {stopped} times; {used(small_disk)} MB in the end")
    assert stopped
    assert units(place) == units(alone)
    found = points(place)
    assert doubled(found) == []
    assert arithmetic(found) == arithmetic(points(alone))
