"""Nodes of a Ray cluster are killed in the middle of suites, and others come: nothing is lost or doubled."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from suites import arithmetic, begin, doubled, log_of, points, run, units

from mtlv.execution.ray.cluster import QUIET_VARIABLES

pytest.importorskip("ray")

KILLS = 20
SMALL = {"num_cpus": 1, "object_store_memory": 80_000_000}


@contextmanager
def cluster_of(nodes: int) -> Iterator[Any]:
    """A head node without work, and nodes of a CPU each, simulated on this machine."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        for name, value in QUIET_VARIABLES.items():
            patch.setenv(name, value)
        made = Cluster(initialize_head=True, head_node_args=SMALL | {"num_cpus": 0})
        for _ in range(nodes):
            made.add_node(**SMALL)
        yield made
        made.shutdown()


def on(cluster: Any) -> tuple[str, ...]:
    """Settings of a suite."""
    return "execution.threads=1", "execution.engine=ray", f"execution.address='{cluster.address}'"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The suite as one process trains it."""
    folder = tmp_path_factory.mktemp("alone") / "here"
    run(folder, "execution.processes=1", "execution.threads=1")
    return folder


@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_the_same_on_any_number_of_nodes(
    nodes: int, here: Path, tmp_path: Path, say: Callable[[str], None]
) -> None:
    there = tmp_path / f"there-{nodes}"
    with cluster_of(nodes) as cluster:
        run(there, *on(cluster))
    said = log_of(there).read_text(encoding="utf-8").splitlines()
    ends = [line.split("] ")[1].split(": epoch")[0] for line in said if ": epoch 3/3" in line]
    say(f"{nodes} nodes: {len(ends)} units, {len(ends) - len(set(ends))} twice")
    assert len(ends) == len(set(ends))
    assert units(there) == units(here)
    assert doubled(points(there)) == []
    assert arithmetic(points(there)) == arithmetic(points(here))


def test_a_driver_that_is_killed(here: Path, tmp_path: Path, say: Callable[[str], None]) -> None:
    """Its units end with it; the next one finds what is done, and goes on with what was running."""
    there, draw, kills = tmp_path / "drivers", random.Random(0), 0
    with cluster_of(2) as cluster:
        process = begin(there, *on(cluster))
        while kills < 5 and not _ends(process, draw.uniform(10, 25)):
            process.kill()
            process.wait()
            kills += 1
            process = begin(there, *on(cluster))
        assert process.wait() == 0, log_of(there).read_text(encoding="utf-8")[-3000:]
    found = points(there)
    say(f"{kills} drivers killed, {len(doubled(found))} points doubled")
    assert units(there) == units(here)
    assert doubled(found) == []
    assert arithmetic(found) == arithmetic(points(here))


def test_nodes_that_are_killed(tmp_path: Path, say: Callable[[str], None]) -> None:
    """Suite after suite, each with another seed, until so many were killed in the middle of one."""
    with cluster_of(2) as cluster:
        _kill_nodes(cluster, tmp_path, say)


def _kill_nodes(cluster: Any, tmp_path: Path, say: Callable[[str], None]) -> None:
    draw, kills, seed = random.Random(0), 0, 0
    while kills < KILLS:
        seed += 1
        alone, there = tmp_path / f"alone-{seed}", tmp_path / f"there-{seed}"
        run(alone, f"seed={seed}", "execution.threads=1", "execution.processes=1")
        process, before = begin(there, f"seed={seed}", *on(cluster)), kills
        while not _ends(process, draw.uniform(6, 12)) and kills < KILLS:
            cluster.remove_node(draw.choice(cluster.list_all_nodes()[1:]), allow_graceful=False)
            cluster.add_node(**SMALL)
            kills += 1
        said = log_of(there).read_text(encoding="utf-8")
        assert process.wait() == 0, said[-3000:]
        found = points(there)
        say(f"seed {seed}: {kills - before} nodes killed, {len(doubled(found))} points doubled")
        assert units(there) == units(alone)
        assert doubled(found) == []
        assert arithmetic(found) == arithmetic(points(alone))


def _ends(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True
