"""A suite of real units on Ray with one worker and with two: python benchmarks/ray_scaling.py; 10 minutes

Trains STL of six tasks with `minilm`, one thread per unit: on Ray with one and with two CPUs of this machine,
and with the local executor, one unit after the other. Measures documents per second from the end of planning
to the end of the suite, so the start of workers (PyTorch, the encoder from the object store) is included. The
claim needs two idle cores.
"""

from __future__ import annotations

import json
import sys
from statistics import median

from harness import Claim, Result, alone, interleaved, parser_of, publish, sized
from stl_suite import ran

LIMIT, ENCODER = 1.8, sized("minilm", "tiny")
LABELS = ("Enlarged heart", "Congestion", "Emphysema", "Lung scarring", "Catheter", "Pacemaker")
CONFIG = """\
experiment: scaling
data: {{name: synthetic, documents: {documents}, max_length: 64, labels: [{labels}]}}
encoder: {encoder}
architecture: stl
training: {{epochs: 1, batch_size: 16, device: cpu}}
tracking: {{models: none}}
"""
PEERS = {
    "here, one after another": ("local", 1),
    "Ray, 1 worker": ("ray", 1),
    "Ray, 2 workers": ("ray", 2),
}


def one(engine: str, workers: int, documents: int) -> None:
    """Run one suite in this process and print its measurements as JSON."""
    config = CONFIG.format(documents=documents, labels=", ".join(LABELS), encoder=ENCODER)
    execution = [f"engine={engine}", f"processes={workers}", "threads=1"]
    found = ran(config, [f"execution.{change}" for change in execution])
    units = sum(record.total_seconds for record in found.records)
    print(json.dumps({"speed": found.watch.documents / found.wall, "wall": found.wall, "units": units}))


def profile(runs: dict[str, list[dict[str, float]]]) -> str:
    """Return the time of each suite and its units; the rest is the start of Ray and PyTorch, and scores."""
    lines = []
    for name, found in runs.items():
        wall = median(run["wall"] for run in found)
        # With two workers, the units of a run overlap.
        units = median(run["units"] for run in found) / PEERS[name][1]
        lines.append(f"{name:24} {wall:6.1f} s, its units {units:6.1f} s of each worker")
    return "\n".join(lines)


def main() -> int:
    """Measure every run in a separate process, in turn, and publish the result."""
    parser = parser_of(__doc__)
    parser.add_argument("--documents", type=int, default=sized(600, 40))
    parser.add_argument("--repeats", type=int, default=sized(2, 1))
    parser.add_argument("--only", help="ENGINE,WORKERS: run one suite, print JSON")
    args = parser.parse_args()
    if args.only:
        engine, workers = args.only.split(",")
        one(engine, int(workers), args.documents)
        return 0
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in PEERS}

    def peer(name: str) -> float:
        engine, workers = PEERS[name]
        argv = [sys.argv[0], "--documents", str(args.documents), "--only", f"{engine},{workers}"]
        runs[name].append(alone(argv))
        return runs[name][-1]["speed"]

    found = interleaved({name: lambda name=name: peer(name) for name in PEERS}, args.repeats)
    row = f"STL of {len(LABELS)} tasks, {args.documents} documents"
    result = Result(
        "ray_scaling",
        "A suite on Ray, documents trained per second of the whole suite",
        "documents/s",
        {row: found},
        setting={"encoder": ENCODER, "documents": args.documents, "tasks": len(LABELS), "threads": 1},
        details={"runs": runs},
    )
    ratio = result.ratio(row, "Ray, 2 workers", "Ray, 1 worker")
    result.profile = profile(runs)
    result.claims.append(Claim("a suite on 2 workers of Ray against 1", LIMIT, ratio))
    return publish(result)


if __name__ == "__main__":
    raise SystemExit(main())
