"""Cost of scheduling 100,000 units on 1,000 workers: python benchmarks/many_units.py [--units N]; minutes

Nothing is trained: simulated workers take about one second of simulated time per unit and send the messages
of a Ray worker. Measures the memory of the driver, and its CPU seconds to plan the units, to distribute them,
and to receive and show messages (the file that `mtlv status` reads is written as in a real run). Half of the
units are of a second stage and wait for one of the first. Each size runs in a separate process; the growth
between sizes shows how far it scales.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import tempfile
import time
from heapq import heappop, heappush
from pathlib import Path

from harness import Claim, Result, alone, parser_of, profiled, publish, sized

SIZES, WORKERS = sized((1_000, 10_000, 100_000), (40,)), 1_000
CONFIG = """\
experiment: many
encoder: tiny
data: {{name: synthetic, documents: 300, folds: 10}}
architecture: mtl
stages: [{{name: refine, architecture: mtl}}, {{name: tune, architecture: mtl}}]
seed: [{seeds}]
training: {{epochs: 1}}
"""


def one(units: int, workers: int) -> dict:
    """Return CPU seconds and memory of the driver."""
    from mtlv.events import BatchTrained, EpochEnded, UnitStarted, ignore, together
    from mtlv.execution.async_executor import AsyncExecutor
    from mtlv.execution.messages import Trained
    from mtlv.planning.resolve import resolve_all
    from mtlv.settings import load_suite
    from mtlv.store.local import Store
    from mtlv.store.progress import SuiteProgress, SuiteState, UnitState
    from mtlv.units.input_cache import InputCache
    from mtlv.units.job import each_once

    class Kept(Store):
        """Store that only keeps which units are done."""

        done: set[str]

        def has(self, key: str) -> bool:
            return key in self.done

        def weights(self, key: str) -> Path | None:
            return self.units if key in self.done else None

        def load(self, key: str) -> str:
            return key

    class MadeUp(AsyncExecutor):
        """Executor with simulated workers; one unit in a hundred is lost and assigned again."""

        now, lost, most = 0.0, 0, 0

        def __enter__(self):
            self._busy, self._draw = [], random.Random(0)
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def _listen(self) -> None:
            while len(self._busy) < workers and (job := self._scheduler.next()) is not None:
                heappush(self._busy, (self.now + self._draw.uniform(0.5, 1.5), job.unit.key, job))
            self.most = max(self.most, len(self._busy))
            self.now, key, job = heappop(self._busy)
            if self._draw.random() < 0.01:
                self.lost += 1
                self._receive(key, self._lose(job, "made up", own=False))
                return
            self._receive(key, UnitStarted(job.name, 1, 1, job.documents))
            self._receive(key, BatchTrained(job.name, job.documents))
            self._receive(key, EpochEnded(job.name, 1, 1, 0.5, {"AP": 0.5}, 100.0))
            self.store.done.add(key)
            self._settle(job, Trained())
            self._receive(key, Trained())

    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "c.yml"
        seeds = ", ".join(map(str, range(units // 20)))
        config.write_text(CONFIG.format(seeds=seeds), encoding="utf-8")
        suite = load_suite(config, [f"store.uri={folder}/store"])
        store = Kept(Path(folder) / "store")
        store.done = set()
        cache = InputCache(store)
        cache.inputs(suite.members[0].settings)
        before = peak_mb()
        begun = time.process_time()
        resolved = resolve_all(cache, suite.members)
        jobs = each_once(job for each in resolved for job in each.jobs)
        found["lay out"] = time.process_time() - begun
        begun = time.process_time()
        state = SuiteState("many", str(config), units=[UnitState(j.unit.key, j.name, "m") for j in jobs])
        progress = SuiteProgress(store.root, state)
        with progress, MadeUp(cache, store, together(progress, ignore), jobs) as executor:
            executor.expect(jobs)
            for job in jobs:
                executor.run(job, lambda *_: None)
        found["hand out and hear"] = time.process_time() - begun
    return {
        "units": len(jobs),
        "seconds": found,
        "mb": peak_mb() - before,
        "lost": executor.lost,
        "most": executor.most,
        "clock": executor.now,
    }


def profile() -> str:
    """Return a profile of the driver with 1,000 units."""
    return alone([__file__, "--units", str(SIZES[0]), "--profile"])


def peak_mb() -> float:
    """Return the peak memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def main() -> int:
    """Measure each size in a separate process."""
    parser = parser_of(__doc__)
    parser.add_argument("--units", type=int, help="run one size, print JSON")
    parser.add_argument("--profile", action="store_true", help="profile `--units`, print JSON")
    parser.add_argument("--workers", type=int, default=WORKERS)
    args = parser.parse_args()
    if args.profile:
        one(SIZES[0], args.workers)  # imports
        print(json.dumps(profiled(lambda: one(args.units, args.workers))))
        return 0
    if args.units:
        print(json.dumps(one(args.units, args.workers)))
        return 0
    values, details = {}, {}
    for size in SIZES:
        found = alone([sys.argv[0], "--units", str(size), "--workers", str(args.workers)])
        values[f"{size:,} units"] = {name: [value] for name, value in found["seconds"].items()}
        details[str(size)] = found
    largest = details[str(SIZES[-1])]
    claims = [
        Claim(f"{SIZES[-1]:,} units on {args.workers:,} workers, driver", None, total(largest), unit="s"),
        Claim("its memory beside what was there", None, largest["mb"] / 1e3, unit="GB"),
    ]
    setting = {"workers": args.workers, "units": list(SIZES)}
    title = "The driver alone, seconds of its processor"
    result = Result("many_units", title, "s", values, claims, setting, profile(), details)
    return publish(result)


def total(found: dict) -> float:
    """Return the CPU seconds of the driver."""
    return sum(found["seconds"].values())


if __name__ == "__main__":
    raise SystemExit(main())
