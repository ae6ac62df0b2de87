"""A unit of three ranks, one of which is killed at a random moment, ends as an undisturbed one.

`MTLV_CHAOS_RANKS` says of how many units (20).
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from suites import begin, log_of, run, units

UNITS = int(os.environ.get("MTLV_CHAOS_RANKS", "20"))
GIVEN = (
    "matrix={architecture: [gmhl]}",
    "training.epochs=12",  # so that most moments are in training
    "execution={processes: 1, devices_per_unit: 3}",
)


def ranks_of(process: subprocess.Popen[bytes]) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            parent = int(path.joinpath("stat").read_text().rsplit(")", 1)[1].split()[1])
            words = path.joinpath("cmdline").read_bytes().split(b"\0")
            if parent == process.pid and b"mtlv.units.rank_process" in words:
                found.append(int(path.name))
    return sorted(found)


def seconds_with_ranks(folder: Path) -> float:
    """How long the ranks of an undisturbed unit are there."""
    process = begin(folder, *GIVEN)
    times = []
    while process.poll() is None:
        if ranks_of(process):
            times.append(time.monotonic())
        time.sleep(0.05)
    assert process.returncode == 0, log_of(folder).read_text(encoding="utf-8")[-3000:]
    return times[-1] - times[0]


def test_units_whose_ranks_are_killed_end_as_an_undisturbed_one(
    tmp_path: Path, say: Callable[[str], None]
) -> None:
    undisturbed = tmp_path / "suites" / "undisturbed"
    lasts, moments, kills, within = seconds_with_ranks(undisturbed), random.Random(0), 0, 0
    for number in range(UNITS):
        folder = tmp_path / "suites" / str(number)
        process = begin(folder, *GIVEN)
        while process.poll() is None and not ranks_of(process):
            time.sleep(0.05)
        time.sleep(moments.uniform(0, lasts))
        ranks = ranks_of(process)
        if ranks:
            os.kill(moments.choice(ranks), signal.SIGKILL)
            kills += 1
        assert process.wait(600) == 0, log_of(folder).read_text(encoding="utf-8")[-3000:]
        assert not ranks_of(process)
        assert units(folder) == units(undisturbed)
        within += log_of(folder).read_text(encoding="utf-8").count(": resumes after step ")
    run(undisturbed, *GIVEN)  # finds all of it
    say(f"{kills} ranks of {UNITS} units killed, {within} of these went on from a checkpoint: 0 differ")
