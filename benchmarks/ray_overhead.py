"""1,000 empty units on Ray against plain tasks of Ray: python benchmarks/ray_overhead.py; about a minute

The executor hands out units that do nothing but say that they are done: what is left is the board, the
hand-over of a unit with its settings, and its words on the way back. Beside it as many plain tasks, which are
given the same unit and a reference to the same material and return at once. Everything is in one cluster of
this machine, whose workers have been used before the clock starts.
"""

from __future__ import annotations

import json
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from harness import Claim, Result, alone, interleaved, parser_of, profiled, publish, seconds, sized

from mtlv.events import ignore
from mtlv.execution.messages import Trained
from mtlv.execution.ray.cluster import RayHead, connected
from mtlv.execution.ray.executor import RayExecutor
from mtlv.execution.ray.nodes import NodeRequest
from mtlv.execution.ray.task import OnNode, unpacked
from mtlv.hardware import cores
from mtlv.planning.resolve import resolve_all
from mtlv.settings import load_suite
from mtlv.store.local import Store
from mtlv.units.input_cache import InputCache
from mtlv.units.job import each_once

CONFIG = """\
experiment: empty
encoder: tiny
data: {{name: synthetic, documents: 300, folds: 4}}
architecture: stl
seed: [{seeds}]
"""
LIMIT, REPEATS = 1.3, sized(5, 1)


class Nothing(Store):
    """A store in which every unit that was asked for is done, and nothing is kept."""

    def load(self, key):
        return key


def empty(parcel, references):
    """In place of a unit."""
    name = unpacked(parcel, references[1:]).request.job.name
    yield [OnNode(name, "here", "here"), Trained(0.0)]


def plain(order, store, threads, inputs):  # noqa: ARG001
    """A task that does the same without us."""
    return [Trained(0.0)]


def by_executor(cache, store, jobs, slots):
    """All units, as a suite asks for them."""
    head = RayHead(None, slots)
    executor = RayExecutor(
        cache, store, ignore, jobs, wanted=NodeRequest(1), threads=1, head=head, task=empty
    )
    with executor:
        begun = time.perf_counter()
        executor.expect(jobs)
        for job in jobs:
            executor.run(job, lambda *_: None)
        return time.perf_counter() - begun


def by_ray(cache, store, jobs):
    """The same as plain tasks, all handed over at once."""
    import ray

    from mtlv.execution.worker import TrainRequest

    task = ray.remote(plain).options(num_cpus=1, max_retries=0)
    inputs = ray.put(cache.inputs(jobs[0].settings))

    def work():
        asked = [
            task.remote(TrainRequest(job, number, False), store.root, 1, [inputs])
            for number, job in enumerate(jobs)
        ]
        ray.get(asked)

    return seconds(work)


@contextmanager
def prepared(units: int):
    """An input cache, a store and `units` jobs, beside a cluster of this machine."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "c.yml"
        seeds = ", ".join(map(str, range(-(-units // 36))))  # 9 models, 4 folds
        config.write_text(CONFIG.format(seeds=seeds), encoding="utf-8")
        suite = load_suite(config, [f"store.uri={folder}/store"])
        store = Nothing(Path(folder) / "store")
        cache = InputCache(store)
        jobs = each_once(job for each in resolve_all(cache, suite.members) for job in each.jobs)[:units]
        with connected(RayHead(None, cores())):
            yield cache, store, jobs


def profile() -> str:
    """Where the driver's time goes; of a script, because workers do not know what a module defines."""
    return alone([__file__, "--profile"])


def main() -> int:
    """Measure both, print, write."""
    parser = parser_of(__doc__)
    parser.add_argument("--units", type=int, default=sized(1000, 36))
    parser.add_argument("--profile", action="store_true", help="alone, as JSON")
    args = parser.parse_args()
    slots = cores()
    with prepared(args.units) as (cache, store, jobs):
        peers = {
            "mtlv's executor": lambda: by_executor(cache, store, jobs, slots),
            "plain tasks": lambda: by_ray(cache, store, jobs),
        }
        found = interleaved(peers, 0 if args.profile else REPEATS, warm=1)
        spent = profiled(peers["mtlv's executor"])
    if args.profile:
        print(json.dumps(spent))
        return 0
    row = f"{len(jobs)} empty units"
    setting = {"units": len(jobs), "workers": slots}
    result = Result("ray_overhead", "Empty units on Ray", "s", {row: found}, setting=setting, profile=spent)
    ratio = result.ratio(row, "mtlv's executor", "plain tasks")
    result.claims.append(Claim("1,000 empty units on Ray against plain tasks", LIMIT, ratio, at_least=False))
    return publish(result)


if __name__ == "__main__":
    raise SystemExit(main())
