"""Cost of tracking during training: python benchmarks/tracking.py; about 10 minutes

Trains MTL, GMHL and GMTL on a synthetic table of 23 labels, in turn without tracking and with everything that
`mtlv run` tracks: a journal, and a process that uploads it to an SQLite store. First with one core left to
that process, then with training on all cores. Measures

- the share of training time that the training thread spends in calls of the tracker, exact on any machine;
- the seconds of training with and without tracking, in pairs, which include the noise of the machine;
- the CPU seconds of the other process while the suite trains.

No server is used; tracking_http.py measures one. A claim is not met if calls take more than 1% of training
time, or if training takes more than 1% longer after two standard errors are subtracted.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import mean, median, stdev

from compare import LABELS, TABLE, make_table
from harness import ROOT, Claim, Result, profiled, publish, sized

PAIRS, EPOCHS = sized(5, 2), sized(8, 1)
CONFIG = """\
experiment: tracking
data: {{{data}, max_length: 64}}
encoder: tiny
grouping: {{k: 4, k_max: 8}}
training: {{epochs: {epochs}, batch_size: 16, learning_rate: 1e-3, device: cpu}}
tracking: {{models: none, uri: 'sqlite:///{folder}/mlflow.db'}}
matrix: {{architecture: [{architectures}]}}
"""
ARCHITECTURES = sized("mtl, gmhl, gmtl", "mtl")


class Clock:
    """A timer of this process's calls of a journal, and of the CPU seconds of the upload process."""

    def __init__(self):
        from mtlv.tracking.journal import Journal
        from mtlv.tracking.upload_process import UploadProcess

        self.calls = self.beside = 0.0
        append, begin, finish = Journal.append, UploadProcess.begin, UploadProcess.finish

        def timed_append(journal, *args, **options):
            begun = time.perf_counter()
            try:
                return append(journal, *args, **options)
            finally:
                self.calls += time.perf_counter() - begun

        def timed_begin(uploads, *args):
            found = begin(uploads, *args)
            self.beside = -_cpu_seconds(uploads._process.process.pid)
            return found

        def timed_finish(uploads, *args):
            self.beside += _cpu_seconds(uploads._process.process.pid)
            return finish(uploads, *args)

        Journal.append, UploadProcess.begin, UploadProcess.finish = timed_append, timed_begin, timed_finish


def _cpu_seconds(pid):
    if not Path("/proc").is_dir():
        return float("nan")
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def trained(folder, tracked):
    """Train the suite in `folder`; return its seconds of training."""
    from mtlv.events import ignore
    from mtlv.settings import load_suite
    from mtlv.suite.run import run_suite
    from mtlv.tracking import NullTracker

    make_table(folder / "table.csv")
    descriptions = ", ".join(f"{label}: A sentence on {label}" for label in LABELS)
    data = TABLE.format(labels=", ".join(LABELS), descriptions=descriptions)
    text = CONFIG.format(data=data, folder=folder, epochs=EPOCHS, architectures=ARCHITECTURES)
    (folder / "c.yml").write_text(text, encoding="utf-8")
    os.chdir(folder)
    result = run_suite(load_suite(folder / "c.yml"), ignore, None if tracked else NullTracker())
    os.chdir(ROOT)
    return sum(u.train_seconds for m in result.members for o in m.outcomes for u in o.records)


def pairs(clock):
    """Return the measurements of each pair, without the first, which is a warm-up."""
    found = []
    for pair in range(PAIRS + 1):
        seconds = {}
        clock.calls = 0.0
        for tracked in (False, True) if pair % 2 else (True, False):
            with tempfile.TemporaryDirectory() as place:
                seconds[tracked] = trained(Path(place), tracked)
        one = {
            "silent": seconds[False],
            "tracked": seconds[True],
            "calls": clock.calls,
            "beside": clock.beside,
        }
        print(", ".join(f"{name} {value:.2f} s" for name, value in one.items()), flush=True)
        found.append(one)
    return found[1:]


def summary(found):
    longer = [each["tracked"] / each["silent"] - 1 for each in found]
    return {
        "calls_of_training": median(each["calls"] / each["tracked"] for each in found),
        "training_longer_by": mean(longer),
        "standard_error": stdev(longer) / len(longer) ** 0.5,
        "pairs": found,
    }


def profile():
    """Return a profile of training and tracking in the process that trains."""
    import mtlv.units.train  # noqa: F401 - so that imports of PyTorch and Transformers are not profiled

    with tempfile.TemporaryDirectory() as place:
        return profiled(lambda: trained(Path(place), tracked=True))


def result_of(found, cores):
    """Return seconds of training with and without tracking, by number of threads, and the claims."""
    values = {
        f"{threads} of {cores} cores train": {
            name: [each[kind] for each in one["pairs"]]
            for kind, name in (("silent", "nothing is tracked"), ("tracked", "all is tracked (mtlv)"))
        }
        for threads, one in found.items()
    }
    calls = max(one["calls_of_training"] for one in found.values())
    longer = max(one["training_longer_by"] - 2 * one["standard_error"] for one in found.values())
    title = "Seconds of training with and without tracking, 23 labels, `tiny`"
    result = Result("tracking", title, "s", values, details={"threads": found})
    result.claims = [
        Claim("calls of the tracker, of `tiny`'s training", 1, 100 * calls, "%", at_least=False),
        Claim("training longer by at least (two standard errors)", 1, 100 * longer, "%", at_least=False),
    ]
    return result


def main():
    import torch

    clock, cores = Clock(), os.cpu_count() or 1
    found = {}
    for threads in sorted({max(1, cores - 1), cores}):
        torch.set_num_threads(threads)
        now = found[threads] = summary(pairs(clock))
        calls, longer, error = (
            100 * now[name] for name in ("calls_of_training", "training_longer_by", "standard_error")
        )
        print(
            f"{threads} of {cores} cores train: calls take {calls:.2f}% of training, "
            f"which takes {longer:+.1f}% (standard error {error:.1f}) longer"
        )
    result = result_of(found, cores)
    result.profile = profile()
    return publish(result)


if __name__ == "__main__":
    sys.exit(main())
