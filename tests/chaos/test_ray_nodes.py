"""Nodes of a Ray cluster are killed in the middle of suites, and others come: nothing is lost or doubled."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from suites import arithmetic, begin, doubled, log_of, points, run, units

from mtlv.running.ray_cluster import QUIET

pytest.importorskip("ray")

KILLS = 20
SMALL = {"num_cpus": 1, "object_store_memory": 80_000_000}


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A head node without work, and two nodes of a CPU each, simulated on this machine."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        for name, value in QUIET.items():
            patch.setenv(name, value)
        made = Cluster(initialize_head=True, head_node_args=SMALL | {"num_cpus": 0})
        for _ in range(2):
            made.add_node(**SMALL)
        yield made
        made.shutdown()


def test_nodes_that_are_killed(tmp_path: Path, cluster: Any, say: Callable[[str], None]) -> None:
    """Suite after suite, each with another seed, until so many were killed in the middle of one."""
    draw, kills, seed = random.Random(0), 0, 0
    while kills < KILLS:
        seed += 1
        changes = (f"seed={seed}", "execution.threads=1")
        on_ray = (*changes, "execution.engine=ray", f"execution.address='{cluster.address}'")
        here, there = tmp_path / f"here-{seed}", tmp_path / f"there-{seed}"
        run(here, *changes, "execution.processes=1")
        process, before = begin(there, *on_ray), kills
        while not _ends(process, draw.uniform(6, 12)) and kills < KILLS:
            cluster.remove_node(draw.choice(cluster.list_all_nodes()[1:]), allow_graceful=False)
            cluster.add_node(**SMALL)
            kills += 1
        said = log_of(there).read_text(encoding="utf-8")
        assert process.wait() == 0, said[-3000:]
        found = points(there)
        say(f"seed {seed}: {kills - before} nodes killed, {len(doubled(found))} points doubled")
        assert units(there) == units(here)
        assert doubled(found) == []
        assert arithmetic(found) == arithmetic(points(here))


def _ends(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True
