"""Cost of STL, GMTL, GMHL and MTL as labels grow from 5 to 100: python benchmarks/labels.py; about 10 minutes

Synthetic tables of 300 documents of 20 words, `tiny`, one epoch, and 2 to 12 groups of labels by their names.
Measures CPU seconds of a suite without tracking, each member in a separate process (STL of 100 labels trains
100 models), and wall seconds of `mtlv run` with MTL and of `mtlv cluster`, on 600 documents with 1,000
labels, with tracking and figures. `tiny` is so small that the cost of a batch is mostly overhead.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from harness import ROOT, Claim, Result, alone, interleaved, profiled, publish, sized

SIZES, MANY, REPEATS = sized((5, 20, 50, 100), (5,)), sized(1000, 12), 1
ARCHITECTURES = ("stl", "gmtl", "gmhl", "mtl")
CONFIG = """\
experiment: labels
data: {{name: table, path: table.csv, columns: {{labels: [{labels}]}}, max_length: 64}}
encoder: tiny
architecture: {architecture}
grouping: {{k: {k}, k_max: 12, features: label_description}}
training: {{epochs: 1, batch_size: 16, learning_rate: 1e-3, device: cpu}}
store: {{uri: store, keep_weights: false}}
tracking: {{models: none, uri: 'sqlite:///{folder}/mlflow.db'}}
"""


def make(folder, labels, documents, architecture):
    """Write a table whose texts have a word for each true label, at most 20, and a config."""
    rng = np.random.default_rng(0)
    names = [f"{('heart', 'lung', 'bone', 'liver', 'skin')[n % 5]} finding {n}" for n in range(labels)]
    with (folder / "table.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", *names])
        for document in range(documents):
            flags = rng.random(labels) < 0.1
            words = [*(f"w{n}" for n in rng.integers(500, size=20)), f"number{document}"]
            words += [f"found{n}" for n in np.flatnonzero(flags)[:20]]
            writer.writerow([" ".join(words), *flags.astype(int)])
    text = CONFIG.format(
        labels=", ".join(names), architecture=architecture, k=max(2, min(labels // 5, 12)), folder=folder
    )
    (folder / "c.yml").write_text(text, encoding="utf-8")


def one(folder, profile):
    """Train a member's units without tracking; print CPU seconds or a profile as JSON.

    A small suite runs first, because imports on first use (matplotlib, BERT's classes) take seconds.
    """
    import mtlv.units.train  # noqa: F401 - PyTorch and Transformers are not counted
    from mtlv.events import ignore
    from mtlv.settings import load_suite
    from mtlv.suite.run import run_suite
    from mtlv.tracking import NullTracker

    os.chdir(folder / "warm")
    run_suite(load_suite(folder / "warm" / "c.yml"), ignore, NullTracker())
    os.chdir(folder)
    suite = load_suite(folder / "c.yml")
    if profile:
        print(json.dumps(profiled(lambda: run_suite(suite, ignore, NullTracker()))))
        return
    begun = time.process_time()
    result = run_suite(suite, ignore, NullTracker())
    records = [unit for member in result.members for o in member.outcomes for unit in o.records]
    trained = sum(unit.train_seconds for unit in records)
    print(json.dumps({"cpu": time.process_time() - begun, "train": trained, "units": len(records)}))


def pair(folder, labels, architecture):
    """Write a suite, and a small one to run first."""
    make(folder, labels, 300, architecture)
    (folder / "warm").mkdir()
    make(folder / "warm", 3, 40, architecture)


def cost(labels, architecture, units):
    """Return the CPU seconds of one member; add its measurements to `units`."""
    with tempfile.TemporaryDirectory() as place:
        pair(Path(place), labels, architecture)
        answer = alone([__file__, "--only", place], env={"OMP_NUM_THREADS": "1"})
    units[f"{labels} {architecture}"] = answer
    return answer["cpu"]


def profile():
    """Return a profile of MTL with the most labels."""
    with tempfile.TemporaryDirectory() as place:
        pair(Path(place), SIZES[-1], "mtl")
        return alone([__file__, "--only", place, "--profile"], env={"OMP_NUM_THREADS": "1"})


def command(*argv):
    """Return the wall seconds of `mtlv run` or `mtlv cluster` with 1,000 labels."""
    with tempfile.TemporaryDirectory() as place:
        make(Path(place), MANY, 600, "mtl" if argv[0] == "run" else "gmtl")
        env = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        begun = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "mtlv", argv[0], "c.yml", *argv[1:]],
            cwd=place, env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return time.perf_counter() - begun


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", type=Path)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    args = parser.parse_args()
    if args.only:
        one(args.only, args.profile)
        return 0
    units, values = {}, {}
    for labels in args.sizes:
        peers = {name: lambda n=labels, a=name: cost(n, a, units) for name in ARCHITECTURES}
        values[f"{labels} labels, CPU"] = interleaved(peers, REPEATS)
        print(f"{labels} labels:", values[f"{labels} labels, CPU"])
    values[f"{MANY} labels, wall"] = {
        "mtlv run (mtl)": [command("run")],
        "mtlv cluster": [command("cluster", "--out", "out")],
    }
    result = Result("labels", "Cost of members as labels grow: seconds", "s", values)
    largest = f"{args.sizes[-1]} labels, CPU"
    result.claims = [
        Claim(
            f"STL of {args.sizes[-1]} labels over one MTL run, `tiny`",
            None,
            result.ratio(largest, "stl", "mtl"),
        )
    ]
    result.details = {"of each member": units}
    result.profile = profile()
    return publish(result)


if __name__ == "__main__":
    sys.exit(main())
