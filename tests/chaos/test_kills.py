"""A suite that is killed again and again ends as one that is not. Takes minutes.

`MTLV_CHAOS_KILLS` says how often (50).
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from suites import arithmetic, artifacts, begin, doubled, log_of, points, run, units

KILLS = int(os.environ.get("MTLV_CHAOS_KILLS", "50"))
LONGEST = 25.0  # seconds that a process lives: from its imports to half of the suite


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    run(folder)
    return folder


def test_killed_suites_end_as_an_undisturbed_one(
    undisturbed: Path, tmp_path: Path, say: Callable[[str], None]
) -> None:
    moments, kills, suites, compared, within = random.Random(0), 0, 0, 0, 0
    while kills < KILLS:
        suites += 1
        folder = tmp_path / f"suite-{suites}"
        while kills < KILLS:
            process = begin(folder)
            time.sleep(moments.uniform(1.0, LONGEST))
            if process.poll() is not None:
                assert process.returncode == 0, log_of(folder).read_text(encoding="utf-8")[-3000:]
                break
            process.kill()
            process.wait()
            kills += 1
        run(folder)
        compared += compare(undisturbed, folder)
        within += log_of(folder).read_text(encoding="utf-8").count(": resumes after step ")
    say(f"{kills} kills of {suites} suites, {within} of them within a unit that went on from a checkpoint")
    say(f"{compared} files and points equal, 0 different, 0 doubled")


def compare(undisturbed: Path, folder: Path) -> int:
    """How many files and points were found equal; none may differ."""
    assert units(folder) == units(undisturbed)
    found = points(folder)
    assert doubled(found) == []
    assert arithmetic(found) == arithmetic(points(undisturbed))
    assert artifacts(folder) == artifacts(undisturbed)
    assert not list((folder / "mtlv-store" / "checkpoints").glob("*"))
    return len(units(folder)) + len(found)
