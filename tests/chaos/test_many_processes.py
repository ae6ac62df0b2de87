"""Many processes on one suite and one SQLite store: no unit is done twice, nothing is harmed."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from suites import arithmetic, begin, doubled, log_of, points, run, units

from mtlv.processes import GRACE_SECONDS

PROCESSES = 8


def test_processes_share_the_units_of_a_suite(tmp_path: Path, say: Callable[[str], None]) -> None:
    alone, together = tmp_path / "alone", tmp_path / "together"
    run(alone)
    processes = [begin(together) for _ in range(PROCESSES)]
    codes = [process.wait() for process in processes]
    said = log_of(together).read_text(encoding="utf-8")
    assert codes == [0] * PROCESSES, said[-3000:]
    assert "Traceback" not in said
    assert units(together) == units(alone)
    ends = [line.split("] ")[1] for line in said.splitlines() if ": epoch 3/3" in line]
    names = [line.split(": epoch")[0] for line in ends]
    found = points(together)
    twice = len(names) - len(set(names))
    say(f"{PROCESSES} processes: {len(set(names))} units trained, {twice} twice")
    say(f"{len(found)} points, {len(doubled(found))} doubled")
    assert not twice
    assert doubled(found) == []
    assert arithmetic(found) == arithmetic(points(alone))


def helpers(folder: Path) -> list[int]:
    """Processes that train for a suite whose working folder is this."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            ours = b"mtlv.execution.helper" in (path / "cmdline").read_bytes().split(b"\0")
            if ours and (path / "cwd").resolve() == folder.resolve():
                found.append(int(path.name))
        except OSError:
            continue
    return found


def test_a_driver_that_is_killed_takes_its_helpers_with_it(
    tmp_path: Path, say: Callable[[str], None]
) -> None:
    """Again and again at random moments, until a suite that trains two units at once gets to its end."""
    alone, killed = tmp_path / "alone", tmp_path / "killed"
    run(alone)
    draw, kills, seen = random.Random(0), 0, 0
    while kills < 10:
        process = begin(killed, "execution.processes=2")
        try:
            assert process.wait(draw.uniform(5, 40)) == 0, log_of(killed).read_text(encoding="utf-8")[-3000:]
            break
        except subprocess.TimeoutExpired:
            seen = max(seen, len(helpers(killed)))
            process.kill()
            process.wait()
            kills += 1
        until = time.monotonic() + GRACE_SECONDS + 5
        while helpers(killed) and time.monotonic() < until:
            time.sleep(0.2)
        assert helpers(killed) == []
    run(killed, "execution.processes=2")
    found = points(killed)
    say(f"{kills} kills of a driver with up to {seen} helpers; {len(doubled(found))} points doubled")
    assert units(killed) == units(alone)
    assert doubled(found) == []
    assert arithmetic(found) == arithmetic(points(alone))
