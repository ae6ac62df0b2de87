"""A suite that is killed again and again ends as one that is not. Takes minutes.

`MTLV_CHAOS_KILLS` says how often (50).
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
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


EQUAL = "encoder.dropout=0", "training.precision=fp32"  # up to rounding
STACKED = (*EQUAL, "execution.stack=4", "execution.processes=1")


def test_killed_stacks_end_as_units_that_are_trained_one_by_one(
    tmp_path: Path, say: Callable[[str], None]
) -> None:
    """Killed at ends of epochs, each time in other stacks; in the end, two processes share the units."""
    alone, killed = tmp_path / "alone", tmp_path / "killed"
    run(alone, *EQUAL)
    draw, kills = random.Random(0), 0
    for _ in range(max(1, KILLS // 10)):
        process = begin(killed, *STACKED)
        until = epoch_ends(killed) + draw.randint(2, 6)
        while process.poll() is None and epoch_ends(killed) < until:
            time.sleep(0.01)
        kills += process.poll() is None
        process.kill()
        process.wait()
    processes = [begin(killed, *STACKED) for _ in range(2)]
    text = log_of(killed).read_text(encoding="utf-8")
    assert [process.wait() for process in processes] == [0, 0], text[-3000:]
    assert units(killed).keys() == units(alone).keys()
    scores = [path.relative_to(alone) for path in alone.glob("mtlv-store/units/*/*.parquet")]
    for path in scores:
        one, other = (pd.read_parquet(folder / path).select_dtypes("number") for folder in (killed, alone))
        np.testing.assert_allclose(one, other, atol=1e-3)
    points_killed, points_alone = points(killed), points(alone)
    assert doubled(points_killed) == []
    assert points_killed.keys() == points_alone.keys()
    assert artifacts(killed) == artifacts(alone)
    assert not list((killed / "mtlv-store" / "checkpoints").glob("*"))
    text = log_of(killed).read_text(encoding="utf-8")
    resumed, stacks = text.count(": resumes after step "), text.count("in a stack of")
    say(f"{kills} kills, {resumed} units resumed in {stacks} stacks")
    say(f"{len(scores)} files of scores and {len(points_alone)} points compared, 0 doubled")


def epoch_ends(folder: Path) -> int:
    """How many epochs its processes have told."""
    log = log_of(folder)
    return log.read_text(encoding="utf-8").count(": epoch ") if log.exists() else 0


def compare(undisturbed: Path, folder: Path) -> int:
    """How many files and points were found equal; none may differ."""
    assert units(folder) == units(undisturbed)
    found = points(folder)
    assert doubled(found) == []
    assert arithmetic(found) == arithmetic(points(undisturbed))
    assert artifacts(folder) == artifacts(undisturbed)
    assert not list((folder / "mtlv-store" / "checkpoints").glob("*"))
    return len(units(folder)) + len(found)
