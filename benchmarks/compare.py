"""Wall time and memory of `mtlv compare`: python benchmarks/compare.py [OHSUMED]

Runs suites with random scores instead of training: 4 architectures x 4 folds x 23 labels on a table of 600
documents, the same on OHSUMED's 13,929 if its file or folder is given (it is read again for the texts), and
500 runs (125 members x 3 folds, and the members themselves). Then measures `mtlv compare` on each in a
separate process, including its record in the store. Limits: 10 s; for 500 runs 60 s and 1 GB. No other
tool makes this page, so there is no peer.
"""

from __future__ import annotations

import contextlib
import io
import os
import pstats
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
from harness import ROOT, Claim, Result, publish, sized

LABELS = [f"Label number {i}" for i in range(23)]
FOUR = "4 architectures x 4 folds x 23 labels"
LARGEST = f"{sized(500, 24)} runs x 23 labels"
LIMITS = {FOUR: 10, f"{FOUR}, OHSUMED": 10, LARGEST: 60}  # s
MEMORY, REPEATS, MEMBERS = 1024, sized(3, 1), sized(125, 6)  # MB; a member has three folds and its own run
TABLE = """\
name: table, path: table.csv, columns: {{labels: [{labels}]}}, descriptions: {{{descriptions}}}"""
CONFIG = """\
experiment: compare
seed: 0
data: {{{data}, folds: {folds}, max_length: 16}}
encoder: tiny
grouping: {{k: 4, k_max: 8}}
training: {{epochs: 3}}
tracking: {{models: none, uri: 'sqlite:///{folder}/mlflow.db'}}
matrix: {{architecture: [stl, mtl, gmhl, gmtl]}}
"""


class RandomScores:
    """Executor that draws the scores of each unit at random, with its key as the seed."""

    def __init__(self, cache, *_):
        self.cache = cache

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def expect(self, jobs):
        pass

    def run(self, job, *_):
        from mtlv.plan import Scores, TaskScores
        from mtlv.store.records import EpochRecord, UnitRecord

        rng = np.random.default_rng(int(job.unit.key[:8], 16))
        corpus = self.cache.corpus(job.settings.data)
        parts = {}
        for split in ("validation", "test"):
            index = getattr(job.fold, split)
            truth = {task: np.asarray(corpus.targets[task])[index] for task in job.unit.model.tasks}
            tasks = {
                task: TaskScores(
                    np.clip(0.4 * values + 0.6 * rng.random(len(index)), 0, 1).astype(np.float32),
                    values,
                    np.ones(len(index), bool),
                )
                for task, values in truth.items()
            }
            parts[split] = Scores((job.unit.key,), split, tuple(corpus.ids[i] for i in index), tasks)
        heads = {head.name: 0.3 for head in job.unit.model.heads}
        epochs = tuple(
            EpochRecord(e, 1 / (e + 1), heads, 1e-5, 1.0, 100, 1_700_000_000_000 + e) for e in range(3)
        )
        last = {task: scores.outputs for task, scores in parts["validation"].tasks.items()}
        curve = tuple(
            {task: (values * (e + 1) / 3).astype(np.float32) for task, values in last.items()}
            for e in range(3)
        )
        return UnitRecord(
            job.unit.key,
            epochs,
            chosen_epoch=2,
            chosen_epochs=dict.fromkeys(last, 2),
            train_seconds=3.0,
            total_seconds=4.0,
            parameters=1000,
            peak_memory_mb=100.0,
            device="none",
            curve=curve,
            **parts,
        )


def make_table(path):
    """Write 600 documents with 23 labels; one document in thirty has the rarest."""
    rng = np.random.default_rng(0)
    rows = [",".join(["text", *LABELS])]
    for n in range(600):
        flags = rng.random(len(LABELS)) < np.geomspace(0.3, 0.033, len(LABELS))
        rows.append(
            ",".join(
                [f"report {n} with {' '.join(map(str, flags.nonzero()[0]))}", *map(str, flags.astype(int))]
            )
        )
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def make_store(folder, *, folds, corpus=None):
    """Run a whole suite with random scores in `folder`."""
    from mtlv.events import ignore
    from mtlv.settings import load_suite
    from mtlv.suite import run as running

    make_table(folder / "table.csv")
    descriptions = ", ".join(f"{label}: A sentence on {label}" for label in LABELS)
    data = TABLE.format(labels=", ".join(LABELS), descriptions=descriptions)
    if corpus is not None:
        data = f"name: ohsumed, path: {corpus}"
    text = CONFIG.format(folder=folder, folds=folds, data=data)
    (folder / "c.yml").write_text(text, encoding="utf-8")
    before = running.executor_of
    running.executor_of = RandomScores
    os.chdir(folder)
    try:
        running.run_suite(load_suite(folder / "c.yml"), ignore)
    finally:
        running.executor_of = before
        os.chdir(ROOT)


def clone(folder, *, members, folds):
    """Add copies of members with their first `folds` folds, with slightly changed metrics."""
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Param, RunTag

    uri = f"sqlite:///{folder / 'mlflow.db'}"
    client = MlflowClient(tracking_uri=uri, registry_uri=uri)
    experiment = client.get_experiment_by_name("compare").experiment_id
    runs = client.search_runs([experiment], max_results=1000)
    parents = [run for run in runs if run.data.tags["mtlv.kind"] == "suite member"]
    children = {
        p.info.run_id: [r for r in runs if r.data.tags.get("mlflow.parentRunId") == p.info.run_id]
        for p in parents
    }
    rng = np.random.default_rng(1)

    def copy(run, number, parent=None):
        tags = {
            k: v for k, v in run.data.tags.items() if not k.startswith("mlflow.") or k == "mlflow.source.name"
        }
        tags["mtlv.uid"] = f"{tags['mtlv.uid']}-{number}"
        if parent is not None:
            tags["mlflow.parentRunId"] = parent
        made = client.create_run(experiment, tags=tags, run_name=f"{run.info.run_name} · {number}")
        # Only scores: counts must match the artifacts.
        shifted = {k: float(v + 0.01 * rng.normal()) if 0 < v < 1 else v for k, v in run.data.metrics.items()}
        metrics = [Metric(k, v, 1, 0) for k, v in shifted.items()]
        params = [Param(k, v) for k, v in run.data.params.items()]
        for start in range(0, max(len(metrics), len(params)), 100):
            client.log_batch(
                made.info.run_id,
                metrics[start : start + 100],
                params[start : start + 100],
                [RunTag("x", "y")],
            )
        client.set_terminated(made.info.run_id)
        source, target = (Path(r.info.artifact_uri.removeprefix("file://")) for r in (run, made))
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.png"), dirs_exist_ok=True)
        return made.info.run_id

    for number in range(members - len(parents)):
        parent = parents[number % len(parents)]
        made = copy(parent, number)
        for child in children[parent.info.run_id][:folds]:
            copy(child, number, made)


def asked():
    """Return the arguments and environment of `mtlv compare`."""
    env = os.environ | {"PYTHONPATH": str(ROOT), "MLFLOW_DISABLE_TELEMETRY": "true"}
    return ["-m", "mtlv", "compare", "--experiment", "compare", "--out", "page"], env


def measure(folder):
    """Return wall seconds of each repeat, peak memory of all processes together and page size, in MB."""
    argv, env = asked()
    times, memory = [], 0
    for _ in range(REPEATS):
        begun = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, *argv], cwd=folder, env=env, stdout=subprocess.DEVNULL, start_new_session=True
        )
        while process.poll() is None:
            memory = max(memory, resident(process.pid))
            time.sleep(0.05)
        times.append(time.perf_counter() - begun)
        if process.returncode:
            raise SystemExit(f"mtlv compare: exit code {process.returncode}")
    page = (folder / "page" / "compare.html").stat().st_size / 1e6
    return {"seconds": times, "peak_mb": memory / 1e6, "page_mb": page}


def profile():
    """Return a profile of the main process of `mtlv compare`."""
    argv, env = asked()
    with tempfile.TemporaryDirectory() as place:
        make_store(Path(place), folds=sized(4, 2))
        spent = Path(place) / "spent"
        whole = [sys.executable, "-m", "cProfile", "-o", str(spent), *argv]
        subprocess.run(whole, cwd=place, env=env, check=True, stdout=subprocess.DEVNULL)
        text = io.StringIO()
        pstats.Stats(str(spent), stream=text).strip_dirs().sort_stats("tottime").print_stats(15)
    return text.getvalue().split("\n", 1)[1].strip()  # the first line contains a path


def resident(session):
    """Return the resident bytes of all processes of a session; shared memory counts more than once."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # the process has ended
            if int((folder / "stat").read_text().rpartition(")")[2].split()[3]) == session:
                total += int((folder / "statm").read_text().split()[1]) * resource.getpagesize()
    return total


def result_of(found):
    """Return the result with the seconds of each case and its claims."""
    seconds = {name: case["seconds"] for name, case in found.items()}
    result = Result("compare", "Seconds of `mtlv compare`", "s", {"the command, from start to end": seconds})
    result.claims = [
        Claim(f"`mtlv compare`, {name}", LIMITS[name], median(times), "s", at_least=False)
        for name, times in seconds.items()
    ]
    if LARGEST in found:
        text = f"`mtlv compare`, {LARGEST}: most memory of all its processes"
        result.claims.append(Claim(text, MEMORY, found[LARGEST]["peak_mb"], "MB", at_least=False))
    result.details = {
        name: {key: case[key] for key in ("peak_mb", "page_mb")} for name, case in found.items()
    }
    return result


def main():
    corpus = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None
    cases = {FOUR: (None, None), LARGEST: (MEMBERS, None)}
    if corpus is not None:
        cases = {FOUR: (None, None), f"{FOUR}, OHSUMED": (None, corpus), LARGEST: (MEMBERS, None)}
    found = {}
    for name, (members, corpus) in cases.items():
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            make_store(folder, folds=4 if members is None else 3, corpus=corpus)
            if members is not None:
                clone(folder, members=members, folds=3)
            found[name] = measure(folder)
        print(f"{name}: {found[name]}", flush=True)
    result = result_of(found)
    result.profile = profile()
    return publish(result)


if __name__ == "__main__":
    sys.exit(main())
