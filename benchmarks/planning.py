"""Seconds to plan a suite of 1,000 units or more, without training: python benchmarks/planning.py

Less than a minute. Generated suites on a generated corpus with `tiny`: many members, many seeds, two stages.
Measures reading the config, the checks of `mtlv check`, and planning all units with their keys, as `mtlv run`
does before training. Corpus, split, tokens and encoder are not measured: their time does not depend on the
number of units. All in this process; also CPU time, which other work affects less.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from harness import Claim, Result, interleaved, profiled, publish, sized

from mtlv.planning.check import check_suite
from mtlv.planning.resolve import resolve_all
from mtlv.settings import load_suite
from mtlv.store.local import Store
from mtlv.units.input_cache import InputCache
from mtlv.units.job import each_once

LIMIT, REPEATS, MEMBERS, SEEDS = 2.0, sized(3, 1), sized(500, 10), sized(28, 2)
WHOLE, PROCESSOR = "in all", "processor, in all"
HEAD = "experiment: planning\nencoder: tiny\ndata: {{name: synthetic, documents: 300, folds: {folds}}}\n"
RATES = ", ".join(f"{rate}e-5" for rate in range(1, sized(28, 3)))
STAGES = "[{name: refine, architecture: mtl}, {name: tune, architecture: stl}]"
MANY = f"{MEMBERS} members, 2 folds, one model each"
SUITES = {
    f"{sized(27, 2)} members, 4 folds, 9 models each": HEAD.format(folds=4)
    + f"architecture: stl\nmatrix: {{training.learning_rate: [{RATES}]}}\n",
    f"1 member, 4 folds, {SEEDS} seeds, 9 models each": HEAD.format(folds=4)
    + f"architecture: stl\nseed: [{', '.join(map(str, range(SEEDS)))}]\n",
    f"2 stages, 4 folds, {SEEDS - sized(2, 0)} seeds": HEAD.format(folds=4)
    + f"seed: [{', '.join(map(str, range(SEEDS - sized(2, 0))))}]\nstages: {STAGES}\n",
    MANY: HEAD.format(folds=2)
    + "architecture: mtl\nruns:\n"
    + "".join(f"  - {{training.learning_rate: {n}.5e-5}}\n" for n in range(MEMBERS)),
}


def once(text: str) -> tuple[dict[str, float], int]:
    """Return the seconds of each part, and the number of units."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "c.yml"
        config.write_text(text, encoding="utf-8")
        begun, spent = time.perf_counter(), time.process_time()
        suite = load_suite(config, [f"store.uri={folder}/store"])
        read = time.perf_counter()
        check_suite(suite)
        checked, spent = time.perf_counter(), time.process_time() - spent
        cache = InputCache(Store(Path(folder) / "store"))
        cache.folds(suite.members[0].settings.data)
        cache.inputs(suite.members[0].settings)
        again, processor = time.perf_counter(), time.process_time()
        units = each_once(job for member in resolve_all(cache, suite.members) for job in member.jobs)
        laid, spent = time.perf_counter() - again, spent + time.process_time() - processor
    parts = {"read the config": read - begun, "check": checked - read, "lay out": laid}
    return parts | {WHOLE: checked - begun + laid, PROCESSOR: spent}, len(units)


def result_of(values: dict[str, dict[str, list[float]]], units: dict[str, int]) -> Result:
    """Return the result; its claim is about the slowest suite per 1,000 units."""
    result = Result("planning", "Seconds to plan a suite", "s", values, details={"units": units})
    each = {name: 1000 * median(parts[WHOLE]) / units[name] for name, parts in values.items()}
    slowest = max(each, key=lambda name: each[name])
    why = f"slowest of {len(each)}: {slowest}; the fastest {min(each.values()):.2f} s"
    result.claims = [
        Claim("a suite of 1,000 units plans", LIMIT, each[slowest], "s", at_least=False, why=why)
    ]
    result.details["seconds_per_1000_units"] = each
    return result


def profile() -> str:
    """Return a profile of the suite with the most members, without imports."""
    once(SUITES[MANY])
    return profiled(lambda: once(SUITES[MANY]))


def main() -> int:
    """Plan each suite in turn and publish the result."""
    values: dict[str, dict[str, list[float]]] = {name: {} for name in SUITES}
    units: dict[str, int] = {}

    def plan(name: str) -> float:
        parts, units[name] = once(SUITES[name])
        for part, seconds in parts.items():
            values[name].setdefault(part, []).append(seconds)
        return parts[WHOLE]

    interleaved({name: lambda name=name: plan(name) for name in SUITES}, REPEATS)
    result = result_of(values, units)
    result.profile = profile()
    return publish(result)


if __name__ == "__main__":
    sys.exit(main())
