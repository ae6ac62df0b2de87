"""What tracking costs training: python benchmarks/tracking.py

Trains MTL, GMHL and GMTL on a made-up table of 23 labels, in turn with nothing tracked and with all that
`mtlv run` tracks: a journal, and a process that delivers it to an SQLite store. With one core left to that
process, and with all cores training. Measures

- the share of the training thread's time that it spends in calls of the tracker: exact, whatever else runs;
- the seconds of training with and without, pair by pair: with the noise of the machine;
- the CPU seconds of the other process while the suite trains.

About 10 minutes. Nothing listens on a port here; a server over HTTP is measured in tracking_http.py. Not met
where calls take 1% of training, or pairs say that it certainly takes more than 1% longer.
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
    """Seconds that this process spends in calls of a journal, and the other one's CPU seconds meanwhile."""

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
    """Seconds of training."""
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
    """Figures of each pair; the first, which warms up, is left out."""
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
    """Where the time of training and tracking goes, in the process that trains."""
    import mtlv.units.train  # noqa: F401 - with PyTorch and Transformers, not counted

    with tempfile.TemporaryDirectory() as place:
        return profiled(lambda: trained(Path(place), tracked=True))


def result_of(found, cores):
    """Seconds of training with and without, by the number of threads that train."""
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
