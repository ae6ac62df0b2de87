"""STL of several tasks against as many times one MTL run, and what several processes gain; about 6 minutes.

    python benchmarks/stl_suite.py --data FOLDER/indiana_reports.csv --encoder minilm

A model per task does the whole encoder's work each, so on a processor STL of T tasks costs T times one MTL
model of them: the claim is that the suite around it (planning left out; validation, scores, weights, tracking
and comparison counted) adds no more than 5%. Then the same STL suite by 1 process of all cores, by a process
per core of one thread, and by as many processes of all cores each. Every run is in a process of its own with
a store of its own; the order turns with each repeat, medians are shown. Without --data the generated corpus
is used. Results go to benchmarks/results/stl_suite.json.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mtlv.running import Observer, run_suite
from mtlv.running.cores import cores
from mtlv.running.environment import machine, versions
from mtlv.running.store import Store
from mtlv.settings import load_suite
from mtlv.tracking import MemoryTracker

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "benchmarks" / "results" / "stl_suite.json"
LABELS = ("Atelectasis", "Calcified granuloma", "Cardiomegaly", "Emphysema")
GENERATED = ("Enlarged heart", "Emphysema", "Lung scarring", "Pacemaker")


class Begun(Observer):
    """When planning was done."""

    def suite_started(self, *_: int) -> None:
        self.at = time.perf_counter()


def one(args: argparse.Namespace) -> None:
    """One suite in this process; prints seconds from the end of planning, and of the units alone, as JSON."""
    architecture, processes, threads = args.only.split(",")
    labels = LABELS if args.data else GENERATED
    data = f"{{name: openi, path: {args.data}}}" if args.data else "synthetic"
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "c.yml"
        config.write_text(f"experiment: bench\ndata: {data}\n", encoding="utf-8")
        changes = [
            f"data.labels={json.dumps(list(labels))}",
            f"data.limit={args.documents}",
            f"data.max_length={args.max_length}",
            f"encoder={args.encoder}",
            f"architecture={architecture}",
            f"training.epochs={args.epochs}",
            "training.device=cpu",
            "tracking.models=none",
            f"store.uri={folder}/store",
            f"execution.processes={processes}",
            f"execution.threads={threads}",
        ]
        begun = Begun()
        run_suite(load_suite(config, changes), begun, MemoryTracker())
        wall = time.perf_counter() - begun.at
        store = Store(Path(folder) / "store")
        records = [store.load(path.name) for path in store.units.iterdir()]
    units = sum(record.total_seconds for record in records)
    print(json.dumps({"wall": wall, "units": units, "count": len(records)}))


def main() -> None:
    """Measure every peer, print the table, write JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=None, help="Open-I's CSV; none: generated reports")
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--documents", type=int, default=160, help="read in all; 60%% of them train")
    parser.add_argument("--max-length", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--only", help="ARCHITECTURE,PROCESSES,THREADS: one run alone, as JSON")
    args = parser.parse_args()
    if args.only:
        one(args)
        return
    n = cores()
    names = dict.fromkeys((f"mtl,1,{n}", f"stl,1,{n}", f"stl,{n},1", f"stl,{n},{n}"))
    found: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for repeat in range(args.repeats):
        turn = repeat % len(found)
        for name in [*found][turn:] + [*found][:turn]:
            found[name].append(alone(name))
    report(args, found, n)


def alone(name: str) -> dict[str, float]:
    """One run in a process of its own."""
    command = [sys.executable, *sys.argv, "--only", name]
    env = os.environ | {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=env)
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def report(args: argparse.Namespace, found: dict[str, list[dict[str, float]]], n: int) -> None:
    """Print medians and ratios; write JSON."""
    wall = {name: statistics.median(run["wall"] for run in runs) for name, runs in found.items()}
    units = {name: statistics.median(run["units"] for run in runs) for name, runs in found.items()}
    mtl, stl = f"mtl,1,{n}", f"stl,1,{n}"
    tasks = len(LABELS)
    print(f"{args.documents} documents, {tasks} tasks, {args.encoder}, {args.epochs} epoch(s), {n} cores")
    print(
        f"{'architecture, processes, threads':34} {'wall s':>8} {'range':>15} {'units s':>8} {'against':>9}"
    )
    for name, value in wall.items():
        walls = [run["wall"] for run in found[name]]
        span = f"{min(walls):.1f} - {max(walls):.1f}"
        faster = f"{wall[stl] / value:.2f} x" if name != mtl else ""
        print(f"{name:34} {value:8.1f} {span:>15} {units[name]:8.1f} {faster:>9}")
    # Pairs of one repeat, so that what else the machine does weighs on both.
    pairs = [s["wall"] / (tasks * m["wall"]) for m, s in zip(found[mtl], found[stl], strict=True)]
    ratio = statistics.median(pairs)
    print(
        f"STL of {tasks} tasks / {tasks} x MTL: {ratio:.3f} "
        f"({min(pairs):.3f} - {max(pairs):.3f}; at most 1.05)"
    )
    own = units[stl] / (tasks * units[mtl])
    print(f"the same of the units alone, without start, scores and tracking of the suite: {own:.3f}")
    content = {
        "claim": "STL of T tasks takes at most 1.05 times T MTL runs; processes against one of all cores",
        "setting": {k: v for k, v in vars(args).items() if k not in ("out", "data", "only")}
        | {"corpus": "openi" if args.data else "synthetic", "tasks": tasks},
        "machine": machine() | {"cores_used": n, "load": os.getloadavg()},
        "versions": versions(),
        "runs": found,
        "stl_over_tasks_times_mtl": {"median": ratio, "pairs": pairs, "units_alone": own},
        "faster_than_one_process": {name: wall[stl] / value for name, value in wall.items() if name != mtl},
    }
    args.out.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
