"""Eight processes on one suite and one SQLite store: no unit is done twice, nothing is harmed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from suites import arithmetic, begin, doubled, log_of, points, run, units

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
