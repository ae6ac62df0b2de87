"""Seconds to plan a suite of 1,000 units and more, without training any; under a minute.

    python benchmarks/planning.py

Generated suites on one generated corpus with `tiny`: many members, many seeds, two stages. For each: reading
the config, the proof of `mtlv check`, and laying out all units with their keys, as `mtlv run` does before
training. Corpus, split, tokens and encoder are read before the clock starts, for their time does not grow
with units. Medians of three, in this process; processor time too, which other work changes less.
Results go to benchmarks/results/planning.json; exit code 1 where a suite takes over 2 s per 1,000 units.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from mtlv.running import check_suite
from mtlv.running.environment import machine, versions
from mtlv.running.executor import each_once
from mtlv.running.resolve import resolve_all
from mtlv.running.store import Store
from mtlv.running.workbench import Workbench
from mtlv.settings import load_suite

OUT = Path(__file__).resolve().parent / "results" / "planning.json"
LIMIT, RUNS = 2.0, 3
HEAD = "experiment: planning\nencoder: tiny\ndata: {{name: synthetic, documents: 300, folds: {folds}}}\n"
RATES = ", ".join(f"{rate}e-5" for rate in range(1, 28))
STAGES = "[{name: refine, architecture: mtl}, {name: tune, architecture: stl}]"
SUITES = {
    "27 members, 4 folds, 9 models each": HEAD.format(folds=4)
    + f"architecture: stl\nmatrix: {{training.learning_rate: [{RATES}]}}\n",
    "1 member, 4 folds, 28 seeds, 9 models each": HEAD.format(folds=4)
    + f"architecture: stl\nseed: [{', '.join(map(str, range(28)))}]\n",
    "2 stages, 4 folds, 26 seeds": HEAD.format(folds=4)
    + f"seed: [{', '.join(map(str, range(26)))}]\nstages: {STAGES}\n",
    "500 members, 2 folds, one model each": HEAD.format(folds=2)
    + "architecture: mtl\nruns:\n"
    + "".join(f"  - {{training.learning_rate: {n}.5e-5}}\n" for n in range(500)),
}


def once(text: str, folder: Path) -> tuple[dict[str, float], int]:
    """Seconds of each part, and how many units there are."""
    config = folder / "c.yml"
    config.write_text(text, encoding="utf-8")
    seconds, begun, spent = {}, time.perf_counter(), time.process_time()
    suite = load_suite(config, [f"store.uri={folder}/store"])
    seconds["read the config"] = time.perf_counter() - begun
    begun = time.perf_counter()
    check_suite(suite)
    seconds["check"] = time.perf_counter() - begun
    spent -= time.process_time()
    bench = Workbench(Store(folder / "store"))
    bench.folds(suite.members[0].settings.data)
    bench.material(suite.members[0].settings)
    begun = time.perf_counter()
    spent += time.process_time()
    resolved = resolve_all(bench, suite.members)
    units = each_once(job for member in resolved for job in member.jobs)
    seconds["lay out"] = time.perf_counter() - begun
    seconds["processor"] = time.process_time() - spent
    return seconds, len(units)


def main() -> int:
    """Plan each suite, print the table, write JSON."""
    found = {}
    heads = ("config", "check", "lay out", "in all", "/1,000", "processor")
    print(f"{'suite':44} {'units':>6}" + "".join(f" {head:>9}" for head in heads))
    for name, text in SUITES.items():
        with tempfile.TemporaryDirectory() as folder:
            runs = [once(text, Path(folder)) for _ in range(RUNS)]
        parts = {part: median(seconds[part] for seconds, _ in runs) for part in runs[0][0]}
        units, processor = runs[0][1], parts.pop("processor")
        whole = sum(parts.values())
        found[name] = {
            "units": units,
            "seconds": parts,
            "in_all": whole,
            "processor": processor,
            "per_1000": 1000 * whole / units,
        }
        figures = (*parts.values(), whole, 1000 * whole / units, processor)
        print(f"{name:44} {units:6}" + "".join(f" {figure:9.2f}" for figure in figures))
    content = {
        "claim": "a suite of 1,000 units plans in under 2 s",
        "limit": LIMIT,
        "machine": machine() | {"load": os.getloadavg()},
        "versions": versions(),
        "suites": found,
    }
    OUT.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return int(any(each["per_1000"] > LIMIT for each in found.values()))


if __name__ == "__main__":
    sys.exit(main())
