"""The script for Slurm on stand-ins for its commands: an allocation of two nodes that are this machine."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from suites import wait_until

pytest.importorskip("ray")

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "config" / "clusters" / "slurm.sh"
CONFIG = """\
experiment: allocation
data: {name: synthetic, documents: 120, max_length: 32}
encoder: tiny
architecture: stl
training: {epochs: EPOCHS, learning_rate: 1e-3, device: cpu}
store: {checkpoint_steps: 5}
tracking: {uri: "http://127.0.0.1:9", flush_seconds: 0}
"""
STANDINS = {
    # Notes how it was called and becomes the command, so that signals reach it as through srun.
    "srun": """\
echo "$*" >> "$CALLS"
while [[ $1 == --* ]]; do shift; done
exec "$@" > /dev/null 2>&1
""",
    "scontrol": '[ "$*" = "show hostnames nodes[1-2]" ] && printf "node1\\nnode2\\n"\n',
    "mtlv": f'exec "{sys.executable}" -m mtlv "$@"\n',
    "ray": f'exec "{sys.executable}" -m ray.scripts.scripts "$@"\n',
}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def processes_of(mark: str) -> list[int]:
    """Those that have a text in their command line."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "cmdline").read_text(errors="replace"):
                found.append(int(folder.name))
        except OSError:
            continue  # gone
    return found


@pytest.fixture
def allocation(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a job."""
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, text in STANDINS.items():
        (commands / name).write_text(f"#!/bin/bash\n{text}")
        (commands / name).chmod(0o755)
    sockets = Path(tempfile.mkdtemp(prefix="ray-"))  # a short path: theirs may have 107 characters
    env = {
        "PATH": f"{commands}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "CALLS": str(tmp_path / "calls"),
        "SLURM_JOB_ID": "4711",
        "SLURM_JOB_NODELIST": "nodes[1-2]",
        "SLURM_CPUS_PER_TASK": "1",
        "MTLV_RAY_HOST": "127.0.0.1",
        "MTLV_RAY_PORT": str(free_port()),
        "MTLV_RAY_TMPDIR": str(sockets),
    }
    yield os.environ | env
    for process in processes_of(str(sockets)):
        os.kill(process, signal.SIGKILL)
    shutil.rmtree(sockets, ignore_errors=True)


def begin(folder: Path, env: dict[str, str], epochs: int) -> subprocess.Popen[str]:
    (folder / "c.yml").write_text(CONFIG.replace("EPOCHS", str(epochs)))
    with (folder / "out").open("w") as out:
        return subprocess.Popen(
            ["bash", str(SCRIPT), "c.yml", "seed=3"], cwd=folder, env=env, stdout=out, stderr=out, text=True
        )


@pytest.mark.slow
def test_a_job_and_its_runs_brought_home(allocation: dict[str, str], tmp_path: Path) -> None:
    job = begin(tmp_path, allocation, epochs=1)
    assert job.wait(300) == 0, (tmp_path / "out").read_text()
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) == 2
    assert "--nodelist=node1" in calls[0]
    assert "ray start --block --num-cpus=1 --head --node-ip-address=127.0.0.1" in calls[0]
    assert "--nodelist=node2" in calls[1]
    assert f"--address=127.0.0.1:{allocation['MTLV_RAY_PORT']}" in calls[1]
    assert "`mtlv sync --store mtlv-store` uploads them" in (tmp_path / "out").read_text()
    wait_until(lambda: not processes_of(allocation["MTLV_RAY_TMPDIR"]), 60)

    home = f"sqlite:///{tmp_path / 'home.db'}"  # in place of a server that the login node reaches
    sync = [sys.executable, "-m", "mtlv", "sync", "--store", "mtlv-store", "--uri", home]
    subprocess.run(sync, cwd=tmp_path, env=allocation, check=True, timeout=300)
    with sqlite3.connect(tmp_path / "home.db") as database:
        (runs,) = database.execute("select count(*) from runs where status = 'FINISHED'").fetchone()
    assert runs == 2  # the member and its fold


@pytest.mark.slow
def test_the_end_of_the_time_stops_it_in_order(allocation: dict[str, str], tmp_path: Path) -> None:
    job = begin(tmp_path, allocation, epochs=200)
    wait_until(lambda: any(tmp_path.glob("mtlv-store/checkpoints/*/*")))
    job.send_signal(signal.SIGTERM)
    assert job.wait(120) == 143
    assert "mtlv: stopped" in (tmp_path / "out").read_text()
    wait_until(lambda: not processes_of(allocation["MTLV_RAY_TMPDIR"]), 60)


def test_without_an_allocation(tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
    ended = subprocess.run(
        ["bash", str(SCRIPT), "c.yml"], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert ended.returncode == 2
    assert "usage: sbatch" in ended.stderr


def test_the_head_does_not_start(allocation: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "bin" / "srun").write_text("#!/bin/bash\nexit 1\n")
    job = begin(tmp_path, allocation, epochs=1)
    assert job.wait(60) == 1
    assert "Ray's head on node1 did not start" in (tmp_path / "out").read_text()
