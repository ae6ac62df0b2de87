"""1,000 empty units on Ray compared with plain Ray tasks: python benchmarks/ray_overhead.py; about a minute

The executor runs units that only report that they are finished: the remaining cost is scheduling, sending
each unit with its settings, and receiving its messages. The peer is as many plain tasks that get the same
unit and a reference to the same inputs, and return at once. Both use one cluster on this machine, after a
warm-up of its workers.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from harness import Claim, Result, interleaved, parser_of, profiled, publish, seconds, sized

from mtlv.events import UnitPlaced, ignore
from mtlv.execution.ray.cluster import RayHead, connect
from mtlv.execution.ray.executor import RayExecutor
from mtlv.execution.ray.nodes import NodeRequest
from mtlv.execution.ray.task import unpack
from mtlv.execution.runner import UnitRunner
from mtlv.hardware import cores
from mtlv.planning.resolve import resolve_all
from mtlv.settings import load_suite
from mtlv.store.local import Store
from mtlv.units.input_cache import InputCache
from mtlv.units.job import each_once, needed_keys

CONFIG = """\
experiment: empty
encoder: tiny
data: {{name: synthetic, documents: 300, folds: 4}}
architecture: stl
seed: [{seeds}]
"""
LIMIT, REPEATS = 1.3, sized(5, 1)


class Nothing(Store):
    """A store that keeps nothing and returns a unit's key as its record."""

    def load(self, key):
        return key


def empty(packed, references, mailbox, *needs):  # noqa: ARG001
    """Send the event of a unit that trains nothing."""
    job = unpack(packed, references[1:]).jobs[-1]
    mailbox.put.remote(UnitPlaced(job.name, "here"))


def plain(job, number, store, threads, inputs):
    """Do as much as a plain task."""


def by_executor(cache, store, jobs, slots):
    """Return the seconds of all units by the executor, requested as by a suite."""
    head = RayHead(None, slots)
    runner = UnitRunner(cache.inputs, store, ignore, needed_keys(jobs))
    executor = RayExecutor(runner, cache, jobs, request=NodeRequest(1), threads=1, head=head, task=empty)
    with executor:
        begun = time.perf_counter()
        executor.expect(jobs)
        for job in jobs:
            executor.run(job)
        return time.perf_counter() - begun


def by_ray(cache, store, jobs):
    """Return the seconds of the same units as plain tasks, all submitted at once."""
    import ray

    task = ray.remote(plain).options(num_cpus=1, max_retries=0)
    inputs = ray.put(cache.inputs(jobs[0].settings))

    def work():
        ray.get([task.remote(job, number, store.root, 1, [inputs]) for number, job in enumerate(jobs)])

    return seconds(work)


@contextmanager
def prepared(units: int):
    """Yield an input cache, a store and `units` jobs; a cluster runs meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "c.yml"
        seeds = ", ".join(map(str, range(-(-units // 36))))  # 9 models, 4 folds
        config.write_text(CONFIG.format(seeds=seeds), encoding="utf-8")
        suite = load_suite(config, [f"store.uri={folder}/store"])
        store = Nothing(Path(folder) / "store")
        cache = InputCache(store)
        jobs = each_once(job for each in resolve_all(cache, suite.members) for job in each.jobs)[:units]
        with connect(RayHead(None, cores())):
            yield cache, store, jobs


def main() -> int:
    """Measure both peers and publish the result."""
    parser = parser_of(__doc__)
    parser.add_argument("--units", type=int, default=sized(1000, 36))
    args = parser.parse_args()
    slots = cores()
    with prepared(args.units) as (cache, store, jobs):
        peers = {
            "mtlv's executor": lambda: by_executor(cache, store, jobs, slots),
            "plain tasks": lambda: by_ray(cache, store, jobs),
        }
        found = interleaved(peers, REPEATS, warm=1)
        spent = profiled(peers["mtlv's executor"])
    row = f"{len(jobs)} empty units"
    setting = {"units": len(jobs), "workers": slots}
    result = Result("ray_overhead", "Empty units on Ray", "s", {row: found}, setting=setting, profile=spent)
    ratio = result.ratio(row, "mtlv's executor", "plain tasks")
    result.claims.append(Claim("1,000 empty units on Ray against plain tasks", LIMIT, ratio, at_least=False))
    return publish(result)


if __name__ == "__main__":
    raise SystemExit(main())
