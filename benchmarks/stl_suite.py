"""STL of T tasks compared with T times one MTL run, and the gain by several processes; about 6 minutes.

    python benchmarks/stl_suite.py --data FOLDER/indiana_reports.csv --encoder minilm

Each single-task model computes the whole encoder, so on a CPU STL of T tasks costs T times one MTL model of
them. The claim is that the rest of the suite (validation, scores, weights, tracking and comparison, but not
planning) adds at most 5%. Then compares the STL suite in one process that uses all cores with one process per
core, of one thread or of all cores each. Every run is in a separate process with its own store. The order
rotates with each repeat; medians are shown. Without --data, the generated corpus is used.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from harness import Claim, Result, alone, interleaved, parser_of, profiled, publish, sized
from throughput import open_i

from mtlv.events import Event, NoteGiven, SuiteStarted
from mtlv.hardware import cores
from mtlv.settings import load_suite
from mtlv.store.local import Store
from mtlv.store.records import UnitRecord
from mtlv.suite.run import run_suite
from mtlv.tracking import DEFAULT_URI
from mtlv.tracking.journal import Journal
from mtlv.tracking.journal_tracker import JournalTracker

LIMIT = 1.05
LABELS = ("Atelectasis", "Calcified granuloma", "Cardiomegaly", "Emphysema")
GENERATED = ("Enlarged heart", "Emphysema", "Lung scarring", "Pacemaker")
PROFILE = "profile"
Runs = dict[str, list[dict[str, float]]]


@dataclass
class Watch:
    """A callback that records the end of a suite's planning, its number of documents, and its notes."""

    at: float = 0.0
    documents: int = 0
    notes: list[str] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        if isinstance(event, SuiteStarted):
            self.at, self.documents = time.perf_counter(), event.documents
        elif isinstance(event, NoteGiven):
            self.notes.append(event.text)


@dataclass(frozen=True)
class Ran:
    """Measurements and records of a suite."""

    wall: float  # seconds from the end of planning
    watch: Watch
    records: list[UnitRecord]


def ran(config: str, changes: Sequence[str]) -> Ran:
    """Run a suite in this process with its own store, and track it in a journal."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c.yml"
        path.write_text(config, encoding="utf-8")
        suite, watch = load_suite(path, [*changes, f"store.uri={folder}/store"]), Watch()
        journal = Journal(Path(folder) / "journal", DEFAULT_URI, suite.experiment)
        run_suite(suite, watch, JournalTracker(journal))
        wall = time.perf_counter() - watch.at
        journal.close()
        store = Store(Path(folder) / "store")
        return Ran(wall, watch, [store.load(path.name) for path in store.units.iterdir()])


def config_of(data: Path | None) -> str:
    """Return a config that reads Open-I's CSV, or generated reports."""
    corpus = f"{{name: openi, path: {data.absolute()}}}" if data else "synthetic"
    return f"experiment: bench\ndata: {corpus}\n"


def one(args: argparse.Namespace, way: str) -> dict[str, float]:
    """Run one suite in this process; return its seconds from the end of planning, and those of its units."""
    architecture, processes, threads = way.split(",")
    changes = [
        f"data.labels={json.dumps(list(LABELS if args.data else GENERATED))}",
        f"data.limit={args.documents}",
        f"data.max_length={args.max_length}",
        f"encoder={args.encoder}",
        f"architecture={architecture}",
        f"training.epochs={args.epochs}",
        "training.device=cpu",
        "tracking.models=none",
        f"execution.processes={processes}",
        f"execution.threads={threads}",
    ]
    found = ran(config_of(args.data), changes)
    units = sum(record.total_seconds for record in found.records)
    return {"wall": found.wall, "units": units, "count": len(found.records)}


def shown(way: str) -> str:
    """Return the name of a way in the table: `STL, 2 x 1` for `stl,2,1`."""
    architecture, processes, threads = way.split(",")
    return f"{architecture.upper()}, {processes} x {threads}"


def result_of(setting: dict, runs: Runs, n: int, profile: str = "") -> Result:
    """Return the result of `runs` by way; `n` is the number of cores."""
    mtl, stl, tasks = f"mtl,1,{n}", f"stl,1,{n}", setting["tasks"]
    values = {
        row: {shown(way): [run[kind] for run in each] for way, each in runs.items()}
        for row, kind in (("the suite, from the end of planning", "wall"), ("its units alone", "units"))
    }
    title = (
        f"STL of {tasks} tasks and one MTL run, {setting['documents']} documents, {setting['encoder']}:"
        " seconds by processes x threads"
    )
    # Paired by repeat, so that other work on the machine affects both.
    pairs = [s["wall"] / (tasks * m["wall"]) for m, s in zip(runs[mtl], runs[stl], strict=True)]
    alike = median(run["units"] for run in runs[stl]) / (tasks * median(run["units"] for run in runs[mtl]))
    why = f"median of pairs, {min(pairs):.2f} to {max(pairs):.2f}; T = {tasks}"
    text = "STL of T tasks against T times one MTL run, CPU"
    result = Result("stl_suite", title, "s", values, setting=setting, profile=profile)
    result.details = {"runs": runs, "pairs": pairs}
    result.claims = [
        Claim(text, LIMIT, median(pairs), at_least=False, why=why),
        Claim("the same of the units alone", None, alike, at_least=False),
    ]
    for way in list(runs)[2:]:
        _, processes, threads = way.split(",")
        faster = result.ratio("the suite, from the end of planning", shown(stl), shown(way))
        text = f"STL by {processes} processes of {threads} threads against one of all cores"
        result.claims.append(Claim(text, None, faster))
    return result


def main() -> int:
    """Measure every way and publish the result."""
    parser = parser_of(__doc__)
    parser.add_argument(
        "--data", type=Path, default=open_i(), help="Open-I's CSV; default: $MTLV_OPENI or generated reports"
    )
    parser.add_argument("--encoder", default=sized("minilm", "tiny"))
    parser.add_argument(
        "--documents", type=int, default=sized(160, 60), help="in total; 60%% are for training"
    )
    parser.add_argument("--max-length", type=int, default=sized(128, 16))
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=sized(3, 1))
    parser.add_argument("--only", help="ARCHITECTURE,PROCESSES,THREADS or `profile`: run one, print JSON")
    args = parser.parse_args()
    n = cores()
    stl = f"stl,1,{n}"
    if args.only == PROFILE:
        print(json.dumps(profiled(lambda: one(args, stl))))
        return 0
    if args.only:
        print(json.dumps(one(args, args.only)))
        return 0
    os.environ["HF_HUB_OFFLINE"] = "1"
    ways = dict.fromkeys((f"mtl,1,{n}", stl, f"stl,{n},1", f"stl,{n},{n}"))
    runs: Runs = {way: [] for way in (list(ways)[:2] if sized(0, 1) else ways)}

    def peer(way: str) -> float:
        runs[way].append(alone([*sys.argv, "--only", way]))
        return runs[way][-1]["wall"]

    interleaved({way: lambda way=way: peer(way) for way in runs}, args.repeats)
    setting = {k: v for k, v in vars(args).items() if k not in ("data", "only")}
    setting |= {"corpus": "openi" if args.data else "synthetic", "tasks": len(LABELS), "cores_used": n}
    return publish(result_of(setting, runs, n, alone([*sys.argv, "--only", PROFILE])))


if __name__ == "__main__":
    sys.exit(main())
