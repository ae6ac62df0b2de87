"""The script for a job array under a stand-in for Slurm: several tasks here, one of them requeued."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from suites import CONFIG, arithmetic, doubled, points, run, units, wait_until

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "config" / "clusters" / "slurm-array.sh"
ARRAY = 4711


class Scheduler:
    """What Slurm does with the script, by its own options: tasks, the signal before the end, requeueing."""

    def __init__(self, folder: Path, tasks: int) -> None:
        self.folder, self.commands = folder, folder / "bin"
        self.commands.mkdir(parents=True)
        for name, line in {
            "mtlv": f'exec "{sys.executable}" -m mtlv "$@"',
            "scontrol": f'[ "$1" = requeue ] && echo "$2" >> {folder / "requeued"}',
        }.items():
            (self.commands / name).write_text(f"#!/bin/bash\n{line}\n")
            (self.commands / name).chmod(0o755)
        options = dict(re.findall(r"^#SBATCH --([\w-]+)=?(.*)$", SCRIPT.read_text(), re.MULTILINE))
        assert "requeue" in options
        target, _, self.signal = options["signal"].partition("@")[0].partition(":")
        assert target == "B"  # the script alone, not its processes
        self.tasks = {number: self.start(number) for number in range(1, tasks + 1)}

    def start(self, number: int) -> subprocess.Popen[bytes]:
        env = os.environ | {
            "PATH": f"{self.commands}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "SLURM_JOB_ID": str(ARRAY),
            "SLURM_ARRAY_JOB_ID": str(ARRAY),
            "SLURM_ARRAY_TASK_ID": str(number),
            "SLURM_CPUS_PER_TASK": "1",
        }
        with self.log(number).open("ab") as log:
            return subprocess.Popen(
                ["bash", str(SCRIPT), "c.yml"],
                cwd=self.folder,
                env=env,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def log(self, number: int) -> Path:
        return self.folder / f"slurm-{number}.out"

    def end_time(self, number: int) -> int:
        """Send the signal that announces the end of the time; return the script's exit code."""
        self.tasks[number].send_signal(getattr(signal, f"SIG{self.signal}"))
        return self.tasks[number].wait(120)

    def requeued(self) -> list[str]:
        path = self.folder / "requeued"
        return path.read_text().split() if path.exists() else []


@pytest.mark.slow
def test_tasks_share_the_units_and_a_requeued_one_resumes(tmp_path: Path) -> None:
    alone, together = tmp_path / "alone", tmp_path / "together"
    run(alone, "execution.processes=1", "execution.threads=1")
    together.mkdir()
    (together / "c.yml").write_text(CONFIG)
    scheduler = Scheduler(together, tasks=3)
    wait_until(lambda: "epoch" in scheduler.log(2).read_text())
    assert scheduler.end_time(2) == 143
    assert scheduler.requeued() == [f"{ARRAY}_2"]
    scheduler.tasks[2] = scheduler.start(2)
    assert [task.wait(300) for task in scheduler.tasks.values()] == [0, 0, 0]

    text = "".join(scheduler.log(number).read_text() for number in scheduler.tasks)
    names = re.findall(r"\] (.*): epoch 3/3", text)
    assert "Traceback" not in text
    assert len(names) == len(set(names))  # no unit is trained twice
    assert units(together) == units(alone)
    tracked = points(together)
    assert doubled(tracked) == []
    assert arithmetic(tracked) == arithmetic(points(alone))
    assert [path.name for path in together.glob("mtlv-compare/*/compare.html")] == ["compare.html"]


@pytest.mark.parametrize(("code", "is_cancelled"), [(143, True), (1, False)])
def test_what_is_not_requeued(tmp_path: Path, code: int, is_cancelled: bool) -> None:
    """A cancelled task, whose processes all get TERM, and a run that fails at the end of its time."""
    scheduler = Scheduler(tmp_path, tasks=0)
    ready, ended = tmp_path / "ready", tmp_path / "ended"
    end = f"trap 'sleep 0.5; touch {ended}; exit {code}' TERM"
    commands = f"{end}\ntouch {ready}\nwhile true; do sleep 0.1; done\n"
    (scheduler.commands / "mtlv").write_text(f"#!/bin/bash\n{commands}")
    scheduler.tasks[1] = scheduler.start(1)
    wait_until(ready.exists, 20)
    if is_cancelled:
        os.killpg(scheduler.tasks[1].pid, signal.SIGTERM)
    assert (scheduler.tasks[1].wait(20) if is_cancelled else scheduler.end_time(1)) == code
    assert ended.exists()  # the script waited
    assert scheduler.requeued() == []


def test_outside_an_array(tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
    ended = subprocess.run(
        ["bash", str(SCRIPT), "c.yml"], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert ended.returncode == 2
    assert "usage: sbatch" in ended.stderr
